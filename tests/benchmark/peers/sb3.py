# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The Corral authors
"""Stable-Baselines3's PPO on CartPole-v1 with the settings of RL Baselines3 Zoo. See common.py."""
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy

import common
from sb3_stop import StopWhenFinished

BUDGET = 100_000  # what the schedules run over


def main():
    flags = common.read_flags()
    torch.set_num_threads(flags.threads)
    model = PPO(
        "MlpPolicy",
        make_vec_env("CartPole-v1", n_envs=8, seed=flags.seed),
        n_steps=32,
        batch_size=256,
        n_epochs=20,
        gamma=0.98,
        gae_lambda=0.8,
        ent_coef=0.0,
        learning_rate=lambda left: 1e-3 * left,
        clip_range=lambda left: 0.2 * left,
        seed=flags.seed,
        device="cpu",
    )
    if flags.what == "speed":
        meter, steps = common.SpeedMeter(flags.seconds), 10**9
    else:
        judge = make_vec_env("CartPole-v1", n_envs=common.EVALUATION_EPISODES, seed=flags.seed + 1000)
        evaluate = lambda: evaluate_policy(model, judge, common.EVALUATION_EPISODES)[0]
        meter, steps = common.GoalMeter(BUDGET, evaluate), BUDGET
    callback = StopWhenFinished(meter)
    model.learn(total_timesteps=steps, callback=callback)
    if not callback.is_finished:
        meter.finished(model.num_timesteps)


main()
