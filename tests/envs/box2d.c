// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// LunarLander and BipedalWalker by what players score in them. The figures beside each are Gymnasium 1.4.0's
// own, of the same players (1000, 300, 500, 200, 20 and 100 episodes): mean, deviation, mean length. Its
// Box2D is older, so that episodes are alike in distribution only.

#include "corral/base/rng.h"
#include "corral/envs/batch.h"
#include "corral/envs/examine.h"
#include "corral/envs/registry.h"

#include "test.h"

#include <math.h>

enum { COUNT = 20, WIDTH = 24, ACTIONS = 4 };

typedef union action {
    int32_t choice;
    float power[ACTIONS];
} action;

typedef void player(const float *observation, action *out, uint64_t key, uint64_t step);

typedef struct score {
    double mean, deviation, length;
    uint32_t episodes;
} score;

static score play(const char *id, player *decide, uint32_t episodes)
{
    corral_env_batch_config config = {
        .count = COUNT, .run_seed = 1, .role = CORRAL_STREAM_ENVIRONMENT, .max_episode_steps = -1};
    TEST_OK(corral_env_find(id, &config.type));
    corral_env_batch *batch;
    TEST_OK(corral_env_batch_create(&config, &batch));
    static action actions[COUNT];
    static float observations[COUNT][WIDTH];
    double reward[COUNT];
    uint8_t terminated[COUNT], truncated[COUNT], failed[COUNT];
    corral_episode ended[COUNT];
    uint32_t ended_row[COUNT];
    const corral_env_rows action_rows = {actions, sizeof actions[0]},
                          rows = {observations, sizeof observations[0]};
    corral_env_batch_step step = {.observation = &rows,
                                  .reward = reward,
                                  .terminated = terminated,
                                  .truncated = truncated,
                                  .ended = ended,
                                  .ended_row = ended_row,
                                  .failed = failed};
    TEST_OK(corral_env_batch_reset(batch, &rows));
    score s = {0};
    double squares = 0;
    // Each environment plays as many episodes as the others, or short ones would count for more.
    uint32_t played[COUNT] = {0};
    for (uint64_t t = 0; s.episodes < episodes; t++) {
        for (uint32_t i = 0; i < COUNT; i++)
            decide(observations[i], &actions[i], i, t);
        TEST_OK(corral_env_batch_step_all(batch, &action_rows, &step));
        CU_ASSERT_EQUAL_FATAL(step.failed_count, 0);
        for (uint32_t k = 0; k < step.ended_count; k++) {
            if (played[ended_row[k]]++ >= episodes / COUNT) continue;
            s.episodes++;
            s.mean += ended[k].episode_return;
            squares += ended[k].episode_return * ended[k].episode_return;
            s.length += ended[k].length;
        }
    }
    corral_env_batch_destroy(batch);
    s.mean /= s.episodes;
    s.length /= s.episodes;
    s.deviation = sqrt(fmax(squares / s.episodes - s.mean * s.mean, 0));
    printf("(%.1f +- %.1f in %.1f steps) ", s.mean, s.deviation, s.length);
    return s;
}

static void any_engine(const float *o, action *out, uint64_t key, uint64_t step)
{
    (void)o;
    out->choice = (int32_t)(corral_stream_u64(key, step) % 4);
}

static void any_power(const float *o, action *out, uint64_t key, uint64_t step)
{
    (void)o;
    for (uint64_t i = 0; i < ACTIONS; i++)
        out->power[i] = (float)(2 * corral_stream_double(key, ACTIONS * step + i) - 1);
}

static void nothing(const float *o, action *out, uint64_t key, uint64_t step)
{
    (void)o, (void)key, (void)step;
    *out = (action){.power = {0}};
}

/// Leans against sideways motion and brakes the fall: a lander that mostly arrives.
static void careful(const float *o, action *out, uint64_t key, uint64_t step)
{
    (void)key, (void)step;
    const double angle = fmin(fmax(0.5 * o[0] + o[2], -0.4), 0.4), height = 0.55 * fabs(o[0]);
    double turn = 0.5 * (angle - o[4]) - o[5], lift = 0.5 * (height - o[1]) - 0.5 * o[3];
    if (o[6] > 0 || o[7] > 0) turn = 0, lift = -0.5 * o[3];
    out->choice = lift > fabs(turn) && lift > 0.05 ? 2 : turn < -0.05 ? 3 : turn > 0.05 ? 1 : 0;
}

static void lunar_lander_scores_as_gymnasiums(void)
{
    score s = play("LunarLander-v3", any_engine, 200); // -184.1 +- 110.4 in 91.2
    CU_ASSERT_DOUBLE_EQUAL(s.mean, -184.1, 55);
    CU_ASSERT_DOUBLE_EQUAL(s.deviation, 110.4, 60);
    CU_ASSERT_DOUBLE_EQUAL(s.length, 91.2, 10);
    s = play("LunarLander-v3", careful, 40); // 242.1 +- 100.0 in 254.9
    CU_ASSERT_DOUBLE_EQUAL(s.mean, 242.1, 70);
    CU_ASSERT_DOUBLE_EQUAL(s.length, 254.9, 90);
}

static void the_continuous_one_too(void)
{
    const score s = play("LunarLanderContinuous-v3", any_power, 100); // -214.4 +- 123.5 in 107.3
    CU_ASSERT_DOUBLE_EQUAL(s.mean, -214.4, 65);
    CU_ASSERT_DOUBLE_EQUAL(s.length, 107.3, 12);
}

static void bipedal_walker_scores_as_gymnasiums(void)
{
    score s = play("BipedalWalker-v3", nothing, 20); // -91.9 +- 0.1 in 116.6
    CU_ASSERT_DOUBLE_EQUAL(s.mean, -91.9, 0.5);
    CU_ASSERT_DOUBLE_EQUAL(s.length, 116.6, 5);
    s = play("BipedalWalker-v3", any_power, 20); // -99.1 +- 14.1 in 626.9 +- 723.6
    CU_ASSERT_DOUBLE_EQUAL(s.mean, -99.1, 15);
}

/// The world is built anew for each episode: no contact of the last one is left in it.
static void a_seed_is_an_episode(void)
{
    corral_env_batch_config config = {
        .count = 1, .run_seed = 4, .role = CORRAL_STREAM_ENVIRONMENT, .max_episode_steps = 40};
    TEST_OK(corral_env_find("LunarLander-v3", &config.type));
    const corral_env_single *single = config.type->single;
    void *instance = aligned_alloc(64, (single->instance_size + 63) / 64 * 64);
    CU_ASSERT_PTR_NOT_NULL_FATAL(instance);
    memset(instance, 0, single->instance_size);
    const double values[] = {-10, 0, 15, 1.5};
    CU_ASSERT_EQUAL_FATAL(single->init(instance, corral_env_host_default(), values), 0);
    float seen[2][60][8];
    for (int turn = 0; turn < 2; turn++) {
        float o[8];
        CU_ASSERT_EQUAL(single->reset(instance, 42, o), 0);
        for (int t = 0; t < 60; t++) {
            const int32_t choice = t % 4;
            corral_env_result result = {0};
            CU_ASSERT_EQUAL(single->step(instance, &choice, o, &result), 0);
            memcpy(seen[turn][t], o, sizeof o);
        }
    }
    CU_ASSERT_EQUAL(memcmp(seen[0], seen[1], sizeof seen[0]), 0);
    single->finish(instance);
    free(instance);
}

static void the_examiner_is_content(void)
{
    static const char *const names[] = {"LunarLander-v3", "BipedalWalker-v3"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const corral_env_type *type;
        TEST_OK(corral_env_find(names[i], &type));
        corral_examine_config config = corral_examine_config_default(type);
        config.leak_steps = 200;
        corral_examine_report report;
        TEST_OK(corral_env_examine(&config, &report));
        for (uint32_t k = 0; k < report.count; k++)
            if (report.result[k].verdict == CORRAL_VERDICT_FAILED)
                fprintf(stderr, "%s: %s: %s\n", names[i], report.result[k].rule, report.result[k].sentence);
        CU_ASSERT_EQUAL(report.failed, 0);
    }
}

int main(void)
{
    const corral_env_type *type;
    if (corral_env_find("LunarLander-v3", &type) == CORRAL_ERROR_NOT_FOUND) {
        printf("skipped: %s\n", corral_last_error());
        return 77;
    }
    return test_run(
        "box2d", (test_case[]){{"LunarLander scores as Gymnasium's", lunar_lander_scores_as_gymnasiums},
                               {"the continuous one too", the_continuous_one_too},
                               {"BipedalWalker scores as Gymnasium's", bipedal_walker_scores_as_gymnasiums},
                               {"a seed is an episode", a_seed_is_an_episode},
                               {"the examiner is content", the_examiner_is_content},
                               {NULL, NULL}});
}
