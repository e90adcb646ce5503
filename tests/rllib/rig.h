// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Six environments of CartPole with a policy, played in slices: what tests of rollouts and of updates share.
#ifndef CORRAL_TEST_RIG_H
#define CORRAL_TEST_RIG_H

#include "test.h"

#include "learner/batch.h"
#include "ppo/ppo.h"
#include "rollout/rollout.h"

enum { ENVS = 6, STEPS = 40 };

typedef struct rig {
    environment_setup setup;
    rollout_config config;
    corral_policy_config policy_config;
    corral_policy *policy;
    corral_train_config train;
} rig;

static inline void rig_init(rig *r, int64_t max_episode_steps)
{
    memset(r, 0, sizeof *r);
    r->train = corral_train_config_default();
    strcpy(r->train.env, "CartPole-v1");
    r->train.ppo.steps = STEPS;
    r->train.seed = 4;
    r->train.max_episode_steps = max_episode_steps;
    TEST_OK(environment_setup_init(&r->setup, r->train.env, NULL));
    r->policy_config.observation_size = r->setup.spaces.observation_size;
    r->policy_config.action_count = r->setup.spaces.action_count;
    r->policy_config.hidden = (corral_sizes){2, {32, 32}};
    r->policy_config.activation = CORRAL_TANH;
    r->policy_config.normalize_observation = true;
    r->policy_config.observation_clip = 10;
    TEST_OK(corral_policy_create(&r->policy_config, 4, &r->policy));
    TEST_OK(rollout_config_init(&r->config, &r->train, &r->setup, &r->policy_config));
}

static inline void rig_finish(rig *r)
{
    corral_policy_destroy(r->policy);
}

/// Plays `rounds` rounds with the environments cut into `parts` slices, and puts the last one into `b`.
static inline void play(rig *r, uint32_t parts, int rounds, batch *b)
{
    rollout_slice *slices[ENVS];
    void *blocks[ENVS];
    corral_fragment fragments[ENVS];
    for (uint32_t i = 0; i < parts; i++) {
        const uint32_t begin = ENVS * i / parts, end = ENVS * (i + 1) / parts;
        TEST_OK(rollout_slice_create(&r->config, &r->setup, begin, end - begin, &slices[i]));
        blocks[i] = aligned_alloc(64, (rollout_slice_layout(slices[i])->capacity + 63) / 64 * 64);
        CU_ASSERT_PTR_NOT_NULL_FATAL(blocks[i]);
    }
    for (int k = 0; k < rounds; k++) {
        for (uint32_t i = 0; i < parts; i++) {
            const rollout_request request = {.env_count = 1, .first_step = (uint64_t)k * STEPS};
            const corral_fragment_layout *layout = rollout_slice_layout(slices[i]);
            size_t length;
            TEST_OK(rollout_slice_seek(slices[i], &request, NULL));
            TEST_OK(
                rollout_slice_collect(slices[i], r->policy, i, NULL, blocks[i], layout->capacity, &length));
            TEST_OK(corral_fragment_open(layout, blocks[i], length, &fragments[i]));
        }
    }
    TEST_OK(batch_gather(b, fragments, parts, r->policy));
    batch_estimate(b, 0.99, 0.95);
    for (uint32_t i = 0; i < parts; i++) {
        rollout_slice_destroy(slices[i]);
        free(blocks[i]);
    }
}

#endif
