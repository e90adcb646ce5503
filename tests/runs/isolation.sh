#!/bin/bash
# isolation: process changes who plays, and nothing of what is learned; a crash costs one episode; nobody is left.
. "$(dirname "$0")/common.sh"
config=$CORRAL_SOURCE/examples/cartpole-ppo-zoo.yaml
trouble=$CORRAL_BUILD/tests/plugins/troublesome.so
small=(--seed 5 stop.steps=2048 evaluation.every=1024 evaluation.episodes=3)
env_hosts() { ours | while read -r p; do readlink "/proc/$p/exe" | grep -q env-host && echo "$p"; done; }

train "$config" "${small[@]}" --workers 0 --out "$out/inside" >"$out/log" 2>&1 || fail "inside ended with $?"
train "$config" "${small[@]}" --workers 2 isolation=process --out "$out/apart" >"$out/log" 2>&1 || fail "apart ended with $?"
for file in policy.safetensors optimizer.safetensors; do
    cmp -s "$out/inside/checkpoints/2048/$file" "$out/apart/checkpoints/2048/$file" || fail "$file differs"
done

touch "$out/trouble"
export TROUBLE_FILE=$out/trouble
train --algo ppo --env "$trouble:Abort-v0" isolation=process --workers 1 stop.steps=2048 evaluation.every=0 --out "$out/crash" \
    >"$out/log" 2>&1 || fail "a crash ended the run with $?"
[ -e "$out/trouble" ] && fail "nothing crashed"
[ "$(key "$out/crash/run.json" environment_failures)" = 1 ] || fail "not one failure"
[ "$(key "$out/crash/run.json" workers_started)" = 1 ] || fail "the crash took its worker along"
grep -q "its process was ended by signal 6 (Aborted); its episode is dropped" "$out/crash/log.txt" || fail "the log does not tell"

# A worker that is killed takes its environments along, hanging ones too.
touch "$out/trouble"
"$corral" train --algo ppo --env "$trouble:Hang-v0" "wrappers=[process: 1000]" --workers 1 envs=2 step_timeout=0 --out "$out/hang" \
    --quiet </dev/null >"$out/log" 2>&1 &
run=$!
hangs() { [ ! -e "$out/trouble" ]; }
wait_for 20 hangs || fail "nothing hangs"
[ "$(env_hosts | wc -l)" -ge 2 ] || fail "no processes of environments"
kill -9 $run
wait $run 2>/dev/null
wait_for 10 none_left || fail "left: $(ours | tr '\n' ' ')"
echo "isolated"
