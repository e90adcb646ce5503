#!/bin/bash
# The tuned example reaches its goal within its budget, and plays as well with other seeds.
. "$(dirname "$0")/common.sh"
for seed in 1 2; do
    train "$CORRAL_SOURCE/examples/cartpole-ppo.yaml" --seed $seed --out "$out/$seed" >"$out/log" 2>&1 || fail "seed $seed ended with $?"
    at_least 100000 "$(key "$out/$seed/run.json" env_steps)" || fail "seed $seed needed more than 100,000 steps"
    score=$(mean "$out/$seed" --seed 77) || fail "eval failed"
    at_least "$score" 475 || fail "seed $seed evaluates at $score"
    echo "seed $seed: $score"
done
