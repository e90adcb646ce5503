# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The Corral authors
"""Stable-Baselines3's DQN on CartPole-v1 with the settings of RL Baselines3 Zoo. See common.py."""
import torch
from stable_baselines3 import DQN
from stable_baselines3.common.env_util import make_vec_env

import common
from sb3_stop import StopWhenFinished


def main():
    flags = common.read_flags()
    assert flags.what == "speed"
    torch.set_num_threads(flags.threads)
    model = DQN(
        "MlpPolicy",
        make_vec_env("CartPole-v1", n_envs=1, seed=flags.seed),
        learning_rate=2.3e-3,
        batch_size=64,
        buffer_size=100_000,
        learning_starts=1000,
        gamma=0.99,
        target_update_interval=10,
        train_freq=256,
        gradient_steps=128,
        exploration_fraction=0.16,
        exploration_final_eps=0.04,
        policy_kwargs={"net_arch": [256, 256]},
        seed=flags.seed,
        device="cpu",
    )
    model.learn(total_timesteps=10**9, callback=StopWhenFinished(common.SpeedMeter(flags.seconds)))


main()
