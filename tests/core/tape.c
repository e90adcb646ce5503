// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The tape's own promises: sticky errors, one backward, what has a gradient, empty batches, parameter blocks.

#include "corral/core/ops.h"
#include "test.h"

static corral_tape *tape;

static corral_tensor *vector(size_t count, const float *data)
{
    return corral_variable(tape, CORRAL_F32, 1, &count, data);
}

static const float numbers[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

static void the_first_error_stays(void)
{
    corral_tape_reset(tape, NULL, NULL);
    corral_tensor *bad = corral_add(vector(3, numbers), vector(4, numbers));
    CU_ASSERT_EQUAL(corral_tensor_count(bad), 0);
    corral_tensor *later = corral_sum(corral_tanh(corral_reshape(bad, 1, (const size_t[]){77})));
    CU_ASSERT_PTR_NOT_NULL(later->data);
    corral_gather(vector(3, numbers), NULL); // would be a failure of its own
    TEST_FAILS(corral_tape_status(tape), CORRAL_ERROR_INVALID, "add: the shapes do not broadcast");
    TEST_FAILS(corral_backward(later), CORRAL_ERROR_INVALID, "add: the shapes do not broadcast");
    corral_tape_reset(tape, NULL, NULL);
    TEST_OK(corral_tape_status(tape));
    TEST_OK(corral_backward(corral_sum(vector(3, numbers))));
}

/// Runs one failing operation on a fresh recording.
#define EXPECT_ERROR(operation, text)                                                                        \
    do {                                                                                                     \
        corral_tape_reset(tape, NULL, NULL);                                                                 \
        CU_ASSERT_EQUAL(corral_tensor_count(operation), 0);                                                  \
        TEST_FAILS(corral_tape_status(tape), CORRAL_ERROR_INVALID, text);                                    \
    } while (0)

static corral_tensor *matrix(size_t rows, size_t columns)
{
    return corral_variable(tape, CORRAL_F32, 2, (const size_t[]){rows, columns}, numbers);
}

static void misfits_are_named(void)
{
    static const int32_t outside[] = {0, 3}, negative[] = {-1, 0};
    const double wide = 1.0;
    EXPECT_ERROR(corral_matmul(matrix(2, 3), matrix(2, 3)), "matmul");
    EXPECT_ERROR(corral_gather(matrix(2, 3), outside), "index 3 of row 1 is not below 3");
    EXPECT_ERROR(corral_gather(matrix(2, 3), negative), "index -1 of row 0");
    EXPECT_ERROR(corral_reshape(matrix(2, 3), 1, (const size_t[]){7}),
                 "reshape: the new shape does not hold the 6");
    EXPECT_ERROR(corral_transpose(vector(3, numbers)), "transpose: needs two dimensions");
    EXPECT_ERROR(corral_sum_last(corral_constant(tape, CORRAL_F32, 1.0)), "no last dimension");
    EXPECT_ERROR(corral_clamp(vector(2, numbers), 2.0, 1.0), "clamp: the low bound 2");
    EXPECT_ERROR(corral_mse_loss(matrix(3, 1), vector(3, numbers)), "mse_loss: the two shapes differ");
    EXPECT_ERROR(corral_smooth_l1_loss(vector(3, numbers), vector(3, numbers), -1.0), "beta -1");
    EXPECT_ERROR(corral_linear(matrix(2, 3), 0, 1, CORRAL_LINEAR),
                 "linear: the tape's parameters have no entries");
    EXPECT_ERROR(corral_parameter(tape, 0), "parameter 0");
    EXPECT_ERROR(corral_add(vector(1, numbers), corral_variable(tape, CORRAL_F64, 0, NULL, &wide)),
                 "one dtype");
    EXPECT_ERROR(corral_input(tape, CORRAL_F32, 5, (const size_t[]){1, 1, 1, 1, 1}, numbers), "5 dimensions");
    EXPECT_ERROR(
        corral_matmul(corral_input(tape, CORRAL_F32, 2, (const size_t[]){(size_t)1 << 40, 0}, numbers),
                      corral_input(tape, CORRAL_F32, 2, (const size_t[]){0, (size_t)1 << 40}, numbers)),
        "too large");
}

static void ppo_checks_its_input(void)
{
    static const int32_t action[] = {0, 2};
    static const float zeros[2] = {0};
    const corral_ppo_terms terms = {action, zeros, zeros, zeros, zeros, 0.2f, 0.0f, 0.5f, 0.0f, 2};
    EXPECT_ERROR(corral_ppo_loss(matrix(2, 2), vector(2, numbers), &terms, NULL),
                 "action 2 of row 1 is not one of 2");
    EXPECT_ERROR(corral_ppo_loss(vector(2, numbers), NULL, &terms, NULL), "ppo_loss: needs logits");
    EXPECT_ERROR(corral_ppo_loss(matrix(2, 3), vector(3, numbers), &terms, NULL), "ppo_loss: needs a value");
    EXPECT_ERROR(corral_ppo_loss(NULL, matrix(2, 3), &terms, NULL), "ppo_loss: needs a value");
}

static void tapes_do_not_mix(void)
{
    corral_tape *other = NULL;
    TEST_OK(corral_tape_create(&other));
    corral_tape_reset(tape, NULL, NULL);
    corral_tape_reset(other, NULL, NULL);
    corral_tensor *a = vector(3, numbers);
    corral_mul(a, corral_variable(other, CORRAL_F32, 1, (const size_t[]){3}, numbers));
    TEST_FAILS(corral_tape_status(tape), CORRAL_ERROR_INVALID, "different tapes");
    corral_tape_destroy(other);
}

static void backward_runs_once(void)
{
    corral_tape_reset(tape, NULL, NULL);
    corral_tensor *loss = corral_sum(vector(3, numbers));
    TEST_OK(corral_backward(loss));
    TEST_FAILS(corral_backward(loss), CORRAL_ERROR_INVALID, "already ran");
}

static void backward_needs_a_scalar_with_a_gradient(void)
{
    corral_tape_reset(tape, NULL, NULL);
    TEST_FAILS(corral_backward(vector(3, numbers)), CORRAL_ERROR_INVALID, "has 3 elements");
    corral_tensor *x = corral_input(tape, CORRAL_F32, 1, (const size_t[]){3}, numbers);
    TEST_FAILS(corral_backward(corral_sum(x)), CORRAL_ERROR_INVALID, "depends on nothing");
}

static void only_what_needs_it_has_a_gradient(void)
{
    corral_tape_reset(tape, NULL, NULL);
    corral_tensor *v = vector(3, numbers), *unused = vector(3, numbers);
    corral_tensor *x = corral_input(tape, CORRAL_F32, 1, (const size_t[]){3}, numbers);
    corral_tensor *apart = corral_detach(corral_square(v));
    TEST_OK(corral_backward(corral_sum(corral_add(corral_mul(v, x), apart))));
    CU_ASSERT_PTR_NULL(x->grad);
    CU_ASSERT_PTR_NULL(apart->grad);
    for (int i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(((float *)v->grad)[i], numbers[i]); // nothing through the detached square
        CU_ASSERT_EQUAL(((float *)unused->grad)[i], 0.0f);
    }
}

// --- parameters
// -------------------------------------------------------------------------------------------------

static corral_params *two_layers(void)
{
    corral_params *params = NULL;
    uint32_t index;
    TEST_OK(corral_params_create(CORRAL_F32, &params));
    TEST_OK(corral_params_add(params, "0.weight", 2, (const size_t[]){5, 3}, &index));
    TEST_OK(corral_params_add(params, "0.bias", 1, (const size_t[]){5}, &index));
    TEST_OK(corral_params_add(params, "1.weight", 2, (const size_t[]){1, 5}, &index));
    TEST_OK(corral_params_add(params, "1.bias", 1, (const size_t[]){1}, &index));
    TEST_OK(corral_params_seal(params));
    for (uint32_t i = 0; i < 4; i++) {
        const corral_param *entry = corral_params_entry(params, i);
        float *weights = (float *)corral_params_data(params) + entry->offset;
        for (size_t j = 0; j < entry->count; j++)
            weights[j] = 0.1f * (float)(j + i) - 0.3f;
    }
    corral_params_refresh(params);
    return params;
}

static void blocks_are_laid_out_as_promised(void)
{
    corral_params *params = two_layers();
    uint32_t index;
    CU_ASSERT_EQUAL(corral_params_entry_count(params), 4);
    CU_ASSERT_EQUAL((uintptr_t)corral_params_data(params) % 64, 0);
    const size_t offsets[] = {0, 16, 32, 48};
    for (uint32_t i = 0; i < 4; i++)
        CU_ASSERT_EQUAL(corral_params_entry(params, i)->offset, offsets[i]);
    CU_ASSERT_EQUAL(corral_params_count(params), 64);
    TEST_FAILS(corral_params_add(params, "late", 1, (const size_t[]){1}, &index), CORRAL_ERROR_INVALID,
               "late");
    TEST_FAILS(corral_params_seal(params), CORRAL_ERROR_INVALID, "already sealed");
    corral_params_destroy(params);
    corral_params_destroy(NULL);

    TEST_OK(corral_params_create(CORRAL_F64, &params));
    TEST_OK(corral_params_add(params, "twice", 1, (const size_t[]){3}, &index));
    TEST_FAILS(corral_params_add(params, "twice", 1, (const size_t[]){3}, &index), CORRAL_ERROR_EXISTS,
               "twice");
    TEST_FAILS(corral_params_add(params, "huge", 2, (const size_t[]){SIZE_MAX, 3}, &index),
               CORRAL_ERROR_INVALID, "huge");
    corral_params_destroy(params);
}

/// The fused layer, the layer without a tape, and the same made of single operations.
static void linear_is_matmul_add_tanh(void)
{
    corral_params *params = two_layers();
    float gradients[64] = {0}, direct[4 * 5];
    corral_tape_reset(tape, params, gradients);
    corral_tensor *x = matrix(4, 3);
    corral_tensor *fused = corral_linear(x, 0, 1, CORRAL_TANH);
    corral_tensor *plain = corral_tanh(
        corral_add(corral_matmul(x, corral_transpose(corral_parameter(tape, 0))), corral_parameter(tape, 1)));
    TEST_OK(corral_tape_status(tape));
    corral_linear_forward(params, 0, 1, CORRAL_TANH, 4, numbers, direct);
    for (size_t i = 0; i < 20; i++) {
        CU_ASSERT_EQUAL(direct[i], ((float *)fused->data)[i]);
        CU_ASSERT_DOUBLE_EQUAL(((float *)plain->data)[i], direct[i], 2e-6);
    }
    // Both halves of the loss send the same gradient into the block.
    TEST_OK(corral_backward(corral_add(corral_sum(fused), corral_sum(plain))));
    float fused_alone[64] = {0};
    corral_tape_reset(tape, params, fused_alone);
    TEST_OK(corral_backward(corral_sum(corral_linear(matrix(4, 3), 0, 1, CORRAL_TANH))));
    for (size_t i = 0; i < 64; i++)
        CU_ASSERT_DOUBLE_EQUAL(gradients[i], 2.0f * fused_alone[i], 1e-5);
    corral_params_destroy(params);
}

static void without_a_block_parameters_need_no_gradient(void)
{
    corral_params *params = two_layers();
    corral_tape_reset(tape, params, NULL);
    corral_tensor *x = corral_input(tape, CORRAL_F32, 2, (const size_t[]){4, 3}, numbers);
    corral_tensor *y = corral_sum(corral_linear(x, 0, 1, CORRAL_RELU));
    CU_ASSERT_FALSE(y->requires_grad);
    TEST_FAILS(corral_backward(y), CORRAL_ERROR_INVALID, "gradient block");
    corral_params_destroy(params);
}

static void empty_batches(void)
{
    corral_params *params = two_layers();
    float gradients[64] = {0};
    corral_tape_reset(tape, params, gradients);
    corral_tensor *x = corral_variable(tape, CORRAL_F32, 2, (const size_t[]){0, 3}, numbers);
    corral_tensor *h = corral_linear(x, 0, 1, CORRAL_TANH);
    corral_tensor *value = corral_linear(h, 2, 3, CORRAL_LINEAR);
    CU_ASSERT_TRUE(h->shape[0] == 0 && h->shape[1] == 5);
    corral_tensor *mean = corral_mean(corral_square(value)),
                  *total = corral_sum(corral_sum_last(corral_log_softmax(h)));
    const corral_ppo_terms terms = {.clip_range = 0.2f};
    corral_ppo_stats stats = {0};
    corral_tensor *ppo = corral_ppo_loss(h, value, &terms, &stats);
    CU_ASSERT_TRUE(*(float *)mean->data == 0.0f && *(float *)total->data == 0.0f &&
                   *(float *)ppo->data == 0.0f);
    TEST_OK(corral_backward(corral_add(corral_add(mean, total), ppo)));
    for (size_t i = 0; i < 64; i++)
        CU_ASSERT_EQUAL(gradients[i], 0.0f);
    CU_ASSERT_EQUAL(stats.rows, 0);
    corral_params_destroy(params);
}

/// 100000 numbers whose plain f32 sum would lose the small ones.
static void sums_are_exact_enough(void)
{
    enum { COUNT = 100001 };
    float *x = malloc(COUNT * sizeof *x);
    CU_ASSERT_PTR_NOT_NULL_FATAL(x);
    for (size_t i = 0; i < COUNT; i++)
        x[i] = i == 0 ? 1e8f : 1.0f;
    corral_tape_reset(tape, NULL, NULL);
    CU_ASSERT_EQUAL(*(float *)corral_sum(vector(COUNT, x))->data, 1e8f + 100000.0f);
    free(x);
}

static void nan_is_not_lost(void)
{
    const float x[] = {NAN, 1.0f}, y[] = {1.0f, NAN};
    corral_tape_reset(tape, NULL, NULL);
    const float *low = corral_minimum(vector(2, x), vector(2, y))->data;
    const float *high = corral_maximum(vector(2, x), vector(2, y))->data;
    const float *clamped = corral_clamp(vector(2, x), -1.0, 1.0)->data,
                *relu = corral_relu(vector(2, x))->data;
    CU_ASSERT_TRUE(isnan(low[0]) && isnan(low[1]) && isnan(high[0]) && isnan(high[1]));
    CU_ASSERT_TRUE(isnan(clamped[0]) && isnan(relu[0]));
}

int main(void)
{
    if (corral_tape_create(&tape) != CORRAL_OK) return 2;
    const int result = test_run(
        "tape",
        (test_case[]){{"the first error stays", the_first_error_stays},
                      {"misfits are named", misfits_are_named},
                      {"ppo checks its input", ppo_checks_its_input},
                      {"tapes do not mix", tapes_do_not_mix},
                      {"backward runs once", backward_runs_once},
                      {"backward needs a scalar with a gradient", backward_needs_a_scalar_with_a_gradient},
                      {"only what needs it has a gradient", only_what_needs_it_has_a_gradient},
                      {"blocks are laid out as promised", blocks_are_laid_out_as_promised},
                      {"linear is matmul, add, tanh", linear_is_matmul_add_tanh},
                      {"without a block, no gradient", without_a_block_parameters_need_no_gradient},
                      {"empty batches", empty_batches},
                      {"sums are exact enough", sums_are_exact_enough},
                      {"NaN is not lost", nan_is_not_lost},
                      {NULL, NULL}});
    corral_tape_destroy(tape);
    return result;
}
