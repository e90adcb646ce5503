# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The Corral authors
#
# Steps of many environments at once, as others do it:
#
#     vector.py subproc|sync|vector NAME COUNT SECONDS
#
# subproc is Stable-Baselines3's SubprocVecEnv, sync Gymnasium's SyncVectorEnv, vector the environment's own batch.

import json
import resource
import sys
import time

import gymnasium
import numpy as np


def make(kind, name, count):
    if kind == "subproc":
        from stable_baselines3.common.vec_env import SubprocVecEnv

        return SubprocVecEnv([lambda: gymnasium.make(name) for _ in range(count)])
    mode = {"sync": "sync", "vector": "vector_entry_point"}[kind]
    return gymnasium.make_vec(name, num_envs=count, vectorization_mode=mode)


def cpu_seconds():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def main():
    kind, name, count, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
    environments = make(kind, name, count)
    environments.reset()
    choices = getattr(environments, "single_action_space", environments.action_space).n
    actions = np.random.default_rng(1).integers(choices, size=(64, count))
    rounds, begun, used = 0, time.perf_counter(), cpu_seconds()
    while time.perf_counter() - begun < seconds:
        environments.step(actions[rounds % 64])
        rounds += 1
    took = time.perf_counter() - begun
    environments.close()  # then the children's time is known; it holds their start as well
    result = {"steps_per_second": rounds * count / took, "steps_per_cpu_second": rounds * count / (cpu_seconds() - used)}
    print(json.dumps({key: round(value) for key, value in result.items()}))


if __name__ == "__main__":
    main()
