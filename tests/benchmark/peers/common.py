# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The Corral authors
"""What the peers share: their flags, how speed is measured, and when learning counts as done.

    PEER.py speed --threads N --seconds S     prints {"steps_per_second": ...}
    PEER.py learn --threads N --seed S        prints {"steps": ..., "seconds": ..., "reached": ...}

Learning is done at the first evaluation (20 episodes, the most probable action) that reaches the goal. Its
seconds hold the evaluations, as Corral's do.
"""
import argparse
import json
import time

WARM_UP_SECONDS = 2.0
GOAL = 475.0
EVALUATE_EVERY = 5120
EVALUATION_EPISODES = 20


def read_flags():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["speed", "learn"])
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


class SpeedMeter:
    """Told of every finished iteration; ignores the warm-up, then measures whole iterations."""

    def __init__(self, seconds):
        self.seconds = seconds
        self.created = time.perf_counter()
        self.start = None

    def finished(self, steps):
        now = time.perf_counter()
        if self.start is None:
            if now - self.created >= WARM_UP_SECONDS:
                self.start, self.start_steps = now, steps
            return False
        if now - self.start < self.seconds:
            return False
        print(json.dumps({"steps_per_second": (steps - self.start_steps) / (now - self.start)}))
        return True


class GoalMeter:
    """Told of every finished iteration; evaluates now and then until the goal or the budget is reached."""

    def __init__(self, budget, evaluate):
        self.budget = budget
        self.evaluate = evaluate
        self.start = time.perf_counter()

    def finished(self, steps):
        if steps == 0:
            return False
        is_last = steps >= self.budget
        reached = (is_last or steps % EVALUATE_EVERY == 0) and bool(self.evaluate() >= GOAL)
        if not reached and not is_last:
            return False
        seconds = time.perf_counter() - self.start
        print(json.dumps({"steps": steps, "seconds": seconds, "reached": reached}))
        return True
