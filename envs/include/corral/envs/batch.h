// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The host of `count` environments of one type: episodes, seeds, time limits, resets, state.
///
/// After a step that ends an episode the environment is reset at once: the observation row holds the first
/// observation of the next episode, and the last one of the old episode is handed out apart. So every step is
/// a transition, none is a reset, and N steps of n environments are N x n rows.
///
/// The k-th episode of environment e is seeded by the stream (run seed, role, e) at counter k, wherever and
/// whenever it is played.
#ifndef CORRAL_ENVS_BATCH_H
#define CORRAL_ENVS_BATCH_H

#include "corral/base/rng.h"
#include "corral/base/status.h"
#include "corral/env.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct corral_env_batch corral_env_batch;

typedef struct corral_env_batch_config {
    const corral_env_type *type;
    uint32_t count;
    uint32_t first_index; // number of environment 0 of this batch in the whole run
    uint64_t run_seed;
    corral_stream_role role;    // CORRAL_STREAM_ENVIRONMENT or CORRAL_STREAM_EVALUATION
    int64_t max_episode_steps;  // -1: the type's own limit; 0: none
    const double *param_values; // [type->param_count], or NULL for the defaults
    // NULL, or called inside a step for each row whose episode has ended, before the next one begins: the
    // last moment at which that row can be drawn and saved as it ended.
    void (*before_reset)(void *context, const corral_env_batch *batch, uint32_t row);
    void *before_reset_context;
} corral_env_batch_config;

/// One finished episode.
typedef struct corral_episode {
    double episode_return; // plain sum of the environment's own rewards, whatever wrappers make of them
    uint32_t length;       // steps
    uint32_t environment;  // number in the whole run
    uint64_t number;       // 0 for the environment's first one
    uint8_t terminated, truncated; // at least one is 1
} corral_episode;

/// What one step of the batch leaves. Arrays belong to the caller.
typedef struct corral_env_batch_step {
    const corral_env_rows *observation;       // per leaf: rows where the next observation goes
    const corral_env_rows *final_observation; // per leaf: row k gets the last observation of the k-th ended
                                              // episode; NULL: not wanted
    double *reward;                           // [count]
    uint8_t *terminated;                      // [count]
    uint8_t *truncated;                       // [count], by the environment or by the time limit
    corral_episode *ended; // [count]: the first `ended_count` are filled, in order of environment
    uint32_t *ended_row;   // [count]: for each of those, its row 0 .. count-1
    uint32_t ended_count;  // out
    uint8_t *failed; // [count] out: 1 where the environment failed (error, non-finite observation or reward);
                     // it was reset, its open episode is dropped, its row must not be trained on
    uint32_t failed_count; // out; the first failure's sentence is in corral_env_batch_failure()
    double *ended_info;    // [count][numbers of CORRAL_ENV_INFO], or NULL: for each of `ended`, what its
                           // environment said of itself at the end; NAN where that was no number
} corral_env_batch_step;

CORRAL_MUST_USE corral_status corral_env_batch_create(const corral_env_batch_config *config,
                                                      corral_env_batch **out_batch);
void corral_env_batch_destroy(corral_env_batch *batch);

/// Starts the next episode in every environment and writes the observations.
CORRAL_MUST_USE corral_status corral_env_batch_reset(corral_env_batch *batch,
                                                     const corral_env_rows *observation);

/// The same with the episode that each environment would play as its `number`-th: the very one, wherever it
/// was or will be played else.
CORRAL_MUST_USE corral_status corral_env_batch_reset_to(corral_env_batch *batch, uint64_t number,
                                                        const corral_env_rows *observation);

/// Steps all environments. Actions are checked against the space: one outside is CORRAL_ERROR_INVALID and
/// nothing is stepped. Before the first reset: CORRAL_ERROR_INVALID. A failed environment is no error of this
/// call.
CORRAL_MUST_USE corral_status corral_env_batch_step_all(corral_env_batch *batch,
                                                        const corral_env_rows *action,
                                                        corral_env_batch_step *step);

/// Names the environment, its seed, its step and what it said: "CartPole-v1: environment 3, seed 17, step 5:
/// ...".
const char *corral_env_batch_failure(const corral_env_batch *batch);

uint32_t corral_env_batch_count(const corral_env_batch *batch);
const corral_env_spaces *corral_env_batch_spaces(const corral_env_batch *batch);

/// Everything about one environment between two steps: episode number, steps and return so far, and the
/// environment's own state. Size is fixed per type; `exact` is false where the type has no state extension:
/// then only the counters are kept, and loading starts a new episode (the next number).
size_t corral_env_batch_state_size(const corral_env_batch *batch);
bool corral_env_batch_state_exact(const corral_env_batch *batch);
void corral_env_batch_save(const corral_env_batch *batch, uint32_t row, void *out_state);
/// Loads the states of all `count` environments (count x state size bytes) and writes what the caller needs
/// to go on: the current observations are taken from `current_observation` rows when the state is exact (the
/// caller saved them), else reset observations are written there.
CORRAL_MUST_USE corral_status corral_env_batch_load(corral_env_batch *batch, const void *states, size_t size,
                                                    const corral_env_rows *current_observation);

/// Of a type with the extension CORRAL_ENV_ACTION_MASK: the masks of all environments as they stand, one
/// after the other, corral_env_mask_bytes() each, 0 or 1. CORRAL_ERROR_ENVIRONMENT names one that allows
/// nothing.
CORRAL_MUST_USE corral_status corral_env_batch_masks(const corral_env_batch *batch, uint8_t *out_masks);
/// Of a type with the extension CORRAL_ENV_INFO: what an environment says of itself as it stands, one number
/// for each name; NAN where that is not finite.
void corral_env_batch_info(const corral_env_batch *batch, uint32_t row, double *out_values);
/// How many numbers that are; 0 without the extension.
uint32_t corral_env_info_count(const corral_env_type *type);
/// Bytes of an action mask: one for each choice.
size_t corral_env_mask_bytes(const corral_env_spaces *spaces);
/// Whether a mask allows something for each element.
bool corral_env_mask_possible(const corral_env_spaces *spaces, const uint8_t *mask);

/// The batch that draws and masks: the plug-in's own handle and index for one row, for extensions.
const void *corral_env_batch_handle(const corral_env_batch *batch, uint32_t row, uint32_t *out_index);

#ifdef __cplusplus
}
#endif
#endif
