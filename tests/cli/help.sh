#!/bin/bash
# Help is there, in the right place, for every command; what is nearly right gets the right name.
. "$(dirname "$0")/common.sh"

run --help
expect_code 0
for command_name in train eval envs env node run status objects compare bench benchmark certs view record plot version; do
    grep -q "^  $command_name " "$out/stdout" || fail "corral --help does not list $command_name"
done
[ ! -s "$out/stderr" ] || fail "corral --help writes to standard error"
for command_name in train eval envs run status objects compare bench benchmark certs version; do
    run $command_name --help
    expect_code 0
    expect_out "Usage: corral $command_name"
    [ ! -s "$out/stderr" ] || fail "$command writes to standard error"
done
run train --help
for word in --resume --init-from --cluster --quiet ppo.learning_rate stop.return env_params; do expect_out "$word"; done

"$corral" >"$out/stdout" 2>"$out/stderr"
code=$?
command=corral
expect_code 2
expect_silence
grep -q "^Usage: corral COMMAND" "$out/stderr" || fail "corral alone does not say how it is used"

run tarin
expect_refusal 'unknown command "tarin"; did you mean train?'
run xylophone
expect_refusal 'corral --help'
run train --sed 3
expect_refusal "unknown flag --sed; did you mean --seed?"
run train --seed
expect_refusal "--seed needs a value"
run train --quiet=yes
expect_refusal "--quiet takes no value"

run envs
expect_code 0
expect_out CartPole-v1
run envs CartPole-v1
expect_code 0
for word in "Discrete(2)" "500 steps" 475; do expect_out "$word"; done
run envs CartPol-v1
expect_code 2
grep -q 'CartPole-v1' "$out/stderr" || fail "$command does not name the nearest environment"

run version
expect_code 0
[ "$(cat "$out/stdout")" = "corral 0.1.0" ] || fail "corral version says $(cat "$out/stdout")"
run --version
expect_out "corral 0.1.0"
run version --json
for word in version cpu cores; do expect_out "\"$word\": "; done

# It loads a large library for talking to other hosts; starting must stay quick all the same. Of many tries the best
# counts, less what this machine takes to start nothing at all.
best_of() {
    local best=1000000 start took
    for _ in $(seq 25); do
        start=$(date +%s%N)
        "$@" >/dev/null
        took=$((($(date +%s%N) - start) / 1000))
        [ $took -lt $best ] && best=$took
    done
    echo $best
}
if [ -z "${CORRAL_SANITIZER:-}" ]; then
    took=$(($(best_of "$corral" version) - $(best_of "$(type -P true)")))
    [ $took -lt 15000 ] || fail "corral version takes $took us to start and end"
fi
echo "help is there"
