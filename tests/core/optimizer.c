// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Lanes, steps, and that neither threads nor a stop in between change a bit.

#include "small_network.h"

static void lanes_cover_all_rows_once(void)
{
    CU_ASSERT_EQUAL(corral_lane_count(0), 0);
    for (size_t rows = 1; rows <= 3000; rows += rows < 600 ? 1 : 97) {
        const size_t lanes = corral_lane_count(rows);
        CU_ASSERT_TRUE(lanes >= 1 && lanes <= CORRAL_LANES);
        size_t next = 0, shortest = SIZE_MAX, longest = 0;
        for (size_t i = 0; i < lanes; i++) {
            const corral_lane lane = corral_lane_at(rows, i);
            CU_ASSERT_TRUE(lane.first == next && lane.count > 0);
            if (i + 1 < lanes) CU_ASSERT_EQUAL(lane.count % CORRAL_LANE_ROWS, 0);
            next = lane.first + lane.count;
            const size_t chunks = (lane.count + CORRAL_LANE_ROWS - 1) / CORRAL_LANE_ROWS;
            if (chunks < shortest) shortest = chunks;
            if (chunks > longest) longest = chunks;
        }
        CU_ASSERT_EQUAL(next, rows);
        CU_ASSERT_TRUE(longest - shortest <= 1);
    }
}

/// Twenty updates with this many threads; the weights are the caller's to free.
static float *train(unsigned threads, size_t *out_count)
{
    static small_network n;
    n = (small_network){0};
    small_network_start(&n);
    corral_team *team = NULL;
    if (threads > 0) TEST_OK(corral_team_create(threads, &team));
    for (int i = 0; i < 20; i++)
        CU_ASSERT_TRUE(small_network_update(&n, team) > 0.0);
    *out_count = corral_params_count(n.params);
    float *weights = malloc(*out_count * sizeof *weights);
    CU_ASSERT_PTR_NOT_NULL_FATAL(weights);
    memcpy(weights, corral_params_data(n.params), *out_count * sizeof *weights);
    corral_team_destroy(team);
    small_network_finish(&n);
    return weights;
}

static void any_number_of_threads_gives_the_same_bits(void)
{
    size_t count = 0;
    float *expected = train(0, &count);
    for (unsigned threads = 1; threads <= 5; threads++) {
        float *found = train(threads, &count);
        CU_ASSERT_EQUAL(memcmp(found, expected, count * sizeof *found), 0);
        free(found);
    }
    free(expected);
}

/// Five steps, everything moved to a new optimizer, five more: as ten in one go.
static void a_resumed_run_goes_on_bit_for_bit(void)
{
    static small_network straight, before, after;
    straight = before = after = (small_network){0};
    small_network_start(&straight);
    small_network_start(&before);
    small_network_start(&after);
    for (int i = 0; i < 10; i++)
        small_network_update(&straight, NULL);
    for (int i = 0; i < 5; i++)
        small_network_update(&before, NULL);

    const size_t bytes = corral_params_count(before.params) * sizeof(float);
    memcpy(corral_params_data(after.params), corral_params_data(before.params), bytes);
    corral_params_refresh(after.params);
    static const char *const names[] = {"first_moment", "second_moment"};
    CU_ASSERT_EQUAL(corral_optimizer_state_count(before.optimizer), 2);
    for (uint32_t i = 0; i < 2; i++) {
        const char *name = NULL;
        memcpy(corral_optimizer_state(after.optimizer, i, NULL),
               corral_optimizer_state(before.optimizer, i, &name), bytes);
        CU_ASSERT_STRING_EQUAL(name, names[i]);
    }
    corral_optimizer_set_steps(after.optimizer, corral_optimizer_steps(before.optimizer));
    for (int i = 0; i < 5; i++)
        small_network_update(&after, NULL);
    CU_ASSERT_EQUAL(memcmp(corral_params_data(after.params), corral_params_data(straight.params), bytes), 0);
    small_network_finish(&straight);
    small_network_finish(&before);
    small_network_finish(&after);
}

static corral_params *vector_params(size_t count)
{
    corral_params *params = NULL;
    uint32_t index;
    TEST_OK(corral_params_create(CORRAL_F32, &params));
    TEST_OK(corral_params_add(params, "w", 1, &count, &index));
    TEST_OK(corral_params_seal(params));
    return params;
}

static void momentum_adds_up(void)
{
    corral_params *params = vector_params(1);
    corral_optimizer *optimizer = NULL;
    const corral_optimizer_config config = {.kind = CORRAL_SGD, .momentum = 0.5};
    TEST_OK(corral_optimizer_create(&config, params, &optimizer));
    const float *w = corral_params_data(params);
    const float expected[] = {-1.0f, -2.5f, -4.25f}; // velocities 1, 1.5, 1.75
    for (int i = 0; i < 3; i++) {
        *(float *)corral_optimizer_lane(optimizer, 0) = 1.0f;
        TEST_OK(corral_optimizer_step(optimizer, 1, 1.0, NULL, NULL));
        CU_ASSERT_EQUAL(*w, expected[i]);
    }
    const char *name = NULL;
    corral_optimizer_state(optimizer, 0, &name);
    CU_ASSERT_STRING_EQUAL(name, "velocity");
    corral_optimizer_destroy(optimizer);
    corral_params_destroy(params);
}

/// A norm that is not finite changes nothing. Squares that overflow f32 do not.
static void a_bad_gradient_changes_nothing(void)
{
    enum { COUNT = 3000 }; // several chunks
    corral_params *params = vector_params(COUNT);
    corral_optimizer *optimizer = NULL;
    corral_optimizer_config config = corral_optimizer_config_default();
    config.max_grad_norm = 1.0;
    TEST_OK(corral_optimizer_create(&config, params, &optimizer));
    const float bad[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 3; i++) {
        float *lane = corral_optimizer_lane(optimizer, 1);
        for (size_t j = 0; j < COUNT; j++)
            lane[j] = 1.0f;
        lane[2500] = bad[i];
        double norm = 0.0;
        TEST_FAILS(corral_optimizer_step(optimizer, 2, 1e-2, NULL, &norm), CORRAL_ERROR_NOT_FINITE,
                   "norm is");
        CU_ASSERT_FALSE(isfinite(norm));
        CU_ASSERT_EQUAL(corral_optimizer_steps(optimizer), 0);
        const float *w = corral_params_data(params), *m = corral_optimizer_state(optimizer, 0, NULL);
        for (size_t j = 0; j < COUNT; j++)
            CU_ASSERT_TRUE(w[j] == 0.0f && m[j] == 0.0f);
    }
    *(float *)corral_optimizer_lane(optimizer, 0) = 1e30f;
    double norm = 0.0;
    TEST_OK(corral_optimizer_step(optimizer, 1, 1e-2, NULL, &norm));
    CU_ASSERT_DOUBLE_EQUAL(norm / 1e30, 1.0, 1e-6);
    corral_optimizer_destroy(optimizer);
    corral_params_destroy(params);
}

/// Without a gradient Adam leaves weights and padding alone.
static void no_gradient_no_change(void)
{
    corral_params *params = vector_params(5);
    corral_optimizer *optimizer = NULL;
    const corral_optimizer_config config = corral_optimizer_config_default();
    TEST_OK(corral_optimizer_create(&config, params, &optimizer));
    float *w = corral_params_data(params);
    w[3] = 2.5f;
    for (int i = 0; i < 3; i++)
        TEST_OK(corral_optimizer_step(optimizer, 4, 1.0, NULL, NULL));
    for (size_t i = 0; i < corral_params_count(params); i++)
        CU_ASSERT_EQUAL(w[i], i == 3 ? 2.5f : 0.0f);
    corral_optimizer_destroy(optimizer);
    corral_params_destroy(params);
}

static void bad_settings_are_named(void)
{
    corral_params *params = vector_params(5);
    corral_optimizer *optimizer = NULL;
    corral_optimizer_config config = corral_optimizer_config_default();
    config.epsilon = 0.0;
    TEST_FAILS(corral_optimizer_create(&config, params, &optimizer), CORRAL_ERROR_INVALID, "epsilon 0");
    config = corral_optimizer_config_default();
    config.beta2 = 1.0;
    TEST_FAILS(corral_optimizer_create(&config, params, &optimizer), CORRAL_ERROR_INVALID, "betas 0.9 and 1");
    config = corral_optimizer_config_default();
    config.max_grad_norm = -1.0;
    TEST_FAILS(corral_optimizer_create(&config, params, &optimizer), CORRAL_ERROR_INVALID,
               "max_grad_norm -1");
    config = (corral_optimizer_config){.kind = CORRAL_SGD, .momentum = 1.5};
    TEST_FAILS(corral_optimizer_create(&config, params, &optimizer), CORRAL_ERROR_INVALID, "momentum 1.5");
    config = corral_optimizer_config_default();
    TEST_OK(corral_optimizer_create(&config, params, &optimizer));
    TEST_FAILS(corral_optimizer_step(optimizer, 0, 1.0, NULL, NULL), CORRAL_ERROR_INVALID, "without lanes");
    corral_optimizer_destroy(optimizer);
    corral_optimizer_destroy(NULL);
    corral_params_destroy(params);
}

int main(void)
{
    return test_run("optimizer",
                    (test_case[]){{"lanes cover all rows once", lanes_cover_all_rows_once},
                                  {"any number of threads", any_number_of_threads_gives_the_same_bits},
                                  {"a resumed run goes on", a_resumed_run_goes_on_bit_for_bit},
                                  {"momentum adds up", momentum_adds_up},
                                  {"a bad gradient changes nothing", a_bad_gradient_changes_nothing},
                                  {"no gradient, no change", no_gradient_no_change},
                                  {"bad settings are named", bad_settings_are_named},
                                  {NULL, NULL}});
}
