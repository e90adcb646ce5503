// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Batch norm: gradients, its statistics, and acting by them; linear layers side by side.

#include "corral/core/layers.h"

#include "layer_check.h"

enum { N = 3, ROWS = 4 };
static double running_mean[N], running_variance[N];
static const corral_batch_statistics statistics = {1e-5, 0.1, running_mean, running_variance};

static void start_statistics(void)
{
    for (size_t k = 0; k < N; k++)
        running_mean[k] = 0.1 * (double)k, running_variance[k] = 1.0 + 0.5 * (double)k;
}

static corral_tensor *use_learning(corral_tensor *const *inputs)
{
    return corral_batch_norm(inputs[0], 0, 1, &statistics, true);
}
static corral_tensor *use_acting(corral_tensor *const *inputs)
{
    return corral_batch_norm(inputs[0], 0, 1, &statistics, false);
}
static corral_tensor *use_ensemble(corral_tensor *const *inputs)
{
    return corral_ensemble_linear(inputs[0], 0, 1, CORRAL_TANH);
}

static void gradients_follow_differences(void)
{
    start_statistics();
    layer_check check = {.name = "batch_norm, learning",
                         .build = use_learning,
                         .entries = {{1, {N}}, {1, {N}}},
                         .entry_count = 2,
                         .inputs = {{3, {2, 3, N}}},
                         .input_count = 1,
                         .tolerance = 1e-7};
    run_layer_check(&check);
    start_statistics();
    check.name = "batch_norm, acting";
    check.build = use_acting;
    run_layer_check(&check);
    check = (layer_check){.name = "ensemble_linear, one input",
                          .build = use_ensemble,
                          .entries = {{3, {2, 4, 5}}, {2, {2, 4}}},
                          .entry_count = 2,
                          .inputs = {{2, {3, 5}}},
                          .input_count = 1,
                          .tolerance = 1e-7};
    run_layer_check(&check);
    check.name = "ensemble_linear, an input for each";
    check.inputs[0] = (layer_shape){3, {2, 3, 5}};
    run_layer_check(&check);
}

static corral_params *norm_params(void)
{
    corral_params *params = NULL;
    uint32_t index;
    TEST_OK(corral_params_create(CORRAL_F32, &params));
    TEST_OK(corral_params_add(params, "weight", 1, (const size_t[]){N}, &index));
    TEST_OK(corral_params_add(params, "bias", 1, (const size_t[]){N}, &index));
    TEST_OK(corral_params_seal(params));
    for (size_t k = 0; k < N; k++) {
        ((float *)corral_params_data(params))[k] = 1.5f - (float)k;
        ((float *)corral_params_data(params))[corral_params_entry(params, 1)->offset + k] = 0.25f * (float)k;
    }
    corral_params_refresh(params);
    return params;
}

static const float x[ROWS * N] = {1, 0.5f, -1, 2, 0.5f, 3, -1, 0.5f, 2, 4, 0.5f, 0};

/// After two minibatches, as PyTorch's BatchNorm1d(3) has it: momentum 0.1, the sample's variance.
static void statistics_move(void)
{
    corral_params *params = norm_params();
    corral_tape *tape = NULL;
    TEST_OK(corral_tape_create(&tape));
    for (size_t k = 0; k < N; k++)
        running_mean[k] = 0.0, running_variance[k] = 1.0;
    for (int i = 0; i < 2; i++) {
        corral_tape_reset(tape, params, NULL);
        corral_tensor *rows = corral_input(tape, CORRAL_F32, 2, (const size_t[]){ROWS, N}, x);
        const corral_tensor *y = corral_batch_norm(rows, 0, 1, &statistics, true);
        TEST_OK(corral_tape_status(tape));
        CU_ASSERT_DOUBLE_EQUAL((double)((float *)y->data)[1], 0.25, 1e-7); // equal elements: the bias
    }
    // Means 1.5, 0.5, 1; sample variances 13/3, 0, 10/3.
    CU_ASSERT_DOUBLE_EQUAL(running_mean[0], 1.5 * 0.19, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(running_mean[2], 1.0 * 0.19, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(running_variance[0], 0.81 + 0.19 * 13.0 / 3.0, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(running_variance[1], 0.81, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(running_variance[2], 0.81 + 0.19 * 10.0 / 3.0, 1e-12);
    corral_tape_destroy(tape);
    corral_params_destroy(params);
}

/// By the statistics a row is itself, on a tape and without one, in the same bits.
static void acting_is_row_by_row(void)
{
    corral_params *params = norm_params();
    corral_tape *tape = NULL;
    float out[ROWS * N];
    TEST_OK(corral_tape_create(&tape));
    start_statistics();
    corral_tape_reset(tape, params, NULL);
    corral_tensor *rows = corral_input(tape, CORRAL_F32, 2, (const size_t[]){ROWS, N}, x);
    const corral_tensor *y = corral_batch_norm(rows, 0, 1, &statistics, false);
    TEST_OK(corral_tape_status(tape));
    for (size_t r = 0; r < ROWS; r++)
        corral_batch_norm_forward(params, 0, 1, &statistics, 1, x + r * N, out + r * N);
    CU_ASSERT_EQUAL(memcmp(out, y->data, sizeof out), 0);
    CU_ASSERT_EQUAL(running_mean[1], 0.1); // nothing has moved
    corral_tape_destroy(tape);
    corral_params_destroy(params);
}

static void misuse_is_a_sentence(void)
{
    corral_params *params = norm_params();
    corral_tape *tape = NULL;
    TEST_OK(corral_tape_create(&tape));
    corral_tape_reset(tape, params, NULL);
    corral_batch_norm(corral_input(tape, CORRAL_F32, 2, (const size_t[]){1, N}, x), 0, 1, &statistics, true);
    TEST_FAILS(corral_tape_status(tape), CORRAL_ERROR_INVALID, "one row alone");
    corral_tape_reset(tape, params, NULL);
    corral_batch_norm(corral_input(tape, CORRAL_F32, 2, (const size_t[]){2, 2}, x), 0, 1, &statistics, true);
    TEST_FAILS(corral_tape_status(tape), CORRAL_ERROR_INVALID, "for each of the 2");
    corral_tape_reset(tape, params, NULL);
    corral_ensemble_linear(corral_input(tape, CORRAL_F32, 2, (const size_t[]){2, N}, x), 0, 1, CORRAL_LINEAR);
    TEST_FAILS(corral_tape_status(tape), CORRAL_ERROR_INVALID, "[members, out, in]");
    corral_tape_reset(tape, params, NULL);
    running_mean[0] = 7.0;
    corral_tensor *none = corral_input(tape, CORRAL_F32, 2, (const size_t[]){0, N}, x);
    CU_ASSERT_EQUAL(corral_tensor_count(corral_batch_norm(none, 0, 1, &statistics, true)), 0);
    TEST_OK(corral_tape_status(tape));
    CU_ASSERT_EQUAL(running_mean[0], 7.0); // an empty batch moves nothing
    corral_tape_destroy(tape);
    corral_params_destroy(params);
}

int main(void)
{
    return test_run("batch_norm",
                    (test_case[]){{"gradients follow differences", gradients_follow_differences},
                                  {"statistics move", statistics_move},
                                  {"acting is row by row", acting_is_row_by_row},
                                  {"misuse is a sentence", misuse_is_a_sentence},
                                  {NULL, NULL}});
}
