# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The Corral authors
"""RLlib's PPO on CartPole-v1 with the settings of RL Baselines3 Zoo, 4 env runners of 2 environments. See common.py."""
import logging

import ray
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig

import common

RUNNERS, ENVIRONMENTS, STEPS = 4, 2, 32
ROWS = RUNNERS * ENVIRONMENTS * STEPS


def main():
    flags = common.read_flags()
    assert flags.what == "speed"
    torch.set_num_threads(flags.threads)
    # Slots are logical: the machine's cores are what they are.
    ray.init(num_cpus=RUNNERS + 2, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    config = (
        PPOConfig()
        .environment("CartPole-v1")
        .env_runners(
            num_env_runners=RUNNERS, num_envs_per_env_runner=ENVIRONMENTS, rollout_fragment_length=STEPS
        )
        .rl_module(
            model_config=DefaultModelConfig(fcnet_hiddens=[64, 64], fcnet_activation="tanh", vf_share_layers=False)
        )
        .training(
            train_batch_size_per_learner=ROWS,
            minibatch_size=ROWS,
            num_epochs=20,
            lr=1e-3,
            gamma=0.98,
            lambda_=0.8,
            clip_param=0.2,
            entropy_coeff=0.0,
            vf_loss_coeff=0.5,
            use_kl_loss=False,
            grad_clip=0.5,
        )
        .debugging(seed=flags.seed, log_level="ERROR")
    )
    algorithm = config.build_algo()
    meter, steps = common.SpeedMeter(flags.seconds), 0
    while not meter.finished(steps):
        result = algorithm.train()
        steps = int(result["env_runners"]["num_env_steps_sampled_lifetime"])
    algorithm.stop()
    ray.shutdown()


main()
