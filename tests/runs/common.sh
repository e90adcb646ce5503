# Sourced by the tests of whole runs. CTest gives CORRAL_BIN (the programs) and CORRAL_SOURCE (the tree).
set -u
corral=$CORRAL_BIN/corral
out=$(mktemp -d)
export CORRAL_TEST_MARK=corral-test-$$
slow=1 # sanitizers are slower: bounds on time grow by this factor
[ -n "${CORRAL_SANITIZER:-}" ] && slow=4

fail() {
    echo "FAILED: $*"
    exit 1
}

# Programs of ours that this test started, directly or not, one process id a line: they carry its mark.
ours() {
    grep -lsz "^CORRAL_TEST_MARK=$CORRAL_TEST_MARK\$" /proc/[0-9]*/environ 2>/dev/null | cut -d/ -f3 | while read -r p; do
        case $(readlink "/proc/$p/exe" 2>/dev/null) in */corral | */corral-*) echo "$p" ;; esac
    done
}
workers() {
    ours | while read -r p; do
        case $(readlink "/proc/$p/exe" 2>/dev/null) in */corral-worker) echo "$p" ;; esac
    done
}
none_left() { [ "$(ours | wc -l)" = 0 ]; }

# wait_for SECONDS COMMAND...: until COMMAND succeeds
wait_for() {
    local end=$((SECONDS + $1 * slow))
    shift
    until "$@"; do
        [ "$SECONDS" -ge "$end" ] && return 1
        sleep 0.05
    done
}

# key FILE NAME: a number or word from a JSON file with one key per line or all on one
key() { grep -o "\"$2\": *[^,}]*" "$1" | head -n 1 | sed 's/^[^:]*:[[:space:]]*//; s/"//g'; }

# at_least A B: A >= B, for decimal numbers
at_least() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a >= b) }'; }

train() { timeout $((120 * slow)) "$corral" train "$@" --quiet </dev/null; }
mean() { "$corral" eval "$@" --json </dev/null >"$out/eval.json" && key "$out/eval.json" mean_return; }

finish() {
    local code=$?
    [ $code = 0 ] || { [ -f "$out/log" ] && tail -n 20 "$out/log"; }
    ours | xargs -r kill -9 2>/dev/null
    rm -rf "$out"
}
trap finish EXIT
