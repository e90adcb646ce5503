// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A Gymnasium environment as its Python describes it.
#ifndef CORRAL_ENVS_GYM_TYPE_H
#define CORRAL_ENVS_GYM_TYPE_H

#include "python.h"

#include "corral/env.h"

#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

enum { GYM_IDLE_MAX = 4 };

typedef struct gym_type {
    corral_env_type type;                   // its functions and extensions are set by gym.c
    char *name;                             // as Python takes it: "ALE/Pong-v5"
    char *program;                          // the Python that described it, and plays it
    char id[128], summary[256], digest[32]; // of its spaces
    corral_space *leaves;                   // observation, then action
    corral_env_param *params;               // its own, then "timeout"
    bool has_mask, wide_seeds, has_pictures;
    corral_env_render render; // width 0: not asked yet
    // Python processes that wait for a batch, since one takes a third of a second to start.
    pthread_mutex_t lock;
    gym_python *idle[GYM_IDLE_MAX];
    uint32_t idle_count;
    pid_t idle_owner; // a fork of ours shall not talk to them
} gym_type;

/// Asks Python for `name`. The result is never freed: types live as long as the program.
CORRAL_MUST_USE corral_status gym_type_describe(const char *name, gym_type **out_type);
/// Asks for the size of its pictures, once. False where it cannot draw; the log says why.
bool gym_type_can_draw(gym_type *type);

/// An idle process, or a new one. [any thread]
CORRAL_MUST_USE corral_status gym_type_take(gym_type *type, gym_python **out_python);
/// Gives one back that waits for nothing. [any thread]
void gym_type_give(gym_type *type, gym_python *python);

/// Writes each line of a traceback to the log.
void gym_log_traceback(const char *name, const char *traceback);

#endif
