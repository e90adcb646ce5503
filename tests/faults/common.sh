# Sourced by the tests of faults, on top of what the tests of whole runs share.
. "$(dirname "$0")/../runs/common.sh"
plugin=$CORRAL_BUILD/tests/plugins/troublesome.so
export XDG_RUNTIME_DIR=$out/runtime # so that what is left in it is ours
mkdir -m 700 "$XDG_RUNTIME_DIR"
unset CORRAL_TOKEN
small="envs=4 ppo.steps=64 ppo.minibatch=64 ppo.epochs=2 network.hidden=[16] evaluation.every=0 evaluation.episodes=2 stop.steps=8192"

runtime_is_empty() { [ -z "$(find "$XDG_RUNTIME_DIR" -mindepth 1 2>/dev/null)" ]; }

# nothing_left WHAT: neither a process nor an entry in the runtime folder, five seconds later at the latest
nothing_left() {
    wait_for 5 none_left || fail "$1: left: $(ours | xargs -r ps -o pid,stat,args -p)"
    wait_for 5 runtime_is_empty || fail "$1: left in the runtime folder: $(find "$XDG_RUNTIME_DIR" -mindepth 1)"
}

# corral ARGUMENTS...: output in $out/stdout and $out/log, the code in $code
corral() {
    command="corral $*"
    timeout $((60 * slow)) "$corral" "$@" >"$out/stdout" 2>"$out/log" </dev/null
    code=$?
}
expect_code() { [ "$code" = "$1" ] || fail "$command: code $code instead of $1"; }
expect_words() { # in what it said
    local word
    for word in "$@"; do grep -qF -- "$word" "$out/log" || fail "$command: it does not say \"$word\": $(cat "$out/log")"; done
}

# refused WORDS ARGUMENTS...: code 2, one sentence that holds each of WORDS (separated by |), nothing left
refused() {
    local words=$1 word
    shift
    corral "$@"
    expect_code 2
    [ "$(wc -l <"$out/log")" = 1 ] || fail "$command: $(wc -l <"$out/log") lines instead of one sentence"
    while IFS= read -r word; do expect_words "$word"; done < <(tr '|' '\n' <<<"$words")
    nothing_left "$command"
}

has() { [ "$(key "$out/$1/run.json" "$2")" = "$3" ]; }
count() { key "$out/$1/run.json" "$2"; }
status_of() { "$corral" status --cluster "$1" --json </dev/null >"$out/status" 2>/dev/null; }
alive_nodes() { status_of "$1" && [ "$(grep -o '"alive": *true' "$out/status" | wc -l)" = "$2" ]; }
free_port() { # one that nobody listens at
    local port
    while port=$((20000 + RANDOM % 12000)); do (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo $port && return; }; done
}
