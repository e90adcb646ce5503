#!/bin/bash
# DQN: no number of workers or threads, and no transport, changes a bit; with the replay in its checkpoint a run
# that stopped and went on equals one that did not; without it the run says so, and goes on all the same.
. "$(dirname "$0")/common.sh"
small="stop.steps=4096 schedule_steps=8192 evaluation.every=2048 evaluation.episodes=5 dqn.train_freq=64 dqn.gradient_steps=4
    dqn.n_step=[1,3] dqn.distribution=categorical dqn.noisy=true dqn.priority_alpha=0.6 dqn.learning_starts=500 dqn.buffer_size=3000 network.normalize_observation=true"
one() {
    local name=$1
    shift
    # shellcheck disable=SC2086
    train "$CORRAL_SOURCE/examples/cartpole-dqn.yaml" --seed 9 $small checkpoint.replay=true --out "$out/$name" "$@" >"$out/log" 2>&1
    [ $? -le 1 ] || fail "$name failed"
}
same() { "$corral" compare "$out/$1" "$out/$2" >"$out/log" 2>&1 || fail "$1 and $2 differ: $(head -n 3 "$out/log")"; }

one reference --workers 0 threads=1
one threads --workers 0 threads=3
one workers --workers 2 threads=1
one grpc --workers 3 transport=grpc faults=lose=0.1,duplicate=0.1,seed=3
for run in threads workers grpc; do same reference $run; done

one half --workers 2 stop.steps=2048
train --resume "$out/half" stop.steps=4096 --workers 0 >"$out/log" 2>&1
[ $? -le 1 ] || fail "the second half failed"
same reference half

one forgetful stop.steps=2048 checkpoint.replay=false
train --resume "$out/forgetful" stop.steps=4096 >"$out/log" 2>&1
[ $? -le 1 ] || fail "going on without the replay failed"
grep -q "replay was not saved" "$out/forgetful/log.txt" || fail "nothing was said about the missing replay"

# Old weights where they fit, also with other numbers of environments and actions: what was taken is said by name.
train "$CORRAL_SOURCE/examples/acrobot-dqn.yaml" --init-from "$out/half" --out "$out/other" stop.steps=64 envs=2 dqn.train_freq=2 \
    network.hidden=[64,64] evaluation.every=0 evaluation.episodes=1 max_episode_steps=20 >"$out/log" 2>&1
[ $? -le 1 ] || fail "starting from other weights failed"
grep -q "entries taken, [0-9]* left as initialised: trunk.0.weight" "$out/other/log.txt" ||
    fail "nothing was said about what was taken: $(cat "$out/other/log.txt")"
"$corral" compare "$out/reference" "$out/forgetful" >"$out/log" 2>&1 && fail "a forgotten replay changes nothing"
echo "5 runs equal"
