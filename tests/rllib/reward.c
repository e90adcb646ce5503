// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Reward normalisation: Gymnasium's numbers, and where we leave it on purpose.
#include "test.h"

#include "learner/reward.h"

#include "corral/base/file.h"

#include <cjson/cJSON.h>

static const corral_policy_config policy = {.observation_size = 1, .action_count = 2};

/// A batch of these rewards, all of them usable.
static void make_batch(batch *b, uint32_t envs, uint32_t steps, const float *reward)
{
    TEST_OK(batch_init(b, envs, steps, &policy));
    memcpy(b->reward, reward, b->rows * sizeof *reward);
    for (size_t row = 0; row < b->rows; row++)
        b->usable[b->usable_count++] = (uint32_t)row;
}

static void equals_gymnasium(void)
{
    char *text;
    size_t size;
    TEST_OK(corral_file_read(CORRAL_SOURCE_DIR "/tests/golden/normalize_reward.json", 1 << 20, &text, &size));
    cJSON *root = cJSON_ParseWithLength(text, size);
    const cJSON *terminated = cJSON_GetObjectItem(root, "terminated")->child;
    const cJSON *reward = cJSON_GetObjectItem(root, "reward")->child;
    const double gamma = cJSON_GetObjectItem(root, "gamma")->valuedouble;
    // Where Gymnasium's statistics start, a step at a time as they are updated there.
    corral_moments moments = {.count = 1e-4, .m2 = 1e-4};
    double running = 0;
    int steps = 0, ends = 0;
    for (; reward != NULL; reward = reward->next, terminated = terminated->next, steps++) {
        batch b;
        make_batch(&b, 1, 1, (const float[]){1});
        b.terminated[0] = cJSON_IsTrue(terminated);
        ends += b.terminated[0];
        reward_measure(&b, gamma, &running, &moments);
        reward_transform(&b, &moments, 0);
        CU_ASSERT_DOUBLE_EQUAL(b.reward[0] / reward->valuedouble, 1, 1e-6); // ours is stored as f32
        batch_finish(&b);
    }
    CU_ASSERT_TRUE(steps == 60 && ends == 2);
    const cJSON *last = cJSON_GetObjectItem(root, "final_rms");
    CU_ASSERT_DOUBLE_EQUAL(moments.mean, cJSON_GetObjectItem(last, "mean")->valuedouble, 1e-10);
    CU_ASSERT_DOUBLE_EQUAL(moments.m2 / moments.count, cJSON_GetObjectItem(last, "var")->valuedouble, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(moments.count, cJSON_GetObjectItem(last, "count")->valuedouble, 1e-9);
    cJSON_Delete(root);
    free(text);
}

static void either_end_drops_the_past(void)
{
    for (int kind = 0; kind < 2; kind++) {
        batch b;
        make_batch(&b, 1, 4, (const float[]){1, 2, 4, 8});
        (kind == 0 ? b.terminated : b.truncated)[1] = 1;
        double running = 16;
        corral_moments moments = {0};
        reward_measure(&b, 0.5, &running, &moments);
        // 1 + 8, 2 (it ends), 4 + 1, 8 + 2.5
        CU_ASSERT_EQUAL(running, 10.5);
        CU_ASSERT_EQUAL(moments.count, 4);
        CU_ASSERT_DOUBLE_EQUAL(moments.mean, (9 + 2 + 5 + 10.5) / 4, 1e-12);
        batch_finish(&b);
    }
}

static void each_environment_has_its_own_return(void)
{
    batch whole, parts;
    const float reward[6] = {1, 2, 3, 10, 20, 30};
    make_batch(&whole, 2, 3, reward);
    corral_moments together = {0};
    double returns[2] = {0};
    reward_measure(&whole, 0.9, returns, &together);
    for (uint32_t e = 0; e < 2; e++) {
        corral_moments alone = {0};
        double running = 0;
        make_batch(&parts, 1, 3, reward + 3 * e);
        reward_measure(&parts, 0.9, &running, &alone);
        CU_ASSERT_EQUAL(running, returns[e]);
        batch_finish(&parts);
    }
    batch_finish(&whole);
}

static void failed_rows_are_not_measured(void)
{
    batch b;
    make_batch(&b, 1, 4, (const float[]){1, NAN, 1e30f, 2});
    b.usable[1] = 3; // rows 0 and 3
    b.usable_count = 2;
    double running = 0;
    corral_moments moments = {0};
    reward_measure(&b, 0.9, &running, &moments);
    CU_ASSERT_EQUAL(running, 2); // the failed episode is over
    CU_ASSERT_EQUAL(moments.count, 2);
    CU_ASSERT_EQUAL(moments.mean, 1.5);
    batch_finish(&b);
}

static void rewards_are_scaled_and_then_bounded(void)
{
    const float reward[4] = {-300, 30, 0, 3};
    const corral_moments moments = {.count = 50, .mean = 1000, .m2 = 50 * 9.0};
    const struct {
        const corral_moments *moments;
        double clip;
        float expected[4];
    } cases[] = {
        {&moments, 0, {-100, 10, 0, 1}},
        {&moments, 10, {-10, 10, 0, 1}},
        {NULL, 10, {-10, 10, 0, 3}},
        {&(corral_moments){0}, 0, {-300, 30, 0, 3}}, // before anything was measured
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        batch b;
        make_batch(&b, 1, 4, reward);
        reward_transform(&b, cases[i].moments, cases[i].clip);
        for (size_t row = 0; row < 4; row++)
            CU_ASSERT_DOUBLE_EQUAL(b.reward[row], cases[i].expected[row], 1e-4);
        batch_finish(&b);
    }
}

int main(void)
{
    return test_run("reward",
                    (test_case[]){
                        {"equals Gymnasium", equals_gymnasium},
                        {"either end drops the past", either_end_drops_the_past},
                        {"each environment has its own return", each_environment_has_its_own_return},
                        {"failed rows are not measured", failed_rows_are_not_measured},
                        {"rewards are scaled and then bounded", rewards_are_scaled_and_then_bounded},
                        {NULL, NULL},
                    });
}
