#!/bin/bash
# Messages between nodes are lost, doubled and late while workers are killed and a run is stopped and resumed: the result
# is the one of a run in which nothing happened.
. "$(dirname "$0")/common.sh"
same="--env CartPole-v1 --seed 7 envs=4 ppo.steps=64 ppo.minibatch=64 network.hidden=[16] network.normalize_observation=true evaluation.every=4096 evaluation.episodes=2 schedule_steps=16384"
whole="stop.steps=16384"
# shellcheck disable=SC2086
train $same $whole --workers 0 --out "$out/calm" >"$out/log" 2>&1 || fail "the calm run ended with $?"
equal() { "$corral" compare "$out/calm" "$out/$1" >"$out/log" 2>&1 || fail "$1 is not the calm run"; }

for faults in lose=0.2,seed=1 duplicate=0.3,seed=2 delay=5ms:0.2,seed=3 lose=0.1,duplicate=0.1,delay=5ms:0.1,seed=4 blackout=0.3s:0.5s; do
    # shellcheck disable=SC2086
    train $same $whole --workers 2 transport=grpc faults=$faults --out "$out/$faults" >"$out/log" 2>&1 || fail "$faults: ended with $?"
    equal "$faults"
    [ "$(count "$faults" fragments_remote)" -gt 0 ] || fail "$faults: nothing came over grpc"
    nothing_left "$faults"
done

# and a worker is killed meanwhile
faults=lose=0.1,duplicate=0.1,delay=5ms:0.1,seed=5
two() { [ "$(workers | wc -l)" = 2 ]; }
# shellcheck disable=SC2086
train $same $whole --workers 2 transport=grpc faults=$faults --out "$out/hit" >"$out/log" 2>&1 &
run=$!
wait_for 10 two || fail "no two workers"
sleep 0.3
kill -9 "$(workers | head -n 1)"
wait $run || fail "a worker killed under faults: ended with $?"
[ "$(count hit workers_lost)" -ge 1 ] || fail "no worker was counted as lost"
equal hit
nothing_left "a worker killed under faults"

# and it is stopped and goes on
# shellcheck disable=SC2086
train $same stop.steps=8192 --workers 2 transport=grpc faults=$faults --out "$out/parts" >"$out/log" 2>&1 || fail "the first half ended with $?"
train --resume "$out/parts" $whole faults=lose=0.1,seed=6 >"$out/log" 2>&1 || fail "the second half ended with $?"
equal parts

# what is no description of faults is refused
refused "faults|loose" train --env CartPole-v1 faults=loose=0.1
refused "faults" train --env CartPole-v1 faults=lose=2
nothing_left "refused faults"
echo "equal under faults"
