// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Normalisation, batched products, attention and the noisy linear layer.

#include "corral/core/layers.h"

#include "corral/core/distributions.h"
#include "corral/core/shapes.h"
#include "layer_check.h"

static corral_tensor *use_layer_norm(corral_tensor *const *inputs)
{
    return corral_layer_norm(inputs[0], 0, 1, 1e-5);
}
static corral_tensor *use_rms_norm(corral_tensor *const *inputs)
{
    return corral_rms_norm(inputs[0], 0, 1e-5);
}
static corral_tensor *use_bmm(corral_tensor *const *inputs)
{
    return corral_bmm(inputs[0], inputs[1], false);
}
static corral_tensor *use_bmm_transposed(corral_tensor *const *inputs)
{
    return corral_bmm(inputs[0], inputs[1], true);
}
static corral_tensor *use_attention(corral_tensor *const *inputs)
{
    return corral_attention(inputs[0], inputs[1], inputs[2], NULL);
}
static corral_tensor *use_masked_attention(corral_tensor *const *inputs)
{
    static const uint8_t allowed[2 * 3 * 4] = {1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0,
                                               1, 1, 1, 1, 0, 0, 0, 0, 0, 1, 0, 1};
    return corral_attention(inputs[0], inputs[1], inputs[2], allowed);
}
static corral_tensor *use_noisy(corral_tensor *const *inputs)
{
    const corral_noisy entries = {0, 1, 2, 3};
    return corral_noisy_linear(inputs[0], &entries, inputs[1], inputs[2], CORRAL_TANH);
}

static void gradients_follow_differences(void)
{
    const layer_check checks[] = {
        {.name = "layer_norm",
         .build = use_layer_norm,
         .entries = {{1, {7}}, {1, {7}}},
         .entry_count = 2,
         .inputs = {{3, {2, 3, 7}}},
         .input_count = 1,
         .tolerance = 1e-7},
        {.name = "rms_norm",
         .build = use_rms_norm,
         .entries = {{1, {7}}},
         .entry_count = 1,
         .inputs = {{2, {4, 7}}},
         .input_count = 1,
         .tolerance = 1e-7},
        {.name = "bmm",
         .build = use_bmm,
         .inputs = {{3, {2, 3, 5}}, {3, {2, 5, 4}}},
         .input_count = 2,
         .tolerance = 1e-7},
        {.name = "bmm, transposed",
         .build = use_bmm_transposed,
         .inputs = {{3, {2, 3, 5}}, {3, {2, 4, 5}}},
         .input_count = 2,
         .tolerance = 1e-7},
        {.name = "attention",
         .build = use_attention,
         .inputs = {{3, {2, 3, 5}}, {3, {2, 4, 5}}, {3, {2, 4, 2}}},
         .input_count = 3,
         .tolerance = 1e-7},
        {.name = "attention, masked",
         .build = use_masked_attention,
         .inputs = {{3, {2, 3, 5}}, {3, {2, 4, 5}}, {3, {2, 4, 2}}},
         .input_count = 3,
         .tolerance = 1e-7},
        {.name = "noisy",
         .build = use_noisy,
         .entries = {{2, {4, 3}}, {1, {4}}, {2, {4, 3}}, {1, {4}}},
         .entry_count = 4,
         .inputs = {{2, {5, 3}}, {1, {3}}, {1, {4}}},
         .input_count = 3,
         .tolerance = 1e-7},
    };
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        run_layer_check(&checks[i]);
}

/// Batched products against plain loops over sizes that no tile divides, and each of the batch alone.
static void products_of_ragged_sizes(void)
{
    enum { BATCH = 3, M = 13, K = 17, N = 37 };
    static float a[BATCH * M * K], b[BATCH * K * N];
    for (size_t i = 0; i < BATCH * M * K; i++)
        a[i] = (float)layer_number(i);
    for (size_t i = 0; i < BATCH * K * N; i++)
        b[i] = (float)layer_number(3 * i + 1);
    corral_tape *tape = NULL;
    TEST_OK(corral_tape_create(&tape));
    corral_tape_reset(tape, NULL, NULL);
    const corral_tensor *y =
        corral_bmm(corral_input(tape, CORRAL_F32, 3, (const size_t[]){BATCH, M, K}, a),
                   corral_input(tape, CORRAL_F32, 3, (const size_t[]){BATCH, K, N}, b), false);
    TEST_OK(corral_tape_status(tape));
    for (size_t i = 0; i < BATCH * M * N; i++) {
        const size_t n = i % N, m = i / N % M, batch = i / N / M;
        double exact = 0.0;
        for (size_t k = 0; k < K; k++)
            exact += (double)a[(batch * M + m) * K + k] * (double)b[(batch * K + k) * N + n];
        CU_ASSERT_DOUBLE_EQUAL((double)((const float *)y->data)[i], exact, 4e-6);
    }
    corral_tape_destroy(tape);
}

static void what_sees_nothing_is_zero(void)
{
    static const double x[2 * 4] = {0.3, -1, 2, 0.5, 1, 0.2, -0.4, 0.9};
    static const uint8_t allowed[2 * 2] = {1, 1, 0, 0};
    corral_tape *tape = NULL;
    TEST_OK(corral_tape_create(&tape));
    corral_tape_reset(tape, NULL, NULL);
    corral_tensor *v = corral_variable(tape, CORRAL_F64, 3, (const size_t[]){1, 2, 4}, x);
    corral_tensor *y = corral_attention(v, v, v, allowed);
    TEST_OK(corral_backward(corral_sum(corral_slice(y, 1, 1, 1))));
    for (size_t i = 0; i < 4; i++)
        CU_ASSERT_EQUAL(((double *)y->data)[4 + i], 0.0);
    for (size_t i = 0; i < 8; i++)
        CU_ASSERT_EQUAL(((double *)v->grad)[i], 0.0);
    corral_tape_destroy(tape);
}

static void equal_rows_normalise_to_zero(void)
{
    static const float x[8] = {3, 3, 3, 3, 0, 0, 0, 0};
    corral_params *params = NULL;
    uint32_t index;
    TEST_OK(corral_params_create(CORRAL_F32, &params));
    TEST_OK(corral_params_add(params, "weight", 1, (const size_t[]){4}, &index));
    TEST_OK(corral_params_add(params, "bias", 1, (const size_t[]){4}, &index));
    TEST_OK(corral_params_seal(params));
    ((float *)corral_params_data(params))[0] = 2.0f;
    corral_tape *tape = NULL;
    TEST_OK(corral_tape_create(&tape));
    corral_tape_reset(tape, params, NULL);
    corral_tensor *v = corral_variable(tape, CORRAL_F32, 2, (const size_t[]){2, 4}, x);
    corral_tensor *y = corral_layer_norm(v, 0, 1, 1e-5), *z = corral_rms_norm(v, 0, 1e-5);
    TEST_OK(corral_backward(corral_add(corral_sum(y), corral_sum(z))));
    for (size_t i = 0; i < 8; i++) {
        CU_ASSERT_EQUAL(((float *)y->data)[i], 0.0f);
        CU_ASSERT_TRUE(isfinite(((float *)v->grad)[i]));
    }
    CU_ASSERT_EQUAL(((float *)z->data)[4], 0.0f);
    corral_tape_destroy(tape);
    corral_params_destroy(params);
}

/// Acting with noise and without gives a tape's bits; without noise it is the plain layer.
static void noisy_layers_act_as_they_learn(void)
{
    enum { ROWS = 9, IN = 21, OUT = 19 };
    static float x[ROWS * IN], in[IN], out[OUT], y[ROWS * OUT], scratch[ROWS * (IN + OUT)];
    const corral_noisy entries = {0, 1, 2, 3};
    corral_params *params = NULL;
    uint32_t index;
    TEST_OK(corral_params_create(CORRAL_F32, &params));
    TEST_OK(corral_params_add(params, "w", 2, (const size_t[]){OUT, IN}, &index));
    TEST_OK(corral_params_add(params, "b", 1, (const size_t[]){OUT}, &index));
    TEST_OK(corral_params_add(params, "ws", 2, (const size_t[]){OUT, IN}, &index));
    TEST_OK(corral_params_add(params, "bs", 1, (const size_t[]){OUT}, &index));
    TEST_OK(corral_params_seal(params));
    for (size_t i = 0; i < corral_params_count(params); i++)
        ((float *)corral_params_data(params))[i] = (float)layer_number(i);
    corral_params_refresh(params);
    for (size_t i = 0; i < ROWS * IN; i++)
        x[i] = (float)layer_number(7 * i);
    corral_noise_factors(3, 0, IN, in);
    corral_noise_factors(3, IN, OUT, out);
    corral_tape *tape = NULL;
    TEST_OK(corral_tape_create(&tape));
    corral_tape_reset(tape, params, NULL);
    const size_t in_count = IN, out_count = OUT;
    corral_tensor *rows = corral_input(tape, CORRAL_F32, 2, (const size_t[]){ROWS, IN}, x);
    corral_tensor *noise_in = corral_input(tape, CORRAL_F32, 1, &in_count, in),
                  *noise_out = corral_input(tape, CORRAL_F32, 1, &out_count, out);
    const corral_tensor *noisy = corral_noisy_linear(rows, &entries, noise_in, noise_out, CORRAL_LINEAR);
    const corral_tensor *plain = corral_noisy_linear(rows, &entries, NULL, NULL, CORRAL_LINEAR);
    TEST_OK(corral_tape_status(tape));
    corral_noisy_linear_forward(params, &entries, ROWS, x, in, out, y, scratch);
    CU_ASSERT_EQUAL(memcmp(y, noisy->data, sizeof y), 0);
    corral_noisy_linear_forward(params, &entries, ROWS, x, NULL, NULL, y, NULL);
    CU_ASSERT_EQUAL(memcmp(y, plain->data, sizeof y), 0);
    CU_ASSERT_NOT_EQUAL(memcmp(noisy->data, plain->data, sizeof y), 0);
    float e;
    corral_standard_normals(3, 4, 1, &e);
    CU_ASSERT_DOUBLE_EQUAL(in[4] * fabsf(in[4]), e, 1e-6);
    corral_tape_destroy(tape);
    corral_params_destroy(params);
}

static void misuse_is_a_sentence(void)
{
    static const float x[64] = {0};
    static const char *const texts[] = {"with the same k", "one bias"};
    corral_tape *tape = NULL;
    TEST_OK(corral_tape_create(&tape));
    for (int which = 0; which < 2; which++) {
        corral_tape_reset(tape, NULL, NULL);
        corral_tensor *v = corral_input(tape, CORRAL_F32, 3, (const size_t[]){2, 3, 4}, x);
        if (which == 0) corral_bmm(v, v, false);
        if (which == 1) corral_layer_norm(v, 0, 1, 1e-5);
        TEST_FAILS(corral_tape_status(tape), CORRAL_ERROR_INVALID, texts[which]);
    }
    corral_tape_destroy(tape);
}

int main(void)
{
    return test_run("layers",
                    (test_case[]){{"gradients follow differences", gradients_follow_differences},
                                  {"products of ragged sizes", products_of_ragged_sizes},
                                  {"what sees nothing is zero", what_sees_nothing_is_zero},
                                  {"equal rows normalise to zero", equal_rows_normalise_to_zero},
                                  {"noisy layers act as they learn", noisy_layers_act_as_they_learn},
                                  {"misuse is a sentence", misuse_is_a_sentence},
                                  {NULL, NULL}});
}
