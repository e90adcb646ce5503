// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What replay.c and replay_file.c share.
#ifndef CORRAL_RLLIB_REPLAY_INTERNAL_H
#define CORRAL_RLLIB_REPLAY_INTERNAL_H

#include "replay.h"
#include "sum_tree.h"

struct replay {
    replay_config config;
    n_step waiting;
    size_t count, place;       // rows there are; where the next one goes
    float *observation, *next; // [capacity, observation_size]
    int32_t *action;           // [capacity]
    float *reward, *discount;
    sum_tree priority;    // of the rows; only where they are not all alike
    double largest_error; // what a new row is taken to have
};

#endif
