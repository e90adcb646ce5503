#!/bin/bash
# An environment goes wrong once, in one worker of two: the run goes on, says what happened, and where the environment
# can be saved and loaded, the lost rows are played again as they were.
. "$(dirname "$0")/common.sh"
export TROUBLE_FILE=$out/trouble

walk() { # TROUBLE FOLDER ARGUMENTS...
    local name=$1 folder=$2
    shift 2
    # shellcheck disable=SC2086
    corral train --env "$plugin:$name-v0" --seed 3 $small --out "$out/$folder" "$@"
    expect_code 0
    has "$folder" env_steps 8192 || fail "$folder: $(count "$folder" env_steps) steps"
}
trouble() { # TROUBLE ARGUMENTS...
    : >"$TROUBLE_FILE"
    walk "$1" "$1" --workers 2 "${@:2}"
    mv "$out/stdout" "$out/$1/stdout"
    [ ! -e "$TROUBLE_FILE" ] || fail "$1: nobody had the trouble"
    nothing_left "$1"
}
logged() { # TROUBLE WORDS...: in the run's log, and in what was printed
    local name=$1 file word
    shift
    for file in log.txt stdout; do
        for word in "$@"; do grep -qF -- "$word" "$out/$name/$file" || fail "$name: $file does not say \"$word\": $(cat "$out/$name/$file")"; done
    done
}

for name in Abort Exit Hang Fork Scribble Vandal Overrun; do
    walk $name calm-$name --workers 0
    trouble $name step_timeout=2
    "$corral" compare "$out/calm-$name" "$out/$name" >"$out/log" 2>&1 || fail "$name: another result than without trouble"
    echo "$name: $(grep worker "$out/$name/log.txt")"
done
for name in Abort Exit Hang Vandal Overrun; do
    [ "$(count $name workers_lost)" = 1 ] || fail "$name: $(count $name workers_lost) workers lost"
    logged $name "worker" "stepping environments" "of $name-v0, run seed 3, step"
done
logged Abort "signal 6" "Assertion \`wheels == 4' failed"
logged Exit "exited with 0"
logged Hang "gave nothing for 2 s" "raise step_timeout"
[ -n "${CORRAL_SANITIZER:-}" ] || logged Vandal "signal 11" # which a sanitizer makes its own of

# what it returned was no number, or an error: that environment alone starts anew, and its open episode is not learned from
for name in Error Nan Inf; do
    trouble $name
    [ "$(count $name environment_failures)" = 1 ] || fail "$name: $(count $name environment_failures) failures counted"
    [ "$(count $name workers_lost)" = 0 ] || fail "$name: a worker was lost"
    logged $name "$name-v0: environment" "seed" "step"
    echo "$name: $(cat "$out/$name/log.txt")"
done
logged Error "gearbox is stuck"
logged Nan "not finite"
echo "troubles are survived"
