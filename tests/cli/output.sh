#!/bin/bash
# What is printed where: lines in a pipe, nothing when quiet, and a run that outlives its reader.
. "$(dirname "$0")/common.sh"

train_short plain evaluation.every=1024
expect_code 0
grep -q "$(printf '\033')" "$out/stdout" && fail "a pipe got escape sequences"
grep -qE '^ *[0-9]+ steps .* return ' "$out/stdout" || fail "no line of progress"
[ "$(grep -cE 'evaluation +[0-9.]+\*' "$out/stdout")" = 2 ] || fail "not one line for each of two evaluations"
expect_out "corral eval plain"
[ ! -s "$out/stderr" ] || fail "a good run writes to standard error"

train_short quiet --quiet
expect_code 0
expect_silence
[ ! -s "$out/stderr" ] || fail "a quiet run writes to standard error"
train_short quiet --quiet
expect_refusal "holds a run already" # errors are told all the same

# lines come at most once a second, but for evaluations
start=$SECONDS
train_short long stop.steps=200000 evaluation.every=0
lines=$(grep -cE '^ *[0-9]+ steps' "$out/stdout")
[ "$lines" -le $((SECONDS - start + 3)) ] || fail "$lines lines in $((SECONDS - start)) s"

# a reader that leaves early
"$corral" train --env CartPole-v1 --workers 0 --out piped stop.steps=20480 evaluation.every=1024 evaluation.episodes=5 2>"$out/stderr" | head -n 1 >"$out/stdout"
code=${PIPESTATUS[0]}
command="corral train ... | head -n 1"
expect_code 0
[ "$(key piped/run.json env_steps)" = 20480 ] || fail "the run did not outlive its reader"

# outputs that were closed from the start
"$corral" train --env CartPole-v1 --workers 0 --out closed stop.steps=2048 evaluation.episodes=5 >&- 2>&- <&-
code=$?
command="corral train ... >&- 2>&- <&-"
expect_code 0
grep -q "steps/s" closed/*.csv closed/*.jsonl closed/log.txt && fail "what was meant for a closed output went into a file of the run"
[ "$(head -n 1 closed/progress.csv | cut -d, -f1)" = time/total_timesteps ] || fail "progress.csv has no head"

# a full device at the other end
"$corral" train --env CartPole-v1 --workers 0 --out full stop.steps=2048 evaluation.episodes=5 >/dev/full 2>"$out/stderr"
code=$?
command="corral train ... >/dev/full"
expect_code 0

# a plain terminal and no terminal are the same
TERM=dumb train_short dumb
grep -q "$(printf '\033')" "$out/stdout" && fail "TERM=dumb got escape sequences"
echo "outputs are right"
