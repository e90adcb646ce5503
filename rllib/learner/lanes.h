// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A minibatch spread over the learner's threads: lanes of rows in parallel, each in small blocks, one after
/// the other, into the lane's gradient. Parts of a network that share no weight are learned apart, also in
/// parallel: a thread that keeps to one part finds its weights in its own cache. What algorithms share of an
/// update.
#ifndef CORRAL_RLLIB_LANES_H
#define CORRAL_RLLIB_LANES_H

#include "corral/base/threads.h"
#include "corral/core/optim.h"

#include <stdbool.h>

enum { LANES_BLOCK_ROWS = 64, LANES_PARTS = 2 }; // rows on a tape at a time; a multiple of CORRAL_LANE_ROWS

/// What a call is to learn: rows first .. first+count-1 of the minibatch, at most LANES_BLOCK_ROWS, which
/// belong to `lane`.
typedef struct lanes_block {
    size_t lane, part;
    size_t first, count;
    unsigned thread;
    void *gradient; // where to add that of the part
} lanes_block;

typedef corral_status lanes_learn(void *context, const lanes_block *block);

typedef struct lanes_plan {
    corral_team *team;
    corral_optimizer *optimizer;
    corral_span part[LANES_PARTS]; // of the weights
    size_t part_count;
    lanes_learn *learn;
    void (*beside)(void *context); // what one of the threads does meanwhile; may be NULL
    void *context;
    bool short_lanes; // two lanes from 32 rows on: for minibatches that are small beside their network
} lanes_plan;

/// How many lanes `rows` rows are cut into. It depends on that number alone.
size_t lanes_count(const lanes_plan *plan, size_t rows);

/// Runs all lanes of `rows` rows, for corral_optimizer_step() with lanes_count() lanes. The first
/// lane that fails says why; a lane ends with its first block that fails.
CORRAL_MUST_USE corral_status lanes_run(const lanes_plan *plan, size_t rows);

#endif
