# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The Corral authors
"""DQN on CartPole-v1 as CleanRL's dqn.py does it, written anew. See common.py and cleanrl.py.

The same sizes, settings and order of work: one environment, a step at a time, a minibatch of 128 rows every ten
steps from a ring of 10,000, a 120-84 network, and the target copied every 500 steps. What is only for the user
is left out.
"""
import random

import gymnasium
import numpy
import torch
from torch import nn

import common

ROWS, MINIBATCH, EVERY, COPY_EVERY = 10_000, 128, 10, 500
BUDGET, EXPLORED, FIRST, LAST = 500_000, 0.5, 1.0, 0.05
GAMMA, LEARNING_RATE = 0.99, 2.5e-4


def network():
    return nn.Sequential(nn.Linear(4, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 2))


class Ring:
    def __init__(self, seed):
        self.observation, self.next = (numpy.zeros((ROWS, 4), numpy.float32) for _ in range(2))
        self.action = numpy.zeros((ROWS, 1), numpy.int64)
        self.reward, self.end = (numpy.zeros((ROWS, 1), numpy.float32) for _ in range(2))
        self.at, self.count = 0, 0
        self.generator = numpy.random.default_rng(seed)

    def push(self, *row):
        for column, value in zip((self.observation, self.next, self.action, self.reward, self.end), row):
            column[self.at] = value
        self.at = (self.at + 1) % ROWS
        self.count = min(self.count + 1, ROWS)

    def sample(self):
        rows = self.generator.integers(0, self.count, MINIBATCH)
        columns = (self.observation, self.next, self.action, self.reward, self.end)
        return [torch.as_tensor(column[rows]) for column in columns]


def learn(online, target, optimizer, ring):
    observation, following, action, reward, end = ring.sample()
    with torch.no_grad():
        wanted = reward.flatten() + GAMMA * target(following).max(dim=1).values * (1 - end.flatten())
    loss = nn.functional.mse_loss(online(observation).gather(1, action).squeeze(), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def train(meter, seed):
    online, target = network(), network()
    target.load_state_dict(online.state_dict())
    optimizer = torch.optim.Adam(online.parameters(), lr=LEARNING_RATE)
    environment = gymnasium.make("CartPole-v1")
    ring = Ring(seed)
    observation, _ = environment.reset(seed=seed)
    steps = 0
    while steps % EVERY or not meter.finished(steps):
        epsilon = max(LAST, FIRST + (LAST - FIRST) * steps / (EXPLORED * BUDGET))
        if random.random() < epsilon:
            action = int(environment.action_space.sample())
        else:
            with torch.no_grad():
                action = int(online(torch.as_tensor(observation[None])).argmax())
        following, reward, terminated, truncated, _ = environment.step(action)
        ring.push(observation, following, action, reward, terminated)
        observation = environment.reset()[0] if terminated or truncated else following
        steps += 1
        if steps > ROWS and steps % EVERY == 0:
            learn(online, target, optimizer, ring)
        if steps > ROWS and steps % COPY_EVERY == 0:
            target.load_state_dict(online.state_dict())


def main():
    flags = common.read_flags()
    assert flags.what == "speed"
    torch.set_num_threads(flags.threads)
    torch.manual_seed(flags.seed)
    random.seed(flags.seed)
    train(common.SpeedMeter(flags.seconds), flags.seed)


main()
