// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// A failure stays with its environment: it is told, its episode is dropped, it begins anew, and the others go
// on as if nothing had been. The environments of plugins/troubled.c fail when told to.

#include "rig.h"

enum { FINE, SAYS_ERROR, NAN_OBSERVATION, INFINITE_REWARD, FAILS_SILENTLY, ENDS, CUTS_OFF };
enum { COUNT = 5 };

static const char *const both[] = {PLUGIN_DIR "/troubled.so:TroubledOne-v0",
                                   PLUGIN_DIR "/troubled.so:TroubledMany-v0"};
static rig r;

static void steps_quietly(int32_t times)
{
    memset(r.action, 0, sizeof r.action);
    for (int32_t t = 0; t < times; t++)
        rig_step(&r);
}

static void one_failure(const char *name, int32_t what, const char *said)
{
    corral_env_batch_config config = rig_config(name, COUNT);
    config.first_index = 20;
    rig_open(&r, &config);
    steps_quietly(4);
    r.action[2] = what;
    rig_step(&r);

    CU_ASSERT_EQUAL(r.step.failed_count, 1);
    CU_ASSERT_EQUAL(r.step.ended_count, 0);
    char want[160];
    snprintf(want, sizeof want, "%s: environment 22, seed %llu, step 4: %s", config.type->id,
             (unsigned long long)rig_seed(&r, 22, 0), said);
    CU_ASSERT_STRING_EQUAL(corral_env_batch_failure(r.batch), want);
    for (uint32_t i = 0; i < COUNT; i++) {
        CU_ASSERT_EQUAL(r.failed[i], i == 2);
        CU_ASSERT_EQUAL(r.reward[i], i == 2 ? 0 : 0.5);
        CU_ASSERT_TRUE(r.terminated[i] == 0 && r.truncated[i] == 0);
        CU_ASSERT_EQUAL(r.observation[i][0], (float)(rig_seed(&r, 20 + i, i == 2) & 0xffff));
        CU_ASSERT_EQUAL(r.observation[i][1], i == 2 ? 0 : 5);
    }
    // The dropped episode is counted nowhere; the next one is whole.
    steps_quietly(2);
    CU_ASSERT_STRING_EQUAL(corral_env_batch_failure(r.batch), "");
    CU_ASSERT_EQUAL(r.step.failed_count, 0);
    for (uint32_t i = 0; i < COUNT; i++)
        r.action[i] = ENDS;
    rig_step(&r);
    CU_ASSERT_EQUAL(r.step.ended_count, COUNT);
    for (uint32_t i = 0; i < COUNT; i++) {
        CU_ASSERT_EQUAL(r.ended[i].length, i == 2 ? 3 : 8);
        CU_ASSERT_EQUAL(r.ended[i].episode_return, i == 2 ? 1.5 : 4);
        CU_ASSERT_EQUAL(r.ended[i].number, i == 2);
        CU_ASSERT_EQUAL(r.terminated[i], 1);
    }
    rig_close(&r);
}

static void each_kind_of_failure(void)
{
    for (int k = 0; k < 2; k++) {
        one_failure(both[k], SAYS_ERROR, "the motor burnt out");
        one_failure(both[k], NAN_OBSERVATION, "the observation is not finite");
        one_failure(both[k], INFINITE_REWARD, "the reward is inf");
        one_failure(both[k], FAILS_SILENTLY, "it failed and gave no reason");
    }
}

static void the_first_of_several_is_told(void)
{
    const corral_env_batch_config config = rig_config(both[0], COUNT);
    rig_open(&r, &config);
    r.action[1] = SAYS_ERROR, r.action[3] = NAN_OBSERVATION, r.action[4] = ENDS;
    rig_step(&r);
    CU_ASSERT_EQUAL(r.step.failed_count, 2);
    CU_ASSERT_EQUAL(r.step.ended_count, 1);
    CU_ASSERT_EQUAL(r.ended_row[0], 4);
    CU_ASSERT_PTR_NOT_NULL(strstr(corral_env_batch_failure(r.batch), "environment 1, "));
    CU_ASSERT_PTR_NOT_NULL(strstr(corral_env_batch_failure(r.batch), "the motor burnt out"));
    rig_close(&r);
}

/// An error of the whole batch drops every episode.
static void a_whole_batch_fails(void)
{
    const corral_env_batch_config config = rig_config(both[1], COUNT);
    rig_open(&r, &config);
    r.action[0] = SAYS_ERROR;
    rig_step(&r);
    CU_ASSERT_EQUAL(r.step.failed_count, COUNT);
    for (uint32_t i = 0; i < COUNT; i++)
        CU_ASSERT_EQUAL(r.observation[i][0], (float)(rig_seed(&r, i, 1) & 0xffff));
    rig_close(&r);
}

static void the_environment_may_cut_off(void)
{
    const corral_env_batch_config config = rig_config(both[0], COUNT);
    rig_open(&r, &config);
    r.action[2] = CUTS_OFF;
    rig_step(&r);
    CU_ASSERT_EQUAL(r.step.ended_count, 1);
    CU_ASSERT_TRUE(r.ended[0].truncated == 1 && r.ended[0].terminated == 0);
    CU_ASSERT_EQUAL(r.final[0][1], 1);
    rig_close(&r);
}

/// A seed at which reset fails is skipped; the episode after it is played.
static void skips_episodes_that_cannot_begin(void)
{
    corral_env_batch_config config = rig_config(both[0], COUNT);
    const double odd_seeds_fail[] = {1, 0};
    config.param_values = odd_seeds_fail;
    rig_open(&r, &config);
    for (uint32_t i = 0; i < COUNT; i++) {
        uint64_t number = 0;
        while (rig_seed(&r, i, number) % 2 == 1)
            number++;
        CU_ASSERT_EQUAL(r.observation[i][0], (float)(rig_seed(&r, i, number) & 0xffff));
        r.action[i] = ENDS;
    }
    rig_step(&r);
    CU_ASSERT_EQUAL(r.step.ended_count, COUNT);
    CU_ASSERT_EQUAL(r.step.failed_count, 0);
    rig_close(&r);
}

static void gives_up_when_none_can_begin(void)
{
    corral_env_batch_config config = rig_config(both[0], COUNT);
    const double all_fail[] = {2, 0}, refuse[] = {0, 1};
    config.param_values = all_fail;
    memset(&r, 0, sizeof r);
    r.config = config;
    rig_start(&r);
    TEST_FAILS(corral_env_batch_reset(r.batch, &r.observation_rows), CORRAL_ERROR_ENVIRONMENT,
               "reset: odd seed");
    CU_ASSERT_PTR_NOT_NULL(strstr(corral_last_error(), "environment 0, seed "));
    CU_ASSERT_EQUAL(corral_env_batch_step_all(r.batch, &r.action_rows, &r.step), CORRAL_ERROR_INVALID);
    rig_close(&r);

    for (int k = 0; k < 2; k++) {
        config = rig_config(both[k], COUNT);
        config.param_values = refuse;
        TEST_FAILS(corral_env_batch_create(&config, &r.batch), CORRAL_ERROR_ENVIRONMENT,
                   "cannot be created: asked not to be created");
    }
}

int main(void)
{
    return test_run("failures",
                    (test_case[]){{"each kind of failure", each_kind_of_failure},
                                  {"the first of several is told", the_first_of_several_is_told},
                                  {"a whole batch fails", a_whole_batch_fails},
                                  {"the environment may cut off", the_environment_may_cut_off},
                                  {"skips episodes that cannot begin", skips_episodes_that_cannot_begin},
                                  {"gives up when none can begin", gives_up_when_none_can_begin},
                                  {NULL, NULL}});
}
