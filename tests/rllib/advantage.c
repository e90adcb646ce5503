// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "test.h"

#include "corral/base/file.h"
#include "learner/advantage.h"

#include <cjson/cJSON.h>

enum { STEPS_MAX = 64 };

static double at(const cJSON *table, int t, int env)
{
    const cJSON *item = cJSON_GetArrayItem(cJSON_GetArrayItem(table, t), env);
    return cJSON_IsBool(item) ? cJSON_IsTrue(item) : item->valuedouble;
}

/// The reference's table of two environments, with a termination and a truncation in it.
static void matches_the_reference(void)
{
    char *text;
    size_t size;
    TEST_OK(corral_file_read(CORRAL_SOURCE_DIR "/tests/golden/algo_numerics.json", 1 << 20, &text, &size));
    cJSON *root = cJSON_ParseWithLength(text, size);
    const cJSON *gae = cJSON_GetObjectItem(cJSON_GetObjectItem(root, "cases"), "gae");
    CU_ASSERT_PTR_NOT_NULL_FATAL(gae);
    const struct {
        const char *column;
        double lambda;
    } checks[] = {{"adv", cJSON_GetObjectItem(gae, "lam")->valuedouble}, {"adv_lam0", 0}, {"adv_lam1", 1}};
    const int steps = cJSON_GetArraySize(cJSON_GetObjectItem(gae, "rewards"));
    CU_ASSERT_FATAL(steps > 0 && steps < STEPS_MAX);
    for (size_t c = 0; c < sizeof checks / sizeof checks[0]; c++) {
        for (int env = 0; env < 2; env++) {
            float reward[STEPS_MAX], value[STEPS_MAX], final[STEPS_MAX], advantage[STEPS_MAX],
                target[STEPS_MAX];
            uint8_t terminated[STEPS_MAX], truncated[STEPS_MAX];
            for (int t = 0; t < steps; t++) {
                reward[t] = (float)at(cJSON_GetObjectItem(gae, "rewards"), t, env);
                value[t] = (float)at(cJSON_GetObjectItem(gae, "values"), t, env);
                final[t] = (float)at(cJSON_GetObjectItem(gae, "final_value"), t, env);
                terminated[t] = at(cJSON_GetObjectItem(gae, "terminated"), t, env) != 0;
                truncated[t] = at(cJSON_GetObjectItem(gae, "truncated"), t, env) != 0;
            }
            value[steps] =
                (float)cJSON_GetArrayItem(cJSON_GetObjectItem(gae, "last_value"), env)->valuedouble;
            const advantage_input in = {
                .steps = (size_t)steps,
                .reward = reward,
                .value = value,
                .last_value = value[steps],
                .terminated = terminated,
                .truncated = truncated,
                .final_value = final,
                .gamma = cJSON_GetObjectItem(gae, "gamma")->valuedouble,
                .lambda = checks[c].lambda,
            };
            advantage_estimate(&in, advantage, target);
            for (int t = 0; t < steps; t++) {
                CU_ASSERT_DOUBLE_EQUAL(advantage[t], at(cJSON_GetObjectItem(gae, checks[c].column), t, env),
                                       1e-5);
                if (c == 0)
                    CU_ASSERT_DOUBLE_EQUAL(target[t], at(cJSON_GetObjectItem(gae, "returns"), t, env), 1e-5);
            }
        }
    }
    cJSON_Delete(root);
    free(text);
}

/// V is 10 everywhere; the next episode's first value is 1000 and must never be seen.
static float last_advantage(int terminated, int truncated)
{
    const float reward[3] = {1, 1, 1}, value[4] = {10, 10, 10, 1000}, final[3] = {0, 0, 10};
    const uint8_t ends[3] = {0, 0, (uint8_t)terminated}, cuts[3] = {0, 0, (uint8_t)truncated};
    const advantage_input in = {3, reward, value, value[3], ends, cuts, final, 0.9, 0.95};
    float advantage[3], target[3];
    advantage_estimate(&in, advantage, target);
    return advantage[2];
}

static void an_end_drops_the_future_and_a_limit_keeps_it(void)
{
    CU_ASSERT_DOUBLE_EQUAL(last_advantage(1, 0), 1 - 10, 1e-5);
    CU_ASSERT_DOUBLE_EQUAL(last_advantage(0, 1), 1 + 0.9 * 10 - 10, 1e-5);
    CU_ASSERT_DOUBLE_EQUAL(last_advantage(1, 1), 1 - 10,
                           1e-5); // a true end, although the limit struck as well
    CU_ASSERT_DOUBLE_EQUAL(last_advantage(0, 0), 1 + 0.9 * 1000 - 10, 1e-3);
}

static void no_trace_crosses_an_end(void)
{
    const float reward[4] = {0, 0, 50, 50}, value[5] = {0}, final[4] = {0};
    const uint8_t ends[4] = {0, 1, 0, 0}, cuts[4] = {0};
    const advantage_input in = {4, reward, value, value[4], ends, cuts, final, 1.0, 1.0};
    float advantage[4], target[4];
    advantage_estimate(&in, advantage, target);
    CU_ASSERT_EQUAL(advantage[0], 0);
    CU_ASSERT_EQUAL(advantage[1], 0);
    CU_ASSERT_EQUAL(advantage[2], 100);
}

int main(void)
{
    return test_run("advantage", (test_case[]){
                                     {"matches the reference", matches_the_reference},
                                     {"an end drops the future and a limit keeps it",
                                      an_end_drops_the_future_and_a_limit_keeps_it},
                                     {"no trace crosses an end", no_trace_crosses_an_end},
                                     {NULL, NULL},
                                 });
}
