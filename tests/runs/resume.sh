#!/bin/bash
# N iterations, stop, resume, N iterations equal 2N iterations of one schedule, bit for bit.
. "$(dirname "$0")/common.sh"
config=$CORRAL_SOURCE/examples/cartpole-ppo-zoo.yaml
same="--seed 5 schedule_steps=6144 evaluation.every=1024 evaluation.episodes=5 network.normalize_observation=true"
# shellcheck disable=SC2086
for workers in 0 2; do
    train "$config" $same stop.steps=6144 --workers $workers --out "$out/whole$workers" >"$out/log" 2>&1 || fail "the whole run ended with $?"
    train "$config" $same stop.steps=3072 --workers 2 --out "$out/part$workers" >"$out/log" 2>&1 || fail "the first half ended with $?"
    train --resume "$out/part$workers" stop.steps=6144 --workers $workers >"$out/log" 2>&1 || fail "the second half ended with $?"
    "$corral" compare "$out/whole$workers" "$out/part$workers" >"$out/log" 2>&1 || fail "resumed and whole run differ with $workers workers"
done
lines=$(wc -l <"$out/part0/progress.csv")
[ "$lines" = "$(wc -l <"$out/whole0/progress.csv")" ] || fail "the resumed run's progress.csv has $lines lines"

# What is different from before is said by name, and nothing else is.
"$corral" train --resume "$out/part0" stop.steps=6400 ppo.epochs=3 </dev/null >"$out/log" 2>&1
[ $? -le 1 ] || fail "going on with other keys failed"
[ "$(sed -n 's/^resumed with another //p' "$out/log" | sort | xargs)" = "ppo.epochs stop.steps" ] || fail "the changed keys are not listed"
echo "resumed runs equal whole ones"
