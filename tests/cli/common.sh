# Sourced by the tests of the command line. CTest gives CORRAL_BIN (the programs) and CORRAL_SOURCE (the tree).
set -u
corral=$CORRAL_BIN/corral
out=$(mktemp -d)
trap 'umount "$out/small" 2>/dev/null; rm -rf "$out"' EXIT
cd "$out" || exit 1
unset NO_COLOR LC_ALL LC_CTYPE LANG

fail() {
    echo "FAILED: $*"
    for file in "$out/stdout" "$out/stderr"; do
        [ -s "$file" ] && echo "--- ${file##*/}" && tail -n 20 "$file"
    done
    exit 1
}

# run ARGUMENTS...: `corral ARGUMENTS...`, with what came of it in $code, stdout and stderr
run() {
    command="corral $*"
    timeout 60 "$corral" "$@" >"$out/stdout" 2>"$out/stderr" </dev/null
    code=$?
}

expect_code() { [ $code = "$1" ] || fail "$command: code $code instead of $1"; }
expect_out() { grep -qF -- "$1" "$out/stdout" || fail "$command: standard output lacks \"$1\""; }
expect_silence() { [ ! -s "$out/stdout" ] || fail "$command: standard output is not empty"; }

# expect_refusal TEXT: code 2, one sentence on standard error that holds TEXT, nothing on standard output
expect_refusal() {
    expect_code 2
    expect_silence
    [ "$(wc -l <"$out/stderr")" = 1 ] || fail "$command: $(wc -l <"$out/stderr") lines instead of one sentence"
    grep -q '^corral: ' "$out/stderr" || fail "$command: the sentence does not begin with \"corral: \""
    grep -qF -- "$1" "$out/stderr" || fail "$command: the sentence lacks \"$1\""
}

# A short run without worker processes: train_short FOLDER ARGUMENTS...
train_short() {
    local folder=$1
    shift
    run train --env CartPole-v1 --workers 0 --out "$folder" stop.steps=2048 evaluation.episodes=5 "$@"
}

# key FILE NAME: a number or word from a JSON file
key() { grep -o "\"$2\": *[^,}]*" "$1" | head -n 1 | sed 's/^[^:]*:[[:space:]]*//; s/"//g'; }
