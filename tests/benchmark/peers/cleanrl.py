# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The Corral authors
"""PPO on CartPole-v1 as CleanRL's ppo.py does it, written anew. See common.py.

CleanRL is no package that current Pythons can install, so this is a loop of our own with the same sizes,
settings and order of work: 4 environments stepped one after the other, 128 steps each, two 64-64 networks,
one tensor operation at a time. It leaves out what CleanRL does for its user rather than for learning (log
files, episode records, diagnostics), which makes it somewhat faster than the original.
"""
import gymnasium
import numpy
import torch
from torch import nn
from torch.distributions import Categorical

import common

ENVIRONMENTS, STEPS, EPOCHS, MINIBATCH = 4, 128, 4, 128
ROWS = ENVIRONMENTS * STEPS
BUDGET = 500_000  # what the learning rate falls over
GAMMA, LAMBDA, CLIP = 0.99, 0.95, 0.2
LEARNING_RATE, ENTROPY, VALUE, MAX_NORM = 2.5e-4, 0.01, 0.5, 0.5


def layer(inputs, outputs, gain):
    linear = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(linear.weight, gain)
    nn.init.zeros_(linear.bias)
    return linear


def network(outputs, last_gain):
    hidden_gain = 2**0.5
    return nn.Sequential(
        layer(4, 64, hidden_gain), nn.Tanh(), layer(64, 64, hidden_gain), nn.Tanh(), layer(64, outputs, last_gain)
    )


def make_environments(count):
    # An episode's end and the next one's start are one step, as when ppo.py was written.
    return gymnasium.vector.SyncVectorEnv(
        [lambda: gymnasium.make("CartPole-v1") for _ in range(count)],
        autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP,
    )


class Learner:
    def __init__(self, seed):
        self.actor, self.critic = network(2, 0.01), network(1, 1.0)
        self.parameters = [*self.actor.parameters(), *self.critic.parameters()]
        self.optimizer = torch.optim.Adam(self.parameters, lr=LEARNING_RATE, eps=1e-5)
        self.environments = make_environments(ENVIRONMENTS)
        self.next_observation = torch.as_tensor(self.environments.reset(seed=seed)[0])
        self.next_done = torch.zeros(ENVIRONMENTS)
        shape = (STEPS, ENVIRONMENTS)
        self.observation = torch.zeros(shape + (4,))
        self.action = torch.zeros(shape, dtype=torch.int64)
        self.log_prob, self.reward, self.done, self.value = (torch.zeros(shape) for _ in range(4))
        self.generator = numpy.random.default_rng(seed)

    def roll_out(self):
        for step in range(STEPS):
            self.observation[step], self.done[step] = self.next_observation, self.next_done
            with torch.no_grad():
                distribution = Categorical(logits=self.actor(self.next_observation))
                action = distribution.sample()
                self.log_prob[step] = distribution.log_prob(action)
                self.value[step] = self.critic(self.next_observation).flatten()
            self.action[step] = action
            observation, reward, terminated, truncated, _ = self.environments.step(action.numpy())
            self.reward[step] = torch.as_tensor(reward)
            self.next_observation = torch.as_tensor(observation)
            self.next_done = torch.as_tensor(numpy.logical_or(terminated, truncated), dtype=torch.float32)

    @torch.no_grad()
    def advantages(self):
        """As ppo.py: a time limit counts as an end."""
        advantage = torch.zeros_like(self.reward)
        trace = torch.zeros(ENVIRONMENTS)
        next_value, goes_on = self.critic(self.next_observation).flatten(), 1 - self.next_done
        for step in reversed(range(STEPS)):
            surprise = self.reward[step] + GAMMA * goes_on * next_value - self.value[step]
            trace = surprise + GAMMA * LAMBDA * goes_on * trace
            advantage[step] = trace
            next_value, goes_on = self.value[step], 1 - self.done[step]
        return advantage

    def loss(self, batch, rows):
        observation, action, old_log_prob, advantage, target, old_value = (column[rows] for column in batch)
        distribution = Categorical(logits=self.actor(observation))
        ratio = (distribution.log_prob(action) - old_log_prob).exp()
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        policy_loss = torch.max(-advantage * ratio, -advantage * ratio.clamp(1 - CLIP, 1 + CLIP)).mean()
        value = self.critic(observation).flatten()
        clipped = old_value + (value - old_value).clamp(-CLIP, CLIP)
        value_loss = 0.5 * torch.max((value - target) ** 2, (clipped - target) ** 2).mean()
        return policy_loss - ENTROPY * distribution.entropy().mean() + VALUE * value_loss

    def update(self, advantage):
        columns = (self.observation, self.action, self.log_prob, advantage, advantage + self.value, self.value)
        batch = [column.flatten(0, 1) for column in columns]
        order = numpy.arange(ROWS)
        for _ in range(EPOCHS):
            self.generator.shuffle(order)
            for first in range(0, ROWS, MINIBATCH):
                loss = self.loss(batch, order[first : first + MINIBATCH])
                self.optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.parameters, MAX_NORM)
                self.optimizer.step()

    def train(self, meter):
        steps = 0
        while not meter.finished(steps):
            left = max(0.0, 1 - steps / BUDGET)
            self.optimizer.param_groups[0]["lr"] = left * LEARNING_RATE
            self.roll_out()
            self.update(self.advantages())
            steps += ROWS

    @torch.no_grad()
    def evaluate(self, judge, seed):
        """The first episode of each of the judge's environments."""
        observation, _ = judge.reset(seed=seed)
        total, running = 0.0, numpy.ones(judge.num_envs, bool)
        while running.any():
            action = self.actor(torch.as_tensor(observation)).argmax(1).numpy()
            observation, reward, terminated, truncated, _ = judge.step(action)
            total += reward[running].sum()
            running &= ~(terminated | truncated)
        return total / judge.num_envs


def main():
    flags = common.read_flags()
    torch.set_num_threads(flags.threads)
    torch.manual_seed(flags.seed)
    learner = Learner(flags.seed)
    if flags.what == "speed":
        learner.train(common.SpeedMeter(flags.seconds))
    else:
        judge = make_environments(common.EVALUATION_EPISODES)
        learner.train(common.GoalMeter(BUDGET, lambda: learner.evaluate(judge, flags.seed + 1000)))


main()
