// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Saved in the middle of episodes and loaded elsewhere, a batch goes on as if nothing had been.

#include "rig.h"

enum { COUNT = 9 };
static rig r, s;

static char *save_all(const rig *from, size_t *out_size)
{
    const size_t each = corral_env_batch_state_size(from->batch);
    char *states = calloc(from->config.count, each);
    CU_ASSERT_PTR_NOT_NULL_FATAL(states);
    for (uint32_t i = 0; i < from->config.count; i++)
        corral_env_batch_save(from->batch, i, states + i * each);
    *out_size = each * from->config.count;
    return states;
}

static bool same_step(void)
{
    const size_t count = r.config.count;
    return same_bytes(r.observation, s.observation, count * sizeof *r.observation) &&
           same_bytes(r.reward, s.reward, count * sizeof *r.reward) &&
           same_bytes(r.terminated, s.terminated, count) && same_bytes(r.truncated, s.truncated, count) &&
           r.step.ended_count == s.step.ended_count &&
           same_bytes(r.ended, s.ended, r.step.ended_count * sizeof *r.ended) &&
           same_bytes(r.final, s.final, r.step.ended_count * sizeof *r.final);
}

static void goes_on_exactly(void)
{
    corral_env_batch_config config = rig_config("CartPole-v1", COUNT);
    config.max_episode_steps = 40;
    rig_open(&r, &config);
    for (uint64_t t = 0; t < 103; t++) {
        rig_draw_actions(&r, t);
        rig_step(&r);
    }
    size_t size;
    char *states = save_all(&r, &size);

    memset(&s, 0, sizeof s); // never reset: loading is enough
    s.config = config;
    rig_start(&s);
    CU_ASSERT_TRUE(corral_env_batch_state_exact(s.batch));
    memcpy(s.observation, r.observation, sizeof s.observation);
    TEST_OK(corral_env_batch_load(s.batch, states, size, &s.observation_rows));
    CU_ASSERT_TRUE(same_bytes(s.observation, r.observation, sizeof s.observation));
    uint32_t episodes = 0;
    for (uint64_t t = 103; t < 300; t++) {
        rig_draw_actions(&r, t);
        rig_draw_actions(&s, t);
        rig_step(&r);
        rig_step(&s);
        CU_ASSERT_TRUE_FATAL(same_step());
        episodes += r.step.ended_count;
    }
    CU_ASSERT_TRUE(episodes > COUNT);
    free(states);
    rig_close(&r);
    rig_close(&s);
}

/// Without the extension the next episode begins, the one that would have come next anyway.
static void begins_anew_without_the_extension(void)
{
    corral_env_batch_config config = rig_config(PLUGIN_DIR "/troubled.so:TroubledOne-v0", COUNT);
    config.max_episode_steps = 10;
    rig_open(&r, &config);
    for (int t = 0; t < 25; t++)
        rig_step(&r);
    size_t size;
    char *states = save_all(&r, &size);
    rig_open(&s, &config);
    CU_ASSERT_FALSE(corral_env_batch_state_exact(s.batch));
    TEST_OK(corral_env_batch_load(s.batch, states, size, &s.observation_rows));
    for (uint32_t i = 0; i < COUNT; i++) {
        CU_ASSERT_EQUAL(s.observation[i][0], (float)(rig_seed(&s, i, 3) & 0xffff));
        CU_ASSERT_EQUAL(s.observation[i][1], 0);
    }
    for (int t = 0; t < 10; t++)
        rig_step(&s);
    CU_ASSERT_EQUAL(s.step.ended_count, COUNT);
    CU_ASSERT_EQUAL(s.ended[0].number, 3);
    CU_ASSERT_EQUAL(s.ended[0].length, 10);
    free(states);
    rig_close(&r);
    rig_close(&s);
}

static void of_single_instances_too(void)
{
    const corral_env_batch_config config = rig_config(PLUGIN_DIR "/right.so:Right-v0", 3);
    rig_open(&r, &config);
    for (int t = 0; t < 7; t++)
        rig_step(&r);
    size_t size;
    char *states = save_all(&r, &size);
    rig_open(&s, &config);
    TEST_OK(corral_env_batch_load(s.batch, states, size, &s.observation_rows));
    for (int t = 0; t < 3; t++)
        rig_step(&s);
    CU_ASSERT_EQUAL(s.step.ended_count, 3);
    CU_ASSERT_EQUAL(s.ended[2].length, 10);
    free(states);
    rig_close(&r);
    rig_close(&s);
}

static void refuses_what_is_no_state(void)
{
    const corral_env_batch_config config = rig_config("CartPole-v1", COUNT);
    rig_open(&r, &config);
    size_t size;
    char *states = save_all(&r, &size);
    TEST_FAILS(corral_env_batch_load(r.batch, states, size - 1, &r.observation_rows), CORRAL_ERROR_CORRUPT,
               "saved states of");
    memset(states, 0xff, size);
    TEST_FAILS(corral_env_batch_load(r.batch, states, size, &r.observation_rows), CORRAL_ERROR_CORRUPT,
               "environment 0: the saved state is damaged");
    // Half loaded is not loaded.
    TEST_FAILS(corral_env_batch_step_all(r.batch, &r.action_rows, &r.step), CORRAL_ERROR_INVALID, "reset");
    free(states);
    rig_close(&r);
}

int main(void)
{
    return test_run("state",
                    (test_case[]){{"goes on exactly", goes_on_exactly},
                                  {"begins anew without the extension", begins_anew_without_the_extension},
                                  {"of single instances too", of_single_instances_too},
                                  {"refuses what is no state", refuses_what_is_no_state},
                                  {NULL, NULL}});
}
