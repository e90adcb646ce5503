// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A minibatch spread over the learner's threads: lanes of rows in parallel, each in small blocks, one after
/// the other, into the lane's gradient. What algorithms share of an update.
#ifndef CORRAL_RLLIB_LANES_H
#define CORRAL_RLLIB_LANES_H

#include "corral/base/threads.h"
#include "corral/core/optim.h"

enum { LANES_BLOCK_ROWS = 64 }; // rows on a tape at a time; a multiple of CORRAL_LANE_ROWS

/// Learns from rows first .. first+count-1 of the minibatch, at most LANES_BLOCK_ROWS: adds their gradient to
/// `gradient`, and what is to be known of them to the caller's sums of this lane.
typedef corral_status lanes_block(void *context, size_t lane, unsigned thread, size_t first, size_t count,
                                  void *gradient);

/// Runs all lanes of `rows` rows, for corral_optimizer_step() with corral_lane_count(rows) lanes. The first
/// lane that fails says why; a lane ends with its first block that fails.
CORRAL_MUST_USE corral_status lanes_run(corral_team *team, corral_optimizer *optimizer, size_t rows,
                                        lanes_block *block, void *context);

#endif
