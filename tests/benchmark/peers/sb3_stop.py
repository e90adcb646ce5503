# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The Corral authors
"""How a training of Stable-Baselines3 ends when a meter has finished. See common.py."""
from stable_baselines3.common.callbacks import BaseCallback


class StopWhenFinished(BaseCallback):
    """A rollout starts where an iteration has ended; only a step may stop the training."""

    def __init__(self, meter):
        super().__init__()
        self.meter = meter
        self.is_finished = False

    def _on_rollout_start(self):
        self.is_finished = self.meter.finished(self.num_timesteps)

    def _on_step(self):
        return not self.is_finished
