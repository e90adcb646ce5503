// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// state.json of a checkpoint: what a run needs besides weights and optimizer to go on as if it had not
/// stopped.
///
/// Nothing in it depends on hosts, time or workers, so that two runs of one seed have the same file.
#ifndef CORRAL_RLLIB_STATE_H
#define CORRAL_RLLIB_STATE_H

#include "corral/base/config.h"
#include "corral/base/status.h"
#include "corral/rllib/config.h"

#include <stdbool.h>

enum { STATE_WINDOW = 100 }; // training episodes that means are taken over

typedef struct train_state {
    uint64_t iteration; // finished ones
    uint64_t env_steps;
    uint64_t step; // of each environment
    uint64_t policy_version;
    uint64_t updates; // minibatches
    uint64_t bad_updates, bad_in_a_row;
    uint64_t episodes_total, failures_total;
    uint64_t evaluations;
    uint64_t streak; // evaluations in a row at the goal
    uint64_t eval_step, best_step;
    uint64_t pending_iteration; // at which a result that is known or being played counts; 0: none
    uint64_t pending_step;
    uint64_t infinite_kl; // rows in minibatches whose divergence was infinite
    double kl_key;        // ppo.kl_coefficient when kl_coefficient started from it
    double kl_coefficient;
    double eval_mean, eval_std, eval_length, best_mean;
    double pending_mean, pending_std, pending_length;
    uint32_t window_count, window_next; // ring of the last episodes
    double window_return[STATE_WINDOW];
    uint32_t window_length[STATE_WINDOW];
} train_state;

/// The environments' saved states and observations, in order of environment, and their running discounted
/// returns (count 0: not kept). Owned by whoever reads them.
typedef struct train_state_environments {
    unsigned char *states, *observations;
    size_t state_size, observation_size;
    double *returns;
    size_t return_count;
    bool exact;
} train_state_environments;

/// Frees what reading allocated.
void train_state_environments_finish(train_state_environments *environments);

CORRAL_MUST_USE corral_status train_state_write(const char *path, const train_state *state,
                                                const corral_train_config *config, const char *env_id,
                                                const train_state_environments *environments);
/// `out_environments` may be NULL; else the caller ends it with train_state_environments_finish().
CORRAL_MUST_USE corral_status train_state_read(const char *path, train_state *out_state,
                                               train_state_environments *out_environments);

#endif
