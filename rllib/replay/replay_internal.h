// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What replay.c and replay_file.c share.
#ifndef CORRAL_RLLIB_REPLAY_INTERNAL_H
#define CORRAL_RLLIB_REPLAY_INTERNAL_H

#include "replay.h"
#include "sum_tree.h"

enum {
    ROW_TERMINATED = 1, // the episode ended with this step
    ROW_TRUNCATED = 2,  // or was cut off after it
    ROW_READY = 4,      // can be drawn
};

/// What is kept of a row besides its observation.
typedef struct replay_note {
    int32_t action;
    float reward;
    uint32_t flags;
} replay_note;

/// Where one environment stands in its ring. Its newest row holds no step yet, only the observation that the
/// newest step led to.
typedef struct replay_ring {
    uint32_t newest;  // place of that row
    uint32_t used;    // rows that hold something; 0: none yet
    uint32_t waiting; // steps right before the newest row that cannot be drawn yet
    uint32_t closed;  // 1: the newest row is the last of its episode, and the next step begins another
} replay_ring;

struct replay {
    replay_config config;
    uint32_t ring_rows;   // rows of each ring
    uint32_t most_used;   // of the rings, rows that hold something
    replay_ring *ring;    // [envs]
    char *observation;    // [envs, ring_rows, observation_bytes]
    replay_note *note;    // [envs, ring_rows]
    size_t count;         // rows that can be drawn
    sum_tree priority;    // of the rows, 0 where they cannot be drawn; only where they are not all alike
    double largest_error; // what a new row is taken to have
    double new_priority;  // largest_error^alpha
    rate_limiter limiter;
};

void replay_set_largest_error(replay *r, double error);

#endif
