# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The Corral authors
"""The minibatch of PPO that bench.c measures, in PyTorch and in JAX, each where it is there with a GPU.

Prints lines as bench.c does: name, microseconds per minibatch, unit.
"""
import time

OBSERVATION, ACTIONS, WIDTH, ROWS, REPEATS = 64, 8, 256, 32768, 50


def best_of(step, wait):
    for _ in range(5):
        step()
    wait()
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(REPEATS):
            step()
        wait()
        best = min(best, (time.perf_counter() - start) / REPEATS)
    return best * 1e6


def with_torch():
    import torch

    if not torch.cuda.is_available():
        return
    layers, width = [], OBSERVATION
    for _ in range(3):
        layers += [torch.nn.Linear(width, WIDTH), torch.nn.Tanh()]
        width = WIDTH
    trunk = torch.nn.Sequential(*layers)
    net = torch.nn.ModuleList([trunk, torch.nn.Linear(WIDTH, ACTIONS), torch.nn.Linear(WIDTH, 1)]).cuda()
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-4, fused=True, capturable=True)
    x = torch.randn(ROWS, OBSERVATION, device="cuda")
    action = torch.randint(ACTIONS, (ROWS,), device="cuda")
    old = torch.full((ROWS,), -2.0794, device="cuda")
    advantage, target = torch.randn(ROWS, device="cuda"), torch.randn(ROWS, device="cuda")

    def loss():
        with torch.autocast("cuda", torch.bfloat16):
            h = net[0](x)
            logits, value = net[1](h).float(), net[2](h).float().squeeze(-1)
        log_p = torch.log_softmax(logits, -1)
        a = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        ratio = (log_p.gather(1, action[:, None]).squeeze(1) - old).exp()
        policy = -torch.minimum(ratio * a, ratio.clamp(0.8, 1.2) * a).mean()
        entropy = -(log_p.exp() * log_p).sum(-1).mean()
        return policy + 0.25 * ((value - target) ** 2).mean() - 0.01 * entropy

    compiled = torch.compile(loss)

    def step():
        optimizer.zero_grad(set_to_none=False)
        compiled().backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 0.5, foreach=True)
        optimizer.step()

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(5):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    print(f"PyTorch {torch.__version__}, the same in bf16, compiled and as a CUDA graph\t"
          f"{best_of(graph.replay, torch.cuda.synchronize):.4g}\tus\t")


def with_jax():
    import jax
    import jax.numpy as jnp

    if jax.default_backend() != "gpu":
        return
    key = jax.random.PRNGKey(0)
    sizes = [(OBSERVATION, WIDTH), (WIDTH, WIDTH), (WIDTH, WIDTH), (WIDTH, ACTIONS), (WIDTH, 1)]
    weights = [(jax.random.normal(key, s) * 0.05, jnp.zeros(s[1])) for s in sizes]
    zeros = jax.tree_util.tree_map(jnp.zeros_like, weights)
    x = jax.random.normal(key, (ROWS, OBSERVATION))
    action = jax.random.randint(key, (ROWS,), 0, ACTIONS)
    advantage, target = jax.random.normal(key, (ROWS,)), jax.random.normal(key, (ROWS,))

    def linear(p, h):
        return (h.astype(jnp.bfloat16) @ p[0].astype(jnp.bfloat16)).astype(jnp.float32) + p[1]

    def loss(w):
        h = x
        for p in w[:3]:
            h = jnp.tanh(linear(p, h))
        log_p, value = jax.nn.log_softmax(linear(w[3], h)), linear(w[4], h)[:, 0]
        a = (advantage - advantage.mean()) / (advantage.std(ddof=1) + 1e-8)
        ratio = jnp.exp(jnp.take_along_axis(log_p, action[:, None], 1)[:, 0] + 2.0794)
        policy = -jnp.minimum(ratio * a, jnp.clip(ratio, 0.8, 1.2) * a).mean()
        entropy = -(jnp.exp(log_p) * log_p).sum(-1).mean()
        return policy + 0.25 * ((value - target) ** 2).mean() - 0.01 * entropy

    @jax.jit
    def update(state):
        w, m, v, t = state
        g = jax.grad(loss)(w)
        norm = jnp.sqrt(sum(jnp.sum(i * i) for i in jax.tree_util.tree_leaves(g)))
        g = jax.tree_util.tree_map(lambda i: i * jnp.minimum(1, 0.5 / (norm + 1e-6)), g)
        t = t + 1
        m = jax.tree_util.tree_map(lambda a, b: 0.9 * a + 0.1 * b, m, g)
        v = jax.tree_util.tree_map(lambda a, b: 0.999 * a + 0.001 * b * b, v, g)
        w = jax.tree_util.tree_map(
            lambda a, b, c: a - 3e-4 * b / (1 - 0.9**t) / (jnp.sqrt(c / (1 - 0.999**t)) + 1e-8), w, m, v)
        return w, m, v, t

    state = [(weights, zeros, zeros, jnp.float32(0))]

    def step():
        state[0] = update(state[0])

    print(f"JAX {jax.__version__}, the same in bf16, jitted\t"
          f"{best_of(step, lambda: jax.block_until_ready(state[0])):.4g}\tus\t")


for peer in (with_torch, with_jax):
    try:
        peer()
    except ImportError:
        pass
