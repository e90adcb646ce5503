// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A batch with all the arrays that a step needs, for types with a short float observation and a discrete
/// action.
#ifndef CORRAL_TEST_RIG_H
#define CORRAL_TEST_RIG_H

#include "bits.h"

#include "corral/envs/batch.h"
#include "corral/envs/registry.h"

#include "test.h"

enum { RIG_MAX = 100, RIG_WIDTH = 4 };

typedef struct rig {
    corral_env_batch_config config;
    corral_env_batch *batch;
    int32_t action[RIG_MAX];
    float observation[RIG_MAX][RIG_WIDTH], final[RIG_MAX][RIG_WIDTH];
    double reward[RIG_MAX];
    uint8_t terminated[RIG_MAX], truncated[RIG_MAX], failed[RIG_MAX];
    corral_episode ended[RIG_MAX];
    uint32_t ended_row[RIG_MAX];
    corral_env_rows action_rows, observation_rows, final_rows;
    corral_env_batch_step step;
} rig;

/// Points the step at the arrays.
static inline void rig_wire(rig *r)
{
    r->action_rows = (corral_env_rows){r->action, sizeof r->action[0]};
    r->observation_rows = (corral_env_rows){r->observation, sizeof r->observation[0]};
    r->final_rows = (corral_env_rows){r->final, sizeof r->final[0]};
    r->step = (corral_env_batch_step){
        .observation = &r->observation_rows,
        .final_observation = &r->final_rows,
        .reward = r->reward,
        .terminated = r->terminated,
        .truncated = r->truncated,
        .ended = r->ended,
        .ended_row = r->ended_row,
        .failed = r->failed,
    };
}

/// Made from r->config, not yet reset.
static inline void rig_start(rig *r)
{
    rig_wire(r);
    TEST_OK(corral_env_batch_create(&r->config, &r->batch));
}

static inline corral_env_batch_config rig_config(const char *name, uint32_t count)
{
    corral_env_batch_config config = {
        .count = count, .run_seed = 11, .role = CORRAL_STREAM_ENVIRONMENT, .max_episode_steps = -1};
    TEST_OK(corral_env_find(name, &config.type));
    return config;
}

/// Opened and reset.
static inline void rig_open(rig *r, const corral_env_batch_config *config)
{
    memset(r, 0, sizeof *r);
    r->config = *config;
    rig_start(r);
    TEST_OK(corral_env_batch_reset(r->batch, &r->observation_rows));
}

static inline void rig_close(rig *r)
{
    corral_env_batch_destroy(r->batch);
    r->batch = NULL;
}

static inline void rig_step(rig *r)
{
    TEST_OK(corral_env_batch_step_all(r->batch, &r->action_rows, &r->step));
}

/// Actions that differ by environment and step, and are the same in every run of the test.
static inline void rig_draw_actions(rig *r, uint64_t step)
{
    for (uint32_t i = 0; i < r->config.count; i++)
        r->action[i] = (int32_t)(corral_stream_u64(r->config.first_index + i, step) & 1);
}

/// The seed of the episode that environment `index` plays as its `number`-th.
static inline uint64_t rig_seed(const rig *r, uint64_t index, uint64_t number)
{
    return corral_stream_u64(corral_stream_key(r->config.run_seed, r->config.role, index), number);
}

#endif
