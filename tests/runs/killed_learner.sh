#!/bin/bash
# The learner is killed: 5 seconds later no process, socket folder or shared memory of ours is left, and --resume goes on.
. "$(dirname "$0")/common.sh"
export XDG_RUNTIME_DIR=$out/runtime
mkdir -m 700 "$XDG_RUNTIME_DIR"
config=$CORRAL_SOURCE/examples/cartpole-ppo-zoo.yaml
two() { [ "$(workers | wc -l)" = 2 ]; }
saved() { ls "$out"/run/checkpoints/[0-9]*/manifest.json >/dev/null 2>&1; }
"$corral" train "$config" --seed 3 stop.steps=100000000 checkpoint.every=2048 --workers 2 --out "$out/run" --quiet >"$out/log" 2>&1 </dev/null &
run=$!
wait_for 10 two || fail "no two workers"
wait_for 20 saved || fail "no checkpoint"
kill -9 $run
wait_for 5 none_left || fail "$(ours | wc -l) processes left: $(ours | xargs -r ps -o pid,args -p)"
empty() { [ -z "$(find "$XDG_RUNTIME_DIR" -mindepth 1 2>/dev/null)" ]; }
wait_for 5 empty || fail "left in the runtime folder: $(find "$XDG_RUNTIME_DIR" -mindepth 1)"
step=$(ls "$out/run/checkpoints" | grep -E '^[0-9]+$' | sort -n | tail -n 1)
train --resume "$out/run" stop.steps=$((step + 2048)) >"$out/log" 2>&1 || fail "resume ended with $?"
at_least "$(key "$out/run/run.json" env_steps)" $((step + 2048)) || fail "the resumed run did not go on"
echo "nothing left, and the run went on from step $step"
