// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// What environments say of themselves: as they stand and as an episode ended, also through wrappers and out
// of a process of their own.

#include "corral/base/rng.h"
#include "corral/envs/batch.h"
#include "corral/envs/registry.h"

#include "test.h"

#include <math.h>

enum { COUNT = 3, PIXELS = 42 * 42, STEPS = 600 };

static int32_t action[COUNT];
static uint8_t observation[COUNT][PIXELS], terminated[COUNT], truncated[COUNT], failed[COUNT];
static double reward[COUNT], ended_info[COUNT];
static corral_episode ended[COUNT];
static uint32_t ended_row[COUNT];
static const corral_env_rows action_rows = {action, sizeof action[0]},
                             observation_rows = {observation, PIXELS};

/// Bricks says how many are left. Each that breaks is worth 1, and a new wall comes when all are gone.
static void counts_bricks(const char *name)
{
    corral_env_batch_config config = {
        .count = COUNT, .run_seed = 5, .role = CORRAL_STREAM_ENVIRONMENT, .max_episode_steps = -1};
    TEST_OK(corral_env_find(name, &config.type));
    const corral_env_info *info = corral_env_extension(config.type, CORRAL_ENV_INFO);
    CU_ASSERT_PTR_NOT_NULL_FATAL(info);
    CU_ASSERT_EQUAL_FATAL(corral_env_info_count(config.type), 1);
    CU_ASSERT_STRING_EQUAL(info->name[0], "bricks_left");
    corral_env_batch *batch;
    TEST_OK(corral_env_batch_create(&config, &batch));
    TEST_OK(corral_env_batch_reset(batch, &observation_rows));
    corral_env_batch_step step = {.observation = &observation_rows,
                                  .reward = reward,
                                  .terminated = terminated,
                                  .truncated = truncated,
                                  .ended = ended,
                                  .ended_row = ended_row,
                                  .ended_info = ended_info,
                                  .failed = failed};
    double whole, left[COUNT], now[COUNT];
    corral_env_batch_info(batch, 0, &whole);
    for (uint32_t i = 0; i < COUNT; i++)
        left[i] = whole;
    uint32_t broken = 0, ends = 0;
    for (uint64_t t = 0; t < STEPS; t++) {
        for (uint32_t i = 0; i < COUNT; i++)
            action[i] = (int32_t)(corral_stream_u64(i, t) % 3);
        TEST_OK(corral_env_batch_step_all(batch, &action_rows, &step));
        for (uint32_t i = 0; i < COUNT; i++)
            corral_env_batch_info(batch, i, &now[i]);
        for (uint32_t k = 0; k < step.ended_count; k++, ends++) {
            const uint32_t row = ended_row[k];
            CU_ASSERT_EQUAL(ended_info[k], left[row] - reward[row]); // as it ended
            CU_ASSERT_EQUAL(now[row], whole);                        // and as the next one begins
            left[row] = whole;
            reward[row] = 0;
        }
        for (uint32_t i = 0; i < COUNT; i++) {
            CU_ASSERT_EQUAL(now[i], left[i] - reward[i]);
            broken += now[i] < left[i];
            left[i] = now[i];
        }
    }
    CU_ASSERT_TRUE(broken > 0 && ends > COUNT);
    corral_env_batch_destroy(batch);
}

static void bricks_are_counted(void)
{
    counts_bricks("Bricks-v0");
}

static void wrappers_pass_it_on(void)
{
    counts_bricks("Bricks-v0+frame_skip=2+time_limit=40");
}

static void it_comes_out_of_a_process(void)
{
    counts_bricks("Bricks-v0+process=5");
}

static void others_say_nothing(void)
{
    const corral_env_type *type;
    TEST_OK(corral_env_find("CartPole-v1", &type));
    CU_ASSERT_EQUAL(corral_env_info_count(type), 0);
    TEST_FAILS(corral_env_find(PLUGIN_DIR "/wrong_info.so:Right-v0", &type), CORRAL_ERROR_INVALID,
               "corral.info.name[0] must be 1 to 31 letters, digits, _ and -");
}

int main(void)
{
    return test_run("info", (test_case[]){
                                {"bricks are counted", bricks_are_counted},
                                {"wrappers pass it on", wrappers_pass_it_on},
                                {"it comes out of a process", it_comes_out_of_a_process},
                                {"others say nothing", others_say_nothing},
                                {NULL, NULL},
                            });
}
