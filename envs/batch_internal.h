// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What batch.c and batch_state.c share.
#ifndef CORRAL_ENVS_BATCH_INTERNAL_H
#define CORRAL_ENVS_BATCH_INTERNAL_H

#include "rules.h"
#include "wrap/wrap.h"

#include "corral/envs/batch.h"

struct corral_env_batch {
    const corral_env_type *type;
    uint32_t count;
    uint32_t first_index;
    uint32_t step_limit; // 0: none
    bool started;        // reset at least once

    void (*before_reset)(void *context, const corral_env_batch *batch, uint32_t row); // may be NULL
    void *before_reset_context;

    corral_rules rules;
    uint64_t *stream;                     // [count] key of the episode seeds
    uint64_t *begun;                      // [count] episodes begun; the open one is number begun - 1
    uint64_t *seed;                       // [count] of the open episode
    uint32_t *length;                     // [count] its steps so far
    const corral_env_plain_reward *plain; // NULL: rewards are as the rules gave them
    double *episode_return;               // [count] its rewards so far
    uint32_t info_count;                  // numbers of CORRAL_ENV_INFO; 0: it has none
    uint8_t *mask;                        // [count] which to reset
    uint8_t *failed;                      // [count] scratch of resets
    char failure[512];
};

/// Begins the next episode where batch->mask is 1 and writes the observations. An episode that cannot be
/// begun is skipped for the one after it, a few times. The mask is all 0 after success.
CORRAL_MUST_USE corral_status corral_env_batch_begin(corral_env_batch *batch,
                                                     const corral_env_rows *observation);

#endif
