#!/bin/bash
# A stack of wrappers travels with the run: to workers, into checkpoints, to evaluation, and through a resume.
. "$(dirname "$0")/common.sh"
config=$CORRAL_SOURCE/examples/cartpole-ppo-zoo.yaml
same=(--seed 5 schedule_steps=4096 evaluation.every=1024 evaluation.episodes=5)
stack="wrappers=[frame_skip: 2, frame_stack: [3, zero], scale_reward: 0.5, flatten, time_fraction]"
one() {
    local name=$1
    shift
    train "$@" >"$out/log" 2>&1 || fail "$name ended with $?"
}
one whole "$config" "${same[@]}" "$stack" stop.steps=4096 --workers 0 --out "$out/whole"
one workers "$config" "${same[@]}" "$stack" stop.steps=4096 --workers 2 --out "$out/workers"
one "first half" "$config" "${same[@]}" "$stack" stop.steps=2048 --workers 2 --out "$out/part"
one "second half" --resume "$out/part" stop.steps=4096 --workers 1
for run in workers part; do
    "$corral" compare "$out/whole" "$out/$run" >"$out/log" 2>&1 || fail "whole and $run differ"
done

"$corral" eval "$out/whole" --episodes 5 >"$out/log" 2>&1 || fail "eval ended with $?"
grep -qF 'CartPole-v1+frame_skip=2+frame_stack=3:zero+scale_reward=0.5+flatten+time_fraction' "$out/log" ||
    fail "eval plays something else"
grep -q 'wrappers: .*"time_limit=9"' <("$corral" train --help) && fail "--help lists values"
code=0
"$corral" train "$config" --out "$out/wrong" "wrappers=[frame_stak: 4]" >"$out/log" 2>&1 </dev/null || code=$?
[ $code = 2 ] && grep -q "no wrapper frame_stak; did you mean frame_stack?" "$out/log" || fail "exit code $code"
[ ! -e "$out/wrong" ] || fail "a run that never began left a folder"
echo "one stack everywhere"
