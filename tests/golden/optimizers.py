# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The Corral authors
#
# Writes optimizers.json: five steps of PyTorch's optimizers, in f64. TensorFlow's form of RMSprop is written out here,
# since PyTorch has none.   python3 tests/golden/optimizers.py >tests/golden/optimizers.json
import json
import torch

torch.set_default_dtype(torch.float64)
START = [0.5, -1.25, 2.0, -0.01, 0.0, 3.5]
GRADIENTS = [[0.3 * (i + 1) * (-1) ** (i + t) / (t + 1) + 0.05 * t for i in range(6)] for t in range(5)]
GRADIENTS[2] = [g * 1e-3 for g in GRADIENTS[2]]
RATE = 0.05


def run(make, clip_norm=None, clip_value=None):
    w = torch.nn.Parameter(torch.tensor(START))
    optimizer = make([w])
    steps = []
    for gradient in GRADIENTS:
        w.grad = torch.tensor(gradient)
        if clip_value is not None:
            torch.nn.utils.clip_grad_value_([w], clip_value)
        if clip_norm is not None:
            torch.nn.utils.clip_grad_norm_([w], clip_norm)
        optimizer.step()
        steps.append(w.tolist())
    return {"weights": steps}


class TensorFlowRMSprop:
    def __init__(self, params, lr, alpha, eps, momentum, centered):
        self.w, self.lr, self.alpha, self.eps = params[0], lr, alpha, eps
        self.momentum, self.centered = momentum, centered
        self.square, self.mean, self.velocity = (torch.ones(6), torch.zeros(6), torch.zeros(6))

    def step(self):
        g = self.w.grad
        self.square = self.alpha * self.square + (1 - self.alpha) * g * g
        self.mean = self.alpha * self.mean + (1 - self.alpha) * g
        variance = self.square - self.mean**2 if self.centered else self.square
        self.velocity = self.momentum * self.velocity + self.lr * g / torch.sqrt(variance + self.eps)
        self.w.data -= self.velocity


O = torch.optim
cases = {
    "torch": {"version": [float(x) for x in torch.__version__.split("+")[0].split(".")[:2]]},
    "inputs": {"start": START, "gradients": GRADIENTS},
    "sgd": run(lambda p: O.SGD(p, lr=RATE)),
    "momentum": run(lambda p: O.SGD(p, lr=RATE, momentum=0.9, weight_decay=0.1)),
    "nesterov": run(lambda p: O.SGD(p, lr=RATE, momentum=0.9, nesterov=True)),
    "adam": run(lambda p: O.Adam(p, lr=RATE, weight_decay=0.1)),
    "amsgrad": run(lambda p: O.Adam(p, lr=RATE, betas=(0.8, 0.9), amsgrad=True)),
    "adamw": run(lambda p: O.AdamW(p, lr=RATE, weight_decay=0.1, amsgrad=True)),
    "rmsprop": run(lambda p: O.RMSprop(p, lr=RATE, alpha=0.9, eps=1e-5)),
    "centered": run(lambda p: O.RMSprop(p, lr=RATE, alpha=0.9, eps=1e-5, centered=True, momentum=0.5)),
    "tensorflow": run(lambda p: TensorFlowRMSprop(p, RATE, 0.9, 1e-5, 0.5, False)),
    "tensorflow_centered": run(lambda p: TensorFlowRMSprop(p, RATE, 0.9, 1e-5, 0.0, True)),
    "clip_norm": run(lambda p: O.SGD(p, lr=RATE), clip_norm=0.4),
    "clip_value": run(lambda p: O.SGD(p, lr=RATE), clip_value=0.25),
    "clip_both": run(lambda p: O.SGD(p, lr=RATE), clip_value=0.25, clip_norm=0.4),
}
print(json.dumps(cases, indent=0))
