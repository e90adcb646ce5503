#!/bin/bash
# SIGTERM and SIGINT once: a checkpoint, code 130, nothing left. Twice: at once.
. "$(dirname "$0")/common.sh"
config=$CORRAL_SOURCE/examples/cartpole-ppo-zoo.yaml
two() { [ "$(workers | wc -l)" = 2 ]; }
for signal in TERM INT; do
    "$corral" train "$config" stop.steps=100000000 --workers 2 --out "$out/$signal" --quiet >"$out/log" 2>&1 </dev/null &
    run=$!
    wait_for 10 two || fail "no two workers"
    sleep 0.2
    kill -$signal $run
    wait $run
    code=$?
    [ $code = 130 ] || fail "SIG$signal: code $code"
    ls "$out/$signal"/checkpoints/[0-9]*/manifest.json >/dev/null || fail "SIG$signal: no checkpoint"
    [ "$(key "$out/$signal/run.json" stop_reason)" = interrupted ] || fail "SIG$signal: stop_reason is $(key "$out/$signal/run.json" stop_reason)"
    wait_for 5 none_left || fail "SIG$signal: $(ours | wc -l) processes left"
done
"$corral" train "$config" stop.steps=100000000 --workers 2 --out "$out/twice" --quiet >"$out/log" 2>&1 </dev/null &
run=$!
wait_for 10 two || fail "no two workers"
kill -STOP "$(workers | head -n 1)" # so that the iteration cannot end
kill -TERM $run
sleep 0.2
kill -TERM $run
gone() { ! kill -0 $run 2>/dev/null; }
wait_for 2 gone || fail "still there after the second signal"
wait_for 5 none_left || fail "$(ours | wc -l) processes left after two signals"
echo "interrupted cleanly"
