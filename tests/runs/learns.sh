#!/bin/bash
# The tuned examples reach their goal within their budget, and play as well with other seeds.
. "$(dirname "$0")/common.sh"
for run in ppo-1 ppo-2 dqn-1; do
    seed=${run#*-}
    train "$CORRAL_SOURCE/examples/cartpole-${run%-*}.yaml" --seed "$seed" --out "$out/$run" >"$out/log" 2>&1 || fail "$run ended with $?"
    at_least 100000 "$(key "$out/$run/run.json" env_steps)" || fail "$run needed more than 100,000 steps"
    score=$(mean "$out/$run" --seed 77) || fail "eval failed"
    at_least "$score" 475 || fail "$run evaluates at $score"
    echo "$run: $score"
done
