#!/bin/bash
# A worker is killed in the middle: the run goes on at once, the worker comes back, and nothing of the result changes.
. "$(dirname "$0")/common.sh"
config=$CORRAL_SOURCE/examples/cartpole-ppo-zoo.yaml
two() { [ "$(workers | wc -l)" = 2 ]; }
steps=60000
[ -n "${CORRAL_SANITIZER:-}" ] && steps=12000
train "$config" --seed 3 stop.steps=$steps --workers 0 --out "$out/calm" >"$out/log" 2>&1 || fail "the calm run ended with $?"
train "$config" --seed 3 stop.steps=$steps --workers 2 --out "$out/hit" >"$out/log" 2>&1 &
run=$!
wait_for 10 two || fail "no two workers"
sleep 0.1
victim=$(workers | head -n 1)
kill -9 "$victim" || fail "the worker had gone"
wait $run || fail "the run ended with $?"
[ "$(key "$out/hit/run.json" workers_lost)" -ge 1 ] || fail "no lost worker was counted"
"$corral" compare "$out/calm" "$out/hit" >"$out/log" 2>&1 || fail "a lost worker changed the result"
wait_for 5 none_left || fail "$(ours | wc -l) processes left"
echo "the run with a lost worker equals the calm one"
