#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The Corral authors
"""Makes networks.txt: twelve small networks in PyTorch, in f64, for tests/core/networks.c.

Each network is written with its first weights, its inputs, its result, its loss, the gradients, and the weights after
five steps of Adam. Run it with torch from PyPI (2.15 made the file): python make_networks.py > networks.txt

A line is: network, kind (param, input, result, loss, grad, after), name, the shape as a list, and the numbers. What goes
in is rounded to f32, so that a network may run in either precision.
"""
import math
import sys

import torch
from torch.nn import functional as F

torch.set_default_dtype(torch.float64)
torch.manual_seed(20)

LEARNING_RATE, STEPS = 1e-2, 5


def rounded(*shape, scale=1.0):
    return (torch.randn(*shape) * scale).float().double()


def write(network, kind, name, values):
    values = torch.as_tensor(values, dtype=torch.float64)
    shape = ",".join(str(n) for n in values.shape) or "-"
    print(network, kind, name, shape, " ".join(f"{v:.17g}" for v in values.reshape(-1).tolist()))


def run(network, params, inputs, forward, max_norm=None):
    """`forward(params)` gives the result that is compared, and the loss."""
    params = {name: value.clone().requires_grad_() for name, value in params.items()}
    for name, value in params.items():
        write(network, "param", name, value.detach())
    for name, value in inputs.items():
        write(network, "input", name, value)
    optimizer = torch.optim.Adam(params.values(), lr=LEARNING_RATE, eps=1e-8)
    for step in range(STEPS):
        optimizer.zero_grad()
        result, loss = forward(params)
        loss.backward()
        if step == 0:
            write(network, "result", "result", result.detach())
            write(network, "loss", "loss", loss.detach())
            for name, value in params.items():
                write(network, "grad", name, value.grad)
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(params.values(), max_norm)
        optimizer.step()
    for name, value in params.items():
        write(network, "after", name, value.detach())


def linear(name, out, into):
    return {f"{name}.w": rounded(out, into, scale=0.6), f"{name}.b": rounded(out, scale=0.2)}


def apply(p, name, x):
    return x @ p[f"{name}.w"].T + p[f"{name}.b"]


def mlp():
    x, y = rounded(6, 4), rounded(6, 3)

    def forward(p):
        h = torch.relu(apply(p, "b", torch.tanh(apply(p, "a", x))))
        out = apply(p, "c", h)
        return out, F.mse_loss(out, y)

    run("mlp", linear("a", 5, 4) | linear("b", 6, 5) | linear("c", 3, 6), {"x": x, "y": y}, forward)


def cnn():
    """Weights are written as [out, kernel * kernel * in], images with their channels last."""
    x, y = rounded(2, 8, 8, 2), rounded(2, 3)

    def convolve(p, name, h, kernel, **how):
        w = p[f"{name}.w"]
        w = w.reshape(w.shape[0], kernel, kernel, -1).permute(0, 3, 1, 2)
        return torch.relu(F.conv2d(h, w, p[f"{name}.b"], **how))

    def forward(p):
        h = convolve(p, "a", x.permute(0, 3, 1, 2), 3, stride=2)
        h = convolve(p, "b", h, 2, stride=1, padding=1)
        out = apply(p, "c", F.max_pool2d(h, 2).permute(0, 2, 3, 1).reshape(2, -1))
        return out, F.mse_loss(out, y)

    params = linear("a", 3, 18) | linear("b", 9, 12) | linear("c", 3, 36)
    run("cnn", params, {"x": x, "y": y}, forward)


RESETS = torch.tensor([1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0], dtype=torch.float64).reshape(3, 4)


def recurrent(network, cell, gates):
    """Three sequences of four steps, rows in (sequence, step) order."""
    x, y, hidden = rounded(3, 4, 3), rounded(3, 4, 5), 5
    first = rounded(3, hidden, scale=0.5)
    params = {"w_i": rounded(gates * hidden, 3, scale=0.6), "w_h": rounded(gates * hidden, hidden, scale=0.6),
              "b_i": rounded(gates * hidden, scale=0.2), "b_h": rounded(gates * hidden, scale=0.2)}

    def forward(p):
        state = first if gates == 3 else (first, first)
        out = []
        for t in range(4):
            keep = (1 - RESETS[:, t])[:, None]
            state = keep * state if gates == 3 else tuple(keep * s for s in state)
            state = cell(x[:, t], state, p["w_i"], p["w_h"], p["b_i"], p["b_h"])
            out.append(state if gates == 3 else state[0])
        out = torch.stack(out, 1).reshape(12, hidden)
        return out, F.mse_loss(out, y.reshape(12, hidden))

    inputs = {"x": x.reshape(12, 3), "y": y.reshape(12, hidden), "first": first, "reset": RESETS.reshape(12)}
    run(network, params, inputs, forward)


def attention():
    """Two heads over five positions that see none behind themselves; the heads are the batch."""
    x, y = rounded(5, 6), rounded(5, 6)
    mask = torch.full((5, 5), -math.inf).triu(1)

    def heads(h):
        return h.reshape(5, 2, 3).permute(1, 0, 2)

    def forward(p):
        q, k, v = (heads(apply(p, name, x)) for name in "qkv")
        seen = F.scaled_dot_product_attention(q[None], k[None], v[None], attn_mask=mask)[0]
        out = apply(p, "o", seen.permute(1, 0, 2).reshape(5, 6))
        return out, F.mse_loss(out, y)

    params = linear("q", 6, 6) | linear("k", 6, 6) | linear("v", 6, 6) | linear("o", 6, 6)
    run("attention", params, {"x": x, "y": y}, forward)


def layer_norm():
    x, y = rounded(6, 4), rounded(6, 2)

    def forward(p):
        h = torch.tanh(F.layer_norm(apply(p, "a", x), (7,), p["n.w"], p["n.b"], 1e-5))
        out = apply(p, "c", h)
        return out, F.smooth_l1_loss(out, y)

    params = linear("a", 7, 4) | {"n.w": 1 + rounded(7, scale=0.1), "n.b": rounded(7, scale=0.1)} | linear("c", 2, 7)
    params["n.w"] = params["n.w"].float().double()
    run("layer_norm", params, {"x": x, "y": y}, forward)


def noisy():
    x, y, e_in, e_out = rounded(6, 4), rounded(6, 3), rounded(4), rounded(3)

    def forward(p):
        w = p["m.w"] + p["s.w"] * torch.outer(e_out, e_in)
        out = torch.tanh(x @ w.T + p["m.b"] + p["s.b"] * e_out)
        return out, F.mse_loss(out, y)

    run("noisy", linear("m", 3, 4) | linear("s", 3, 4), {"x": x, "y": y, "in": e_in, "out": e_out}, forward)


ACTIONS = torch.tensor([0, 2, 1, 1, 2, 0])


def dueling():
    x, target, weight = rounded(6, 4), rounded(6), rounded(6).abs()

    def forward(p):
        h = torch.tanh(apply(p, "a", x))
        advantage = apply(p, "c", h)
        q = apply(p, "v", h) + advantage - advantage.mean(1, keepdim=True)
        taken = q[torch.arange(6), ACTIONS]
        return q, (weight * F.huber_loss(taken, target, reduction="none", delta=0.75)).mean()

    params = linear("a", 5, 4) | linear("v", 1, 5) | linear("c", 3, 5)
    run("dueling", params, {"x": x, "target": target, "weight": weight, "action": ACTIONS}, forward)


def c51():
    """The target is projected here as well, from logits of the next state."""
    x, next_logits, reward = rounded(6, 4), rounded(6, 3 * 7), rounded(6)
    discount = torch.tensor([0.9, 0.9, 0.0, 0.9, 0.9, 0.0]).float().double()
    support = torch.linspace(-2, 2, 7)

    def target():
        p = torch.softmax(next_logits.reshape(6, 3, 7)[torch.arange(6), ACTIONS], 1)
        place = ((reward[:, None] + discount[:, None] * support).clamp(-2, 2) + 2) / (4 / 6)
        near = (1 - (place[:, :, None] - torch.arange(7)).abs()).clamp(min=0)
        return (p[:, :, None] * near).sum(1)

    def forward(p):
        logits = apply(p, "c", torch.tanh(apply(p, "a", x))).reshape(6, 3, 7)
        log_p = torch.log_softmax(logits[torch.arange(6), ACTIONS], 1)
        return logits.reshape(6, 21), -(target() * log_p).sum(1).mean()

    inputs = {"x": x, "next": next_logits, "reward": reward, "discount": discount, "action": ACTIONS}
    run("c51", linear("a", 5, 4) | linear("c", 21, 5), inputs, forward)


def ppo():
    x, old, advantage, target, old_value = rounded(6, 4), -rounded(6).abs() - 0.5, rounded(6), rounded(6), rounded(6)
    old = old.float().double()

    def forward(p):
        h = torch.tanh(apply(p, "a", x))
        logits, value = apply(p, "c", h), apply(p, "v", h)[:, 0]
        d = torch.distributions.Categorical(logits=logits)
        ratio = (d.log_prob(ACTIONS) - old).exp()
        policy = -torch.min(ratio * advantage, ratio.clamp(0.75, 1.25) * advantage).mean()
        moved = old_value + (value - old_value).clamp(-0.5, 0.5)
        error = torch.max((value - target) ** 2, (moved - target) ** 2)
        return logits, policy + 0.5 * 0.5 * error.mean() - 0.125 * d.entropy().mean()

    inputs = {"x": x, "old": old, "advantage": advantage, "target": target, "old_value": old_value, "action": ACTIONS}
    run("ppo", linear("a", 5, 4) | linear("c", 3, 5) | linear("v", 1, 5), inputs, forward, max_norm=0.5)


def vtrace():
    """Two sequences of three steps; row 1 ends an episode."""
    x, old, reward, last = rounded(6, 4), -rounded(6).abs() - 0.5, rounded(6), rounded(2)
    old = old.float().double()
    discount = torch.tensor([0.9, 0.0, 0.9, 0.9, 0.9, 0.9]).float().double()

    def targets(log_ratio, value):
        rho = log_ratio.exp().clamp(max=1)
        v, advantage = torch.zeros(6), torch.zeros(6)
        for s in (0, 1):
            follows, following_value = last[s], last[s]
            for r in reversed(range(3 * s, 3 * s + 3)):
                delta = rho[r] * (reward[r] + discount[r] * following_value - value[r])
                advantage[r] = rho[r] * (reward[r] + discount[r] * follows - value[r])
                v[r] = value[r] + delta + discount[r] * rho[r] * (follows - following_value)
                follows, following_value = v[r], value[r]
        return v, advantage

    def forward(p):
        h = torch.tanh(apply(p, "a", x))
        log_p = torch.log_softmax(apply(p, "c", h), 1)[torch.arange(6), ACTIONS]
        value = apply(p, "v", h)[:, 0]
        v, advantage = targets((log_p - old).detach(), value.detach())
        return v, -(log_p * advantage).mean() + 0.5 * F.mse_loss(value, v)

    inputs = {"x": x, "old": old, "reward": reward, "discount": discount, "last": last, "action": ACTIONS}
    run("vtrace", linear("a", 5, 4) | linear("c", 3, 5) | linear("v", 1, 5), inputs, forward)


def squashed_normal():
    """What SAC asks of its policy: high entropy, and actions near a goal."""
    x, noise, goal = rounded(6, 4), rounded(6, 2), rounded(6, 2, scale=0.4)

    def forward(p):
        h = torch.relu(apply(p, "a", x))
        d = torch.distributions.Normal(apply(p, "m", h), apply(p, "s", h).exp())
        u = d.loc + d.scale * noise
        log_p = (d.log_prob(u) - 2 * (math.log(2) - u - F.softplus(-2 * u))).sum(1)
        return log_p, (0.2 * log_p + ((torch.tanh(u) - goal) ** 2).sum(1)).mean()

    params = linear("a", 7, 4) | linear("m", 2, 7) | linear("s", 2, 7)
    run("squashed_normal", params, {"x": x, "noise": noise, "goal": goal}, forward)


print(f"# by make_networks.py with torch {torch.__version__}")
mlp()
cnn()
recurrent("lstm", torch.lstm_cell, 4)
recurrent("gru", torch.gru_cell, 3)
for make in attention, layer_norm, noisy, dueling, c51, ppo, vtrace, squashed_normal:
    make()
sys.stdout.flush()
