#!/bin/bash
# What PPO carries from iteration to iteration (the penalty's coefficient, the moments of returns) keeps the contract:
# no number of workers, and no stop and resume, changes a bit.
. "$(dirname "$0")/common.sh"
config=$CORRAL_SOURCE/examples/cartpole-ppo-zoo.yaml
same="--seed 5 schedule_steps=6144 evaluation.every=2048 evaluation.episodes=5 ppo.value_error_clip=5
    ppo.kl_coefficient=0.2 ppo.kl_target=0.01 ppo.normalize_reward=true ppo.reward_clip=10"
# shellcheck disable=SC2086
one() {
    local name=$1
    shift
    train "$config" $same --out "$out/$name" "$@" >"$out/log" 2>&1 || fail "$name ended with $?"
}
one whole --workers 0 threads=2 stop.steps=6144
one workers --workers 2 threads=1 stop.steps=6144
one grpc --workers 2 transport=grpc stop.steps=6144
one part --workers 2 stop.steps=3072
train --resume "$out/part" stop.steps=6144 --workers 0 >"$out/log" 2>&1 || fail "the second half ended with $?"
for run in workers grpc part; do
    "$corral" compare "$out/whole" "$out/$run" >"$out/log" 2>&1 || fail "whole and $run differ"
done
state=$out/whole/checkpoints/6144/state.json
coefficient=$(key "$state" kl_coefficient)
[ "$coefficient" != 0.2 ] || fail "the coefficient has not moved"
grep -q '"returns"' "$state" || fail "the running returns are not saved"
grep -qa 'returns.moments' "$out/whole/checkpoints/6144/policy.safetensors" || fail "the moments are not saved"

# So does the noise of state-dependent exploration, which outlasts a stop and the hands it is in.
same="env=Pendulum-v1 envs=4 --seed 5 schedule_steps=1600 evaluation.every=800 evaluation.episodes=3 ppo.steps=50
    network.deviation=gsde network.noise_every=7 network.log_std_init=-2 network.normalize_observation=true"
one gsde --workers 0 threads=2 stop.steps=1600
one gsde-workers --workers 3 threads=1 stop.steps=1600
one gsde-part --workers 2 stop.steps=800
train --resume "$out/gsde-part" stop.steps=1600 --workers 0 >"$out/log" 2>&1 || fail "the second half ended with $?"
for run in workers part; do
    "$corral" compare "$out/gsde" "$out/gsde-$run" >"$out/log" 2>&1 || fail "gsde and gsde-$run differ"
done

# And what a recurrent policy remembers.
same="env=Recall-v0 env_params.delay=11 envs=4 --seed 5 schedule_steps=1600 evaluation.every=800 evaluation.episodes=3
    ppo.steps=50 ppo.sequence=25 ppo.minibatch=100 network.memory=lstm network.memory_units=8"
one lstm --workers 0 threads=2 stop.steps=1600
one lstm-workers --workers 3 threads=1 stop.steps=1600
one lstm-part --workers 2 stop.steps=800
train --resume "$out/lstm-part" stop.steps=1600 --workers 0 >"$out/log" 2>&1 || fail "the second half ended with $?"
for run in workers part; do
    "$corral" compare "$out/lstm" "$out/lstm-$run" >"$out/log" 2>&1 || fail "lstm and lstm-$run differ"
done

# Another value of its key starts the coefficient anew; without one it goes on.
train --resume "$out/whole" stop.steps=6400 ppo.kl_coefficient=7 ppo.kl_target=0 >"$out/log" 2>&1 || fail "resuming ended with $?"
[ "$(key "$out/whole/checkpoints/6400/state.json" kl_coefficient)" = 7 ] || fail "the new coefficient is not taken"
train --resume "$out/part" stop.steps=6400 ppo.kl_target=0 >"$out/log" 2>&1 || fail "resuming ended with $?"
[ "$(key "$out/part/checkpoints/6400/state.json" kl_coefficient)" = "$coefficient" ] || fail "the coefficient does not go on"
echo "PPO's state keeps the contract: the coefficient went to $coefficient"
