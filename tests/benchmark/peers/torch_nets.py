# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The Corral authors
"""The networks of nets.h in PyTorch: torch_nets.py NET ROWS THREADS SECONDS eager|compiled

Prints {"us": ...}, the best of many short slices, as there. Losses are written with PyTorch's own functions; Adam is the fused one.
"""
import json
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

name, rows, threads, seconds, mode = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), sys.argv[5]
torch.set_num_threads(threads)
torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self, inputs, hidden, outputs, activation, value):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(inputs, hidden), activation(), nn.Linear(hidden, hidden), activation())
        self.head = nn.Linear(hidden, outputs)
        self.value = nn.Linear(hidden, 1) if value else None

    def forward(self, x):
        h = self.trunk(x)
        return self.head(h), self.value(h) if self.value is not None else None


class Nature(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU(), nn.Conv2d(64, 64, 3, 1), nn.ReLU(),
            nn.Flatten(), nn.Linear(3136, 512), nn.ReLU(), nn.Linear(512, 6))

    def forward(self, x):
        return self.layers(x), None


class Memory(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(128, 128, batch_first=True)
        self.head = nn.Linear(128, 6)

    def forward(self, x):
        return self.head(self.lstm(x)[0].reshape(-1, 128)), None


ppo, humanoid = name.startswith("ppo"), name.startswith("humanoid")
if ppo or humanoid:
    net = Net(4, 64, 2, nn.Tanh, True) if ppo else Net(376, 256, 17, nn.ReLU, False)
    x = torch.randn(rows, 4 if ppo else 376)
elif name.startswith("cnn"):
    net, x = Nature(), torch.randn(rows, 4, 84, 84)
else:
    net, x = Memory(), torch.randn(max(rows // 16, 1), min(rows, 16), 128)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-4, fused=True)
target = torch.randn(rows, 17)
action = torch.arange(rows) % 2
old_log_prob, advantage, value_target = torch.full((rows,), -0.7), torch.randn(rows), torch.randn(rows)


def loss_of(inputs):
    out, value = net(inputs)
    if humanoid:
        return F.mse_loss(out, target)
    if not ppo:
        return F.huber_loss(out.gather(1, action[:, None])[:, 0], value_target)
    log_probs = F.log_softmax(out, dim=1)
    ratio = (log_probs.gather(1, action[:, None])[:, 0] - old_log_prob).exp()
    surrogate = torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
    entropy = -(log_probs.exp() * log_probs).sum(1).mean()
    return -surrogate + 0.5 * 0.5 * F.mse_loss(value[:, 0], value_target) - 0.01 * entropy


forward = torch.compile(net) if mode == "compiled" else net
loss = torch.compile(loss_of) if mode == "compiled" else loss_of


def learn():
    optimizer.zero_grad(set_to_none=True)
    loss(x).backward()
    if name.endswith("-gradient"):
        return
    if ppo:
        nn.utils.clip_grad_norm_(net.parameters(), 0.5)
    optimizer.step()


def act():
    with torch.inference_mode():
        forward(x)


call = act if name.endswith("-act") else learn
for _ in range(20):
    call()
slices = []
for _ in range(100):
    start, calls = time.perf_counter(), 0
    while time.perf_counter() - start < seconds / 100:
        call()
        calls += 1
    slices.append((time.perf_counter() - start) / calls)
print(json.dumps({"us": min(slices) * 1e6}))
