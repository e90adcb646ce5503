// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "test.h"

#include "corral/base/file.h"
#include "corral/base/rng.h"
#include "corral/policy/policy.h"

#include <unistd.h>

enum { ROWS = 300, OBSERVATION = 5, ACTIONS = 3 };

static float observation[ROWS * OBSERVATION], uniform[ROWS];

typedef struct acted {
    int32_t action[ROWS], env_action[ROWS];
    float log_prob[ROWS], q[ROWS * ACTIONS], value[ROWS];
} acted;

static corral_policy *create(bool dueling)
{
    const corral_policy_config config = {.kind = CORRAL_POLICY_Q,
                                         .observation_size = OBSERVATION,
                                         .action_count = ACTIONS,
                                         .action_start = 1,
                                         .hidden = {2, {64, 24}},
                                         .activation = CORRAL_RELU,
                                         .dueling = dueling,
                                         .normalize_observation = true,
                                         .observation_clip = 10};
    corral_policy *policy;
    TEST_OK(corral_policy_create(&config, 1, &policy));
    for (size_t i = 0; i < ROWS * OBSERVATION; i++)
        observation[i] = (float)(3 * corral_stream_double(5, i));
    for (size_t i = 0; i < ROWS; i++)
        uniform[i] = corral_stream_float(7, i);
    corral_policy_filter_update(policy, ROWS, observation);
    return policy;
}

static void act(corral_policy *policy, size_t rows, size_t first, const float *draws, acted *out)
{
    const corral_policy_output output = {out->action, out->env_action, out->log_prob, out->q, out->value};
    TEST_OK(corral_policy_act(policy, rows, observation + first * OBSERVATION, draws, &output));
}

static void the_graph_computes_what_acting_does(void)
{
    static float filtered[ROWS * OBSERVATION], value[ROWS];
    static acted all, alone;
    for (int dueling = 0; dueling < 2; dueling++) {
        corral_policy *policy = create(dueling);
        corral_tape *tape;
        TEST_OK(corral_tape_create(&tape));
        act(policy, ROWS, 0, NULL, &all);
        corral_tape_reset(tape, corral_policy_params(policy), NULL);
        corral_policy_filter(policy, ROWS, observation, filtered);
        corral_tensor *q, *none;
        corral_policy_graph(policy, tape, ROWS, filtered, &q, &none);
        TEST_OK(corral_tape_status(tape));
        CU_ASSERT_PTR_NULL(none);
        CU_ASSERT_EQUAL(memcmp(q->data, all.q, sizeof all.q), 0);
        for (size_t r = 0; r < ROWS; r += 7) {
            act(policy, 1, r, NULL, &alone);
            CU_ASSERT_EQUAL(memcmp(alone.q, all.q + r * ACTIONS, ACTIONS * sizeof(float)), 0);
        }
        TEST_OK(corral_policy_act(policy, ROWS, observation, NULL, &(corral_policy_output){.value = value}));
        CU_ASSERT_EQUAL(memcmp(value, all.value, sizeof value), 0);
        corral_tape_destroy(tape);
        corral_policy_destroy(policy);
    }
}

static void the_best_action_is_taken(void)
{
    static acted acting;
    corral_policy *policy = create(true);
    for (int draws = 0; draws < 2; draws++) { // without exploration a draw changes nothing
        act(policy, ROWS, 0, draws ? uniform : NULL, &acting);
        for (size_t r = 0; r < ROWS; r++) {
            for (size_t a = 0; a < ACTIONS; a++)
                CU_ASSERT_TRUE(acting.q[r * ACTIONS + a] <= acting.q[r * ACTIONS + (size_t)acting.action[r]]);
            CU_ASSERT_EQUAL(acting.value[r], acting.q[r * ACTIONS + (size_t)acting.action[r]]);
            CU_ASSERT_EQUAL(acting.env_action[r], acting.action[r] + 1);
            CU_ASSERT_EQUAL(acting.log_prob[r], 0);
        }
    }
    corral_policy_destroy(policy);
}

/// Every exploring draw gives each action alike; the others give the best one.
static void exploration_is_even(void)
{
    static acted greedy, exploring;
    corral_policy *policy = create(false);
    act(policy, ROWS, 0, NULL, &greedy);
    size_t drawn[ACTIONS] = {0}, changed = 0, seen = 0;
    const double epsilon = 0.3;
    corral_policy_set_exploration(policy, epsilon);
    for (uint64_t round = 0; round < 200; round++) {
        for (size_t i = 0; i < ROWS; i++)
            uniform[i] = corral_stream_float(11 + round, i);
        act(policy, ROWS, 0, uniform, &exploring);
        for (size_t r = 0; r < ROWS; r++) {
            const bool best = exploring.action[r] == greedy.action[r];
            const double share = epsilon / ACTIONS;
            CU_ASSERT_DOUBLE_EQUAL(exploring.log_prob[r], log(best ? 1 - epsilon + share : share), 1e-6);
            if ((double)uniform[r] < epsilon) drawn[exploring.action[r]]++;
            CU_ASSERT_TRUE(best || (double)uniform[r] < epsilon);
            changed += !best;
            seen++;
        }
    }
    for (size_t a = 0; a < ACTIONS; a++)
        CU_ASSERT_DOUBLE_EQUAL((double)drawn[a] / (double)seen, epsilon / ACTIONS, 0.005);
    CU_ASSERT_DOUBLE_EQUAL((double)changed / (double)seen, epsilon * 2 / 3, 0.01);
    act(policy, ROWS, 0, NULL, &exploring); // no draws, no exploration
    CU_ASSERT_EQUAL(memcmp(exploring.action, greedy.action, sizeof greedy.action), 0);
    corral_policy_destroy(policy);
}

static void files_and_bytes_keep_everything(void)
{
    static acted before, after;
    char path[] = "/tmp/corral-test-XXXXXX";
    const int file = mkstemp(path);
    CU_ASSERT_TRUE_FATAL(file >= 0);
    close(file);
    for (int dueling = 0; dueling < 2; dueling++) {
        corral_policy *policy = create(dueling), *read = NULL;
        act(policy, ROWS, 0, NULL, &before);
        TEST_OK(corral_policy_write(policy, path));
        TEST_OK(corral_policy_read(path, &read));
        CU_ASSERT_EQUAL(corral_policy_get_config(read)->kind, CORRAL_POLICY_Q);
        CU_ASSERT_EQUAL(corral_policy_get_config(read)->dueling, dueling != 0);
        act(read, ROWS, 0, NULL, &after);
        CU_ASSERT_EQUAL(memcmp(before.q, after.q, sizeof after.q), 0);
        void *bytes = malloc(corral_policy_bytes(policy));
        CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
        memset(corral_params_data(corral_policy_params(read)), 0,
               corral_params_count(corral_policy_params(read)) * sizeof(float));
        corral_policy_pack(policy, bytes);
        TEST_OK(corral_policy_unpack(read, bytes, corral_policy_bytes(policy)));
        act(read, ROWS, 0, NULL, &after);
        CU_ASSERT_EQUAL(memcmp(before.q, after.q, sizeof after.q), 0);
        free(bytes);
        corral_policy_destroy(read);
        corral_policy_destroy(policy);
    }
    unlink(path);
}

/// What a mask forbids is never done: the best of the others is taken, and they are explored alike.
static void masks_are_followed(void)
{
    static acted free_choice, masked;
    static uint8_t mask[ROWS * ACTIONS];
    corral_policy *policy = create(false), *minding;
    corral_policy_config config = *corral_policy_get_config(policy);
    act(policy, ROWS, 0, NULL, &free_choice);
    config.masked = true;
    TEST_OK(corral_policy_create(&config, 1, &minding));
    corral_policy_filter_update(minding, ROWS, observation);
    for (size_t r = 0; r < ROWS; r++)
        for (size_t a = 0; a < ACTIONS; a++)
            mask[r * ACTIONS + a] = (int32_t)a != free_choice.action[r]; // the best one is not allowed
    const corral_policy_output out = {masked.action, masked.env_action, masked.log_prob, masked.q,
                                      masked.value};
    corral_policy_input in = {.rows = ROWS, .observation = observation, .mask = mask};
    TEST_OK(corral_policy_act_on(minding, &in, &out));
    CU_ASSERT_EQUAL(memcmp(masked.q, free_choice.q, sizeof masked.q), 0);
    for (size_t r = 0; r < ROWS; r++) {
        CU_ASSERT_NOT_EQUAL(masked.action[r], free_choice.action[r]);
        for (int32_t a = 0; a < ACTIONS; a++)
            CU_ASSERT_TRUE(a == free_choice.action[r] ||
                           masked.q[r * ACTIONS + (size_t)a] <= masked.value[r]);
        CU_ASSERT_EQUAL(masked.value[r], masked.q[r * ACTIONS + (size_t)masked.action[r]]);
    }
    size_t low = 0, seen = 0;
    const double epsilon = 0.5;
    corral_policy_set_exploration(minding, epsilon);
    in.noise = uniform;
    for (uint64_t round = 0; round < 100; round++) {
        for (size_t i = 0; i < ROWS; i++)
            uniform[i] = corral_stream_float(1100 + round, i);
        TEST_OK(corral_policy_act_on(minding, &in, &out));
        for (size_t r = 0; r < ROWS; r++) {
            CU_ASSERT_NOT_EQUAL(masked.action[r], free_choice.action[r]);
            if ((double)uniform[r] >= epsilon) continue;
            seen++;
            low += masked.action[r] == (free_choice.action[r] == 0 ? 1 : 0);
        }
    }
    CU_ASSERT_DOUBLE_EQUAL((double)low / (double)seen, 0.5, 0.02);
    corral_policy_destroy(minding);
    corral_policy_destroy(policy);
}

int main(void)
{
    return test_run("q network",
                    (test_case[]){
                        {"the graph computes what acting does", the_graph_computes_what_acting_does},
                        {"the best action is taken", the_best_action_is_taken},
                        {"exploration is even", exploration_is_even},
                        {"masks are followed", masks_are_followed},
                        {"files and bytes keep everything", files_and_bytes_keep_everything},
                        {NULL, NULL},
                    });
}
