#!/bin/bash
# The table of what is learned: one of its lines, the page about it, and that nothing is done twice.
. "$(dirname "$0")/common.sh"
[ -z "${CORRAL_SANITIZER:-}" ] || { echo "skipped: a whole budget of steps takes too long under a sanitizer"; exit 77; }

run benchmark
expect_refusal "corral benchmark learning"
run benchmark learning
expect_refusal "none of the table's examples is there"
run benchmark learning --examples "$CORRAL_SOURCE/examples" --only chess
expect_refusal "chess"
run benchmark learning --seeds 3..1
expect_refusal "--seeds"

learn() { run benchmark learning --examples "$CORRAL_SOURCE/examples" --only cartpole-ppo --seeds 4 --out runs --page page.md; }
learn
[ $code -le 1 ] || fail "$command: code $code"
expect_out "cartpole-ppo"
grep -q '^| \[CartPole-v1\](../examples/cartpole-ppo.yaml) | PPO | 475 by 100000 | [0-9.]* ([0-9.]* to [0-9.]*) | [01] of 1 |' page.md ||
    fail "the page has no line of it: $(cat page.md)"
[ "$(key runs/cartpole-ppo/seed-4/run.json env_steps)" -ge 100000 ] || fail "the budget was not used"

cp page.md before.md
learn
expect_silence
cmp -s page.md before.md || fail "what is there already was done again"
rm runs/cartpole-ppo/seed-4/benchmark.json # as if it had been cut off before the last evaluation
learn
expect_out "cartpole-ppo"
grep -c . runs/cartpole-ppo/seed-4/benchmark.json >/dev/null || fail "the evaluation was not made up for"
