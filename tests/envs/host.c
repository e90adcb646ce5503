// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The host's part of an episode: seeds, time limits, what is handed out at an end, and what it refuses.

#include "rig.h"

static rig r, s;

/// Limit 5 and 100 steps are 100 rows and 20 episodes; none of the rows was made by a reset.
static void every_step_is_a_transition(void)
{
    corral_env_batch_config config = rig_config("CartPole-v1", 1);
    config.max_episode_steps = 5;
    rig_open(&r, &config);
    uint32_t rows = 0, episodes = 0;
    for (uint64_t t = 0; t < 100; t++, rows++) {
        r.action[0] = (int32_t)(t & 1);
        rig_step(&r);
        CU_ASSERT_EQUAL(r.reward[0], 1);
        CU_ASSERT_EQUAL(r.truncated[0], t % 5 == 4);
        CU_ASSERT_EQUAL(r.step.ended_count, t % 5 == 4);
        for (uint32_t k = 0; k < r.step.ended_count; k++, episodes++) {
            CU_ASSERT_EQUAL(r.ended[k].length, 5);
            CU_ASSERT_EQUAL(r.ended[k].episode_return, 5);
            CU_ASSERT_EQUAL(r.ended[k].number, t / 5);
            CU_ASSERT_EQUAL(r.ended[k].truncated, 1);
            CU_ASSERT_EQUAL(r.ended[k].terminated, 0);
            CU_ASSERT_FALSE(same_bytes(r.final[k], r.observation[0], sizeof r.final[k]));
        }
    }
    CU_ASSERT_EQUAL(rows, 100);
    CU_ASSERT_EQUAL(episodes, 20);
    rig_close(&r);
}

/// Pushing one way, the pole falls in some step T. A limit of T sets both flags there; T - 1 cuts off before.
static void a_limit_at_the_fall_sets_both(void)
{
    corral_env_batch_config config = rig_config("CartPole-v1", 1);
    rig_open(&r, &config);
    int64_t fall = 0;
    do {
        r.action[0] = 1;
        rig_step(&r);
        fall++;
    } while (r.step.ended_count == 0);
    CU_ASSERT_TRUE(r.terminated[0] == 1 && r.truncated[0] == 0);
    rig_close(&r);

    for (int64_t limit = fall - 1; limit <= fall + 1; limit++) {
        config.max_episode_steps = limit;
        rig_open(&r, &config);
        do {
            r.action[0] = 1;
            rig_step(&r);
        } while (r.step.ended_count == 0);
        CU_ASSERT_EQUAL(r.ended[0].length, limit < fall ? limit : fall);
        CU_ASSERT_EQUAL(r.terminated[0], limit >= fall);
        CU_ASSERT_EQUAL(r.truncated[0], limit <= fall);
        CU_ASSERT_EQUAL(r.ended[0].terminated, r.terminated[0]);
        CU_ASSERT_EQUAL(r.ended[0].truncated, r.truncated[0]);
        rig_close(&r);
    }
}

static void limits_come_from_the_type_or_the_user(void)
{
    corral_env_batch_config config = rig_config(PLUGIN_DIR "/troubled.so:TroubledOne-v0", 1);
    config.max_episode_steps = 0;
    rig_open(&r, &config);
    for (int t = 0; t < 2000; t++) {
        rig_step(&r);
        CU_ASSERT_EQUAL_FATAL(r.step.ended_count, 0);
    }
    rig_close(&r);
    corral_env_batch *batch;
    config.max_episode_steps = -2;
    TEST_FAILS(corral_env_batch_create(&config, &batch), CORRAL_ERROR_INVALID, "max_episode_steps is -2");
    config.max_episode_steps = -1;
    config.count = 0;
    TEST_FAILS(corral_env_batch_create(&config, &batch), CORRAL_ERROR_INVALID, "at least 1 environment");
}

/// Environment e's k-th episode has the same seed in whatever batch it is played.
static void seeds_belong_to_environments(void)
{
    corral_env_batch_config config = rig_config(PLUGIN_DIR "/troubled.so:TroubledOne-v0", 6);
    config.first_index = 40;
    config.max_episode_steps = 3;
    rig_open(&r, &config);
    config.first_index = 42;
    config.count = 2;
    rig_open(&s, &config);
    for (uint64_t t = 0; t < 12; t++) {
        for (uint32_t i = 0; i < 6; i++)
            CU_ASSERT_EQUAL(r.observation[i][0], (float)(rig_seed(&r, 40 + i, t / 3) & 0xffff));
        CU_ASSERT_TRUE(same_bytes(r.observation[2], s.observation[0], 2 * sizeof r.observation[0]));
        rig_step(&r);
        rig_step(&s);
    }
    CU_ASSERT_EQUAL(r.ended[5].environment, 45);
    CU_ASSERT_EQUAL(r.ended_row[5], 5);
    CU_ASSERT_EQUAL(r.ended[5].number, 3);

    config.role = CORRAL_STREAM_EVALUATION;
    rig other;
    rig_open(&other, &config);
    CU_ASSERT_NOT_EQUAL(other.observation[0][0], (float)(rig_seed(&s, 42, 0) & 0xffff));
    rig_close(&other);
    rig_close(&r);
    rig_close(&s);
}

/// A hundred at once and each alone: the same episodes.
static void a_batch_equals_its_parts(void)
{
    const corral_env_batch_config all = rig_config("CartPole-v1", RIG_MAX);
    static rig one[RIG_MAX];
    rig_open(&r, &all);
    for (uint32_t i = 0; i < RIG_MAX; i++) {
        corral_env_batch_config alone = all;
        alone.count = 1;
        alone.first_index = i;
        rig_open(&one[i], &alone);
    }
    uint32_t episodes = 0;
    for (uint64_t t = 0; t < 300; t++) {
        rig_draw_actions(&r, t);
        rig_step(&r);
        episodes += r.step.ended_count;
        bool same = true;
        for (uint32_t i = 0; i < RIG_MAX; i++) {
            rig_draw_actions(&one[i], t);
            rig_step(&one[i]);
            same = same && same_bytes(one[i].observation[0], r.observation[i], sizeof r.observation[i]) &&
                   one[i].reward[0] == r.reward[i] && one[i].terminated[0] == r.terminated[i];
        }
        for (uint32_t k = 0; k < r.step.ended_count; k++) {
            const rig *o = &one[r.ended_row[k]];
            same = same && same_bytes(o->final[0], r.final[k], sizeof r.final[k]) &&
                   o->ended[0].episode_return == r.ended[k].episode_return;
        }
        CU_ASSERT_TRUE_FATAL(same);
    }
    CU_ASSERT_TRUE(episodes > RIG_MAX);
    for (uint32_t i = 0; i < RIG_MAX; i++)
        rig_close(&one[i]);
    rig_close(&r);
}

/// Rows of a wider array, as in a fragment of many steps: what lies between them stays as it is.
static void writes_its_rows_only(void)
{
    const corral_env_batch_config config = rig_config("CartPole-v1", 5);
    rig_open(&r, &config);
    static float wide[5][64];
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 64; k++)
            wide[i][k] = 77;
    r.observation_rows = (corral_env_rows){&wide[0][8], sizeof wide[0]};
    r.step.final_observation = NULL;
    for (uint64_t t = 0; t < 200; t++) {
        rig_draw_actions(&r, t);
        rig_step(&r);
    }
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 64; k++)
            CU_ASSERT_EQUAL(wide[i][k] == 77, k < 8 || k >= 12);
    rig_close(&r);
}

static void refuses_to_step_before_a_reset(void)
{
    memset(&r, 0, sizeof r);
    r.config = rig_config("CartPole-v1", 2);
    rig_start(&r);
    TEST_FAILS(corral_env_batch_step_all(r.batch, &r.action_rows, &r.step), CORRAL_ERROR_INVALID,
               "CartPole-v1: stepped before its first reset");
    rig_close(&r);
}

static void refuses_actions_outside(void)
{
    corral_env_batch_config config = rig_config("CartPole-v1", 4);
    config.first_index = 8;
    rig_open(&r, &config);
    float before[4][RIG_WIDTH];
    memcpy(before, r.observation, sizeof before);
    const int32_t bad[] = {2, -1, INT32_MAX, INT32_MIN};
    for (int i = 0; i < 4; i++) {
        r.action[3] = bad[i];
        char want[96];
        snprintf(want, sizeof want, "CartPole-v1: environment 11: action %g is outside Discrete(2)",
                 (double)bad[i]);
        TEST_FAILS(corral_env_batch_step_all(r.batch, &r.action_rows, &r.step), CORRAL_ERROR_INVALID, want);
    }
    CU_ASSERT_TRUE(same_bytes(before, r.observation, sizeof before)); // nothing was stepped
    r.action[3] = 1;
    rig_step(&r);
    rig_close(&r);
}

static void refuses_parameters_outside(void)
{
    corral_env_batch_config config = rig_config("CartPole-v1", 1);
    double values[32];
    for (uint32_t i = 0; i < config.type->param_count; i++)
        values[i] = config.type->params[i].default_value;
    config.param_values = values;
    values[0] = -1;
    corral_env_batch *batch;
    TEST_FAILS(corral_env_batch_create(&config, &batch), CORRAL_ERROR_INVALID,
               "CartPole-v1: parameter gravity: -1 is outside [0, 1000]");
    values[0] = NAN;
    TEST_FAILS(corral_env_batch_create(&config, &batch), CORRAL_ERROR_INVALID, "gravity: nan is outside");
    values[0] = 1.6; // on the moon the same pushes make another episode
    rig_open(&r, &config);
    config.param_values = NULL;
    rig_open(&s, &config);
    CU_ASSERT_TRUE(same_bytes(r.observation[0], s.observation[0], sizeof r.observation[0]));
    rig_step(&r);
    rig_step(&s);
    CU_ASSERT_FALSE(same_bytes(r.observation[0], s.observation[0], sizeof r.observation[0]));
    rig_close(&r);
    rig_close(&s);
}

typedef struct leaves {
    double arm[2][3];
    int32_t joint[2], grip[2][2];
    uint8_t lamps[2][4];
} leaves;

static void rows_of_leaves(leaves *l, corral_env_rows rows[4])
{
    rows[0] = (corral_env_rows){l->arm, sizeof l->arm[0]};
    rows[1] = (corral_env_rows){l->joint, sizeof l->joint[0]};
    rows[2] = (corral_env_rows){l->grip, sizeof l->grip[0]};
    rows[3] = (corral_env_rows){l->lamps, sizeof l->lamps[0]};
}

static void hands_over_every_leaf(void)
{
    corral_env_batch_config config = rig_config(PLUGIN_DIR "/leaves.so", 2);
    memset(&r, 0, sizeof r);
    r.config = config;
    rig_start(&r);
    leaves action = {.arm = {{0.5, -1e9, 0.25}, {-1, 0, 0}},
                     .joint = {7, 5},
                     .grip = {{2, 3}, {0, 1}},
                     .lamps = {{1, 0, 1, 1}, {0, 0, 1, 0}}};
    leaves seen = {0}, last = {0};
    corral_env_rows action_rows[4], seen_rows[4], last_rows[4];
    rows_of_leaves(&action, action_rows);
    rows_of_leaves(&seen, seen_rows);
    rows_of_leaves(&last, last_rows);
    r.step.observation = seen_rows;
    r.step.final_observation = last_rows;
    TEST_OK(corral_env_batch_reset(r.batch, seen_rows));
    CU_ASSERT_EQUAL(seen.joint[1], 5);
    for (int t = 0; t < 3; t++) {
        TEST_OK(corral_env_batch_step_all(r.batch, action_rows, &r.step));
        CU_ASSERT_EQUAL(r.reward[0], 7);
        if (t < 2) CU_ASSERT_TRUE(same_bytes(&seen, &action, sizeof seen));
    }
    CU_ASSERT_EQUAL(r.step.ended_count, 2);
    CU_ASSERT_TRUE(same_bytes(&last, &action, sizeof last));
    CU_ASSERT_EQUAL(seen.joint[0], 5); // begun anew

    const char *const what[] = {"environment 1: action arm/0 0.3 (element 2) is outside Box(3)",
                                "environment 1: action arm/0 inf (element 1) is outside",
                                "environment 0: action arm/1 8 is outside Discrete(3, start 5)",
                                "environment 1: action grip 4 (element 1) is outside MultiDiscrete(3, 4)",
                                "environment 0: action lamps 2 (element 3) is outside MultiBinary(2x2)"};
    for (int i = 0; i < 5; i++) {
        leaves bad = action;
        if (i == 0) bad.arm[1][2] = 0.3;
        if (i == 1) bad.arm[1][1] = INFINITY;
        if (i == 2) bad.joint[0] = 8;
        if (i == 3) bad.grip[1][1] = 4;
        if (i == 4) bad.lamps[0][3] = 2;
        rows_of_leaves(&bad, action_rows);
        TEST_FAILS(corral_env_batch_step_all(r.batch, action_rows, &r.step), CORRAL_ERROR_INVALID, what[i]);
    }
    rig_close(&r);
}

int main(void)
{
    return test_run(
        "host",
        (test_case[]){{"every step is a transition", every_step_is_a_transition},
                      {"a limit at the fall sets both flags", a_limit_at_the_fall_sets_both},
                      {"limits come from the type or the user", limits_come_from_the_type_or_the_user},
                      {"seeds belong to environments", seeds_belong_to_environments},
                      {"a batch equals its parts", a_batch_equals_its_parts},
                      {"writes its rows only", writes_its_rows_only},
                      {"refuses to step before a reset", refuses_to_step_before_a_reset},
                      {"refuses actions outside", refuses_actions_outside},
                      {"refuses parameters outside", refuses_parameters_outside},
                      {"hands over every leaf", hands_over_every_leaf},
                      {NULL, NULL}});
}
