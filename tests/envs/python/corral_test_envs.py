# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The Corral authors
#
# Gymnasium environments for the tests of the bridge, each with one thing to look at.

import ctypes
import os
import signal
import sys
import time

import gymnasium
import numpy as np
from gymnasium import spaces


class Troubled(gymnasium.Env):
    """At step `at` of an episode whose seed is odd, what `trouble` says. It shows its process and its step."""

    def __init__(self, trouble=0, at=5):
        self.trouble, self.at = trouble, at
        self.observation_space = spaces.Box(0, 1e9, (2,), np.float32)
        self.action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.odd, self.steps = seed % 2 == 1, 0
        return self.seen(), {}

    def seen(self):
        return np.array([os.getpid(), self.steps], np.float32)

    def step(self, action):
        self.steps += 1
        if self.odd and self.steps == self.at:
            self.stumble()
        return self.seen(), 1.0, False, self.steps >= 20, {}

    def stumble(self):
        if self.trouble == 1:
            raise ValueError("the pump is dry")
        if self.trouble == 2:
            os.kill(os.getpid(), signal.SIGSEGV)
        if self.trouble == 3:
            time.sleep(1000)
        if self.trouble == 4:
            ctypes.PyDLL(None).sleep(1000)  # holds Python's lock
        if self.trouble == 5:
            sys.exit(3)


class Nested(gymnasium.Env):
    """Shows the action that it was given, in spaces of every kind."""

    def __init__(self):
        self.observation_space = spaces.Dict(
            {
                "wheels": spaces.MultiDiscrete([3, 4], start=[10, 20]),
                "arm": spaces.Tuple([spaces.Box(-2, 2, (2, 3), np.float64), spaces.Discrete(5, start=-2)]),
                "lamps": spaces.MultiBinary(4),
                "depth": spaces.Box(0, 60000, (2, 1, 2, 1, 3), np.uint16),
            }
        )
        self.action_space = spaces.Dict(
            {
                "b": spaces.Tuple([spaces.Discrete(3, start=1), spaces.MultiDiscrete([3, 4], start=[10, 20])]),
                "a": spaces.Box(-2, 2, (2, 3), np.float64),
            }
        )

    def seen(self, action):
        return {
            "wheels": action["b"][1],
            "arm": (action["a"], np.int64(action["b"][0] - 3)),
            "lamps": np.array([1, 0, 0, action["b"][0] == 2], np.int8),
            "depth": np.arange(12, dtype=np.uint16).reshape(2, 1, 2, 1, 3) * 5000,
        }

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.seen({"a": np.zeros((2, 3)), "b": (1, np.array([10, 20]))}), {}

    def step(self, action):
        assert self.action_space.contains(action), action
        return self.seen(action), float(action["a"].sum()), False, False, {}


class Masked(gymnasium.Env):
    """Only the action after the last one is allowed."""

    def __init__(self):
        self.observation_space, self.action_space = spaces.Discrete(4), spaces.Discrete(4)

    def info(self):
        return {"action_mask": np.eye(4, dtype=np.int8)[self.next]}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.next = seed % 4
        return self.next, self.info()

    def step(self, action):
        assert action == self.next and type(action) is int
        self.next = (self.next + 1) % 4
        return self.next, 0.0, False, False, self.info()


class Painted(gymnasium.Env):
    """A picture that is told from its mirror images; 32-bit seeds; a parameter that changes its spaces."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 12}

    def __init__(self, size=1, brightness=200, render_mode=None):
        self.brightness, self.render_mode = brightness, render_mode
        self.observation_space = spaces.Box(-np.inf, np.inf, (size,), np.float32)
        self.action_space = spaces.Box(-1, 1, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        self.chance = np.random.RandomState(seed)
        return self.seen(), {}

    def seen(self):
        return self.chance.random_sample(self.observation_space.shape).astype(np.float32)

    def step(self, action):
        shape_is_wrong = action[0] > 0.9
        return np.zeros(7) if shape_is_wrong else self.seen(), np.float32(action[0]), np.bool_(action[0] < 0), False, {}

    def render(self):
        frame = np.zeros((3, 5, 3), np.uint8)
        frame[0, 0] = (self.brightness, 0, 0)
        frame[0, 4] = (0, self.brightness, 0)
        frame[2, 0] = (0, 0, self.brightness)
        return frame


class Endless(gymnasium.Env):
    """Its observations have no fixed size."""

    observation_space = spaces.Sequence(spaces.Discrete(3))
    action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        return (), {}


for environment in (Troubled, Nested, Masked, Painted, Endless):
    gymnasium.register(f"{environment.__name__}-v0", environment)
