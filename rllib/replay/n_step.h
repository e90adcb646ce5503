// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Single steps in, transitions over n steps out.
///
/// From the steps t, t+1, ... of an environment come transitions (s_t, a_t, R, d, s_t+k) to learn
/// Q(s_t, a_t) = R + d max Q(s_t+k) from, where
///
///     R = r_t + gamma r_t+1 + ... + gamma^(k-1) r_t+k-1        d = gamma^k, or 0 where the episode ended
///
/// k is n, but less for the last steps of an episode: all of them are kept, each with a horizon of its own. A
/// time limit ends the sum but not the worth: d stays gamma^k, and s_t+k is the episode's own last
/// observation.
#ifndef CORRAL_RLLIB_N_STEP_H
#define CORRAL_RLLIB_N_STEP_H

#include "corral/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// One step of one environment.
typedef struct replay_step {
    const float *observation; // [observation_size] acted on
    int32_t action;
    float reward;
    bool terminated, truncated;
    const float *next; // [observation_size] after the step: the episode's last where it ended
} replay_step;

typedef struct replay_transition {
    const float *observation, *next; // [observation_size]
    int32_t action;
    float reward;   // R
    float discount; // d
} replay_transition;

/// The steps of each environment that have not yet seen their n-th successor.
typedef struct n_step {
    uint32_t envs, n, observation_size;
    double gamma;
    uint32_t *count;    // [envs] steps that wait, the oldest first
    float *observation; // [envs, n, observation_size]
    int32_t *action;    // [envs, n]
    float *reward;      // [envs, n]
    float *next;        // [envs, observation_size] after the newest step
} n_step;

size_t n_step_bytes(uint32_t envs, uint32_t n, uint32_t observation_size);
CORRAL_MUST_USE corral_status n_step_init(n_step *s, uint32_t envs, uint32_t n, uint32_t observation_size,
                                          double gamma);
void n_step_finish(n_step *s);

/// Adds the next step of an environment and calls `emit` for each transition that it completes, the oldest
/// first; what a transition points to is good during that call. Steps that wait are forgotten where this one
/// does not go on from them.
void n_step_push(n_step *s, uint32_t environment, const replay_step *step,
                 void (*emit)(void *context, const replay_transition *transition), void *context);

/// Forgets what waits: the episode failed.
void n_step_forget(n_step *s, uint32_t environment);

#endif
