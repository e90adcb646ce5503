// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Moving, choosing and reducing: gradients against central differences, values against plain loops over
// random shapes, edges, and misuse.

#include "corral/core/shapes.h"

#include "corral/base/rng.h"
#include "gradient_check.h"

#define FUNCTION(name, expression)                                                                           \
    static corral_tensor *use_##name(corral_tensor *const *v)                                                \
    {                                                                                                        \
        return expression;                                                                                   \
    }
FUNCTION(permute, corral_permute(v[0], (const uint32_t[]){2, 0, 1}))
FUNCTION(expand, corral_expand(v[1], 3, (const size_t[]){2, 3, 4}))
FUNCTION(slice, corral_slice(v[0], 1, 1, 2))
FUNCTION(cat, corral_cat(3, (corral_tensor *const[]){v[0], corral_slice(v[0], 2, 0, 1), v[0]}, 2))
FUNCTION(stack, corral_stack(2, (corral_tensor *const[]){v[0], corral_square(v[0])}, 1))
FUNCTION(pad, corral_pad(v[0], 0, 1, 2, 0.7))
FUNCTION(squeeze, corral_squeeze(corral_unsqueeze(corral_square(v[0]), 1), 1))
FUNCTION(sum_over, corral_square(corral_sum_over(v[0], CORRAL_DIMENSION(0) | CORRAL_DIMENSION(2), false)))
FUNCTION(sum_kept, corral_mul(v[0], corral_sum_over(v[0], CORRAL_DIMENSION(1), true)))
FUNCTION(mean_over, corral_square(corral_mean_over(v[0], CORRAL_ALL_DIMENSIONS, false)))
FUNCTION(variance, corral_variance(v[0], CORRAL_DIMENSION(1), 1.0, false))
FUNCTION(deviation, corral_deviation(v[0], CORRAL_DIMENSION(0) | CORRAL_DIMENSION(1), 0.0, true))
FUNCTION(norm, corral_norm(v[0], CORRAL_DIMENSION(2), false))
FUNCTION(max_over, corral_max_over(v[0], CORRAL_DIMENSION(0), true))
FUNCTION(min_over, corral_min_over(v[0], CORRAL_DIMENSION(1) | CORRAL_DIMENSION(2), false))
FUNCTION(log_sum_exp, corral_log_sum_exp(v[0], CORRAL_DIMENSION(1), false))
FUNCTION(product_over, corral_product_over(v[0], CORRAL_DIMENSION(2), false))
FUNCTION(cumsum, corral_square(corral_cumsum(v[0])))
FUNCTION(softmax, corral_softmax(v[0]))
FUNCTION(sort, corral_mul(corral_sort(v[0], true, NULL), v[0]))
FUNCTION(top_k, corral_top_k(v[0], 2, NULL))
#undef FUNCTION

static corral_tensor *use_index_select(corral_tensor *const *v)
{
    static const int32_t index[] = {2, 0, 2, 2};
    return corral_index_select(v[0], 1, index, 4);
}

static corral_tensor *use_gather_along(corral_tensor *const *v)
{
    static const int32_t index[2 * 2 * 4] = {0, 2, 1, 1, 2, 2, 0, 1, 1, 0, 0, 2, 2, 1, 0, 0};
    return corral_gather_along(v[0], 1, index, 2);
}

static corral_tensor *use_scatter_add(corral_tensor *const *v)
{
    static const int32_t index[2 * 2 * 4] = {0, 2, 1, 1, 2, 2, 0, 1, 1, 0, 0, 2, 2, 1, 0, 0};
    return corral_square(corral_scatter_add(v[0], 1, index, corral_slice(v[0], 1, 0, 2)));
}

static corral_tensor *use_split(corral_tensor *const *v)
{
    corral_tensor *parts[2];
    corral_split(v[0], 2, 2, (const size_t[]){1, 3}, parts);
    return corral_mul(parts[0], parts[1]);
}

static void gradients_follow_differences(void)
{
    static const struct {
        const char *name;
        corral_tensor *(*build)(corral_tensor *const *);
    } cases[] = {
        {"permute", use_permute},
        {"expand", use_expand},
        {"slice", use_slice},
        {"cat", use_cat},
        {"stack", use_stack},
        {"pad", use_pad},
        {"squeeze", use_squeeze},
        {"split", use_split},
        {"index_select", use_index_select},
        {"gather_along", use_gather_along},
        {"scatter_add", use_scatter_add},
        {"sum_over", use_sum_over},
        {"sum_over, kept", use_sum_kept},
        {"mean_over", use_mean_over},
        {"variance", use_variance},
        {"deviation", use_deviation},
        {"norm", use_norm},
        {"max_over", use_max_over},
        {"min_over", use_min_over},
        {"log_sum_exp", use_log_sum_exp},
        {"product_over", use_product_over},
        {"cumsum", use_cumsum},
        {"softmax", use_softmax},
        {"sort", use_sort},
        {"top_k", use_top_k},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        gradient_check check = {.name = cases[c].name,
                                .build = cases[c].build,
                                .variables = {{3, {2, 3, 4}, {0}}, {2, {3, 1}, {0}}},
                                .variable_count = 2};
        for (int v = 0; v < 2; v++) {
            for (size_t i = 0; i < check_count(&check, v); i++)
                check.variables[v].values[i] = 1.1 * sin(0.4 + 1.7 * (double)i + (double)v);
        }
        run_gradient_check(&check, 1e-7);
    }
}

static corral_tape *fresh_tape(void)
{
    corral_tape *tape = NULL;
    TEST_OK(corral_tape_create(&tape));
    corral_tape_reset(tape, NULL, NULL);
    return tape;
}

// --- against plain loops, over random shapes --------------------------------------------------------------

static size_t draw(uint64_t counter, size_t limit)
{
    return (size_t)(corral_stream_u64(42, counter) % limit);
}

static size_t offset_of(const size_t *shape, const size_t *at)
{
    return ((at[0] * shape[1] + at[1]) * shape[2] + at[2]) * shape[3] + at[3];
}

/// Each dimension's set and order against four plain loops, in f32 and f64.
static void reductions_of_random_shapes(void)
{
    static float x32[4096];
    static double x64[4096];
    for (size_t i = 0; i < 4096; i++) {
        x32[i] = corral_stream_float(1, i) - 0.5f;
        x64[i] = (double)x32[i];
    }
    for (uint64_t round = 0; round < 60; round++) {
        const size_t shape[4] = {draw(9 * round, 5), 1 + draw(9 * round + 1, 5), 1 + draw(9 * round + 2, 5),
                                 1 + draw(9 * round + 3, 9)};
        const uint32_t dimensions = (uint32_t)draw(9 * round + 4, 16);
        corral_tape *tape = fresh_tape();
        const corral_tensor *narrow =
            corral_sum_over(corral_input(tape, CORRAL_F32, 4, shape, x32), dimensions, true);
        const corral_tensor *wide =
            corral_sum_over(corral_input(tape, CORRAL_F64, 4, shape, x64), dimensions, true);
        TEST_OK(corral_tape_status(tape));
        double exact[4096] = {0};
        size_t at[4], to[4];
        for (at[0] = 0; at[0] < shape[0]; at[0]++) {
            for (at[1] = 0; at[1] < shape[1]; at[1]++) {
                for (at[2] = 0; at[2] < shape[2]; at[2]++) {
                    for (at[3] = 0; at[3] < shape[3]; at[3]++) {
                        for (size_t d = 0; d < 4; d++)
                            to[d] = (dimensions >> d & 1) ? 0 : at[d];
                        exact[offset_of(wide->shape, to)] += x64[offset_of(shape, at)];
                    }
                }
            }
        }
        for (size_t i = 0; i < corral_tensor_count(wide); i++) {
            CU_ASSERT_DOUBLE_EQUAL(((const double *)wide->data)[i], exact[i], 1e-13);
            CU_ASSERT_DOUBLE_EQUAL((double)((const float *)narrow->data)[i], exact[i], 1e-6);
        }
        corral_tape_destroy(tape);
    }
}

static void permutations_of_random_shapes(void)
{
    static float x[4096];
    for (size_t i = 0; i < 4096; i++)
        x[i] = (float)i;
    for (uint64_t round = 0; round < 60; round++) {
        const size_t shape[4] = {draw(7 * round, 4), 1 + draw(7 * round + 1, 5), 1 + draw(7 * round + 2, 5),
                                 1 + draw(7 * round + 3, 7)};
        uint32_t order[4];
        corral_stream_permutation(43, 4 * round, order, 4);
        corral_tape *tape = fresh_tape();
        const corral_tensor *y = corral_permute(corral_input(tape, CORRAL_F32, 4, shape, x), order);
        TEST_OK(corral_tape_status(tape));
        size_t at[4], from[4], count = 0;
        for (at[0] = 0; at[0] < y->shape[0]; at[0]++) {
            for (at[1] = 0; at[1] < y->shape[1]; at[1]++) {
                for (at[2] = 0; at[2] < y->shape[2]; at[2]++) {
                    for (at[3] = 0; at[3] < y->shape[3]; at[3]++) {
                        for (size_t d = 0; d < 4; d++)
                            from[order[d]] = at[d];
                        CU_ASSERT_EQUAL(((const float *)y->data)[count++], x[offset_of(shape, from)]);
                    }
                }
            }
        }
        CU_ASSERT_EQUAL(count, shape[0] * shape[1] * shape[2] * shape[3]);
        corral_tape_destroy(tape);
    }
}

/// A long row is summed in a tree of its own: alone or among others, the same bits.
static void rows_are_independent(void)
{
    enum { N = 1000, ROWS = 5 };
    static float x[ROWS * N];
    for (size_t i = 0; i < ROWS * N; i++)
        x[i] = corral_stream_float(8, i);
    corral_tape *tape = fresh_tape();
    const corral_tensor *all = corral_sum_over(
        corral_input(tape, CORRAL_F32, 2, (const size_t[]){ROWS, N}, x), CORRAL_DIMENSION(1), false);
    for (size_t r = 0; r < ROWS; r++) {
        const corral_tensor *one = corral_sum_over(
            corral_input(tape, CORRAL_F32, 2, (const size_t[]){1, N}, x + r * N), CORRAL_DIMENSION(1), false);
        CU_ASSERT_EQUAL(*(const float *)one->data, ((const float *)all->data)[r]);
    }
    corral_tape_destroy(tape);
}

// --- edges ------------------------------------------------------------------------------------------------

static void log_sum_exp_knows_infinities(void)
{
    static const double x[3][3] = {
        {1.0, INFINITY, 0.0}, {-INFINITY, -INFINITY, -INFINITY}, {-INFINITY, 2.0, -INFINITY}};
    corral_tape *tape = fresh_tape();
    corral_tensor *v = corral_variable(tape, CORRAL_F64, 2, (const size_t[]){3, 3}, x);
    corral_tensor *y = corral_log_sum_exp(v, CORRAL_DIMENSION(1), false);
    TEST_OK(corral_backward(corral_sum(y)));
    const double *value = y->data, *g = v->grad;
    CU_ASSERT_TRUE(value[0] == INFINITY && value[1] == -INFINITY && value[2] == 2.0);
    CU_ASSERT_TRUE(g[0] == 0.0 && g[1] == 1.0 && g[2] == 0.0);
    CU_ASSERT_TRUE(g[3] == 0.0 && g[4] == 0.0 && g[5] == 0.0 && g[7] == 1.0);
    corral_tape_destroy(tape);
}

static void equal_elements_have_no_spread(void)
{
    static const double x[4] = {2.0, 2.0, 2.0, 2.0}, zero[2] = {0.0, 0.0};
    corral_tape *tape = fresh_tape();
    corral_tensor *v = corral_variable(tape, CORRAL_F64, 1, (const size_t[]){4}, x);
    corral_tensor *z = corral_variable(tape, CORRAL_F64, 1, (const size_t[]){2}, zero);
    corral_tensor *sum = corral_add(corral_deviation(v, CORRAL_ALL_DIMENSIONS, 1.0, false),
                                    corral_norm(z, CORRAL_ALL_DIMENSIONS, false));
    TEST_OK(corral_backward(sum));
    CU_ASSERT_EQUAL(*(double *)sum->data, 0.0);
    CU_ASSERT_TRUE(((double *)v->grad)[0] == 0.0 && ((double *)z->grad)[1] == 0.0);
    corral_tape_destroy(tape);
}

static void masked_rows_of_any_length_are_zero(void)
{
    static double x[300];
    for (size_t i = 0; i < 300; i++)
        x[i] = -INFINITY;
    for (size_t n = 1; n <= 300; n += 23) {
        corral_tape *tape = fresh_tape();
        corral_tensor *v = corral_variable(tape, CORRAL_F64, 2, (const size_t[]){1, n}, x);
        corral_tensor *y = corral_softmax(v);
        TEST_OK(corral_backward(corral_sum(corral_square(y))));
        for (size_t i = 0; i < n; i++)
            CU_ASSERT_TRUE(((double *)y->data)[i] == 0.0 && ((double *)v->grad)[i] == 0.0);
        corral_tape_destroy(tape);
    }
}

static void sorting_is_stable(void)
{
    static const float x[2][5] = {{2, NAN, 1, 2, -INFINITY}, {0, 0, 0, 1, -1}};
    const int32_t *index;
    corral_tape *tape = fresh_tape();
    corral_tensor *v = corral_input(tape, CORRAL_F32, 2, (const size_t[]){2, 5}, x);
    corral_sort(v, false, &index);
    static const int32_t up[] = {4, 2, 0, 3, 1, 4, 0, 1, 2, 3}, down[] = {1, 0, 3, 2, 4, 3, 0, 1, 2, 4};
    CU_ASSERT_EQUAL(memcmp(index, up, sizeof up), 0);
    corral_sort(v, true, &index);
    CU_ASSERT_EQUAL(memcmp(index, down, sizeof down), 0);
    const corral_tensor *best = corral_top_k(v, 2, &index);
    CU_ASSERT_TRUE(index[2] == 3 && index[3] == 0 && ((const float *)best->data)[1] == 2.0f);
    int32_t largest[2];
    corral_argmax(v, largest);
    CU_ASSERT_TRUE(largest[0] == 1 && largest[1] == 3);
    const corral_tensor *hot = corral_one_hot(tape, CORRAL_F32, (const int32_t[]){2, 0}, 2, 3);
    static const float expected[] = {0, 0, 1, 1, 0, 0};
    TEST_OK(corral_tape_status(tape));
    CU_ASSERT_EQUAL(memcmp(hot->data, expected, sizeof expected), 0);
    corral_tape_destroy(tape);
}

static void embeddings_add_up(void)
{
    corral_params *params = NULL;
    uint32_t entry;
    float gradients[64] = {0};
    TEST_OK(corral_params_create(CORRAL_F32, &params));
    TEST_OK(corral_params_add(params, "words", 2, (const size_t[]){3, 2}, &entry));
    TEST_OK(corral_params_seal(params));
    for (size_t i = 0; i < 6; i++)
        ((float *)corral_params_data(params))[i] = (float)i;
    corral_tape *tape = fresh_tape();
    corral_tape_reset(tape, params, gradients);
    corral_tensor *y = corral_embedding(tape, entry, (const int32_t[]){2, 0, 2}, 3);
    static const float expected[] = {4, 5, 0, 1, 4, 5};
    TEST_OK(corral_backward(corral_sum(y)));
    CU_ASSERT_EQUAL(memcmp(y->data, expected, sizeof expected), 0);
    static const float added[] = {1, 1, 0, 0, 2, 2};
    CU_ASSERT_EQUAL(memcmp(gradients, added, sizeof added), 0);
    corral_tape_destroy(tape);
    corral_params_destroy(params);
}

static void nothing_has_its_rules(void)
{
    static const double none[1];
    corral_tape *tape = fresh_tape();
    corral_tensor *x = corral_variable(tape, CORRAL_F64, 2, (const size_t[]){3, 0}, none);
    corral_tensor *sum = corral_sum_over(x, CORRAL_DIMENSION(1), false),
                  *product = corral_product_over(x, CORRAL_DIMENSION(1), false);
    corral_tensor *all = corral_cat(2, (corral_tensor *const[]){sum, product}, 0);
    TEST_OK(corral_backward(corral_sum(all)));
    static const double expected[] = {0, 0, 0, 1, 1, 1};
    CU_ASSERT_EQUAL(memcmp(all->data, expected, sizeof expected), 0);
    corral_max_over(x, CORRAL_DIMENSION(1), false);
    TEST_FAILS(corral_tape_status(tape), CORRAL_ERROR_INVALID, "of nothing");
    corral_tape_destroy(tape);
}

static void misuse_is_a_sentence(void)
{
    static const float x[24] = {0};
    static const char *const texts[] = {"each of the 3 dimensions",
                                        "can be repeated",
                                        "not all among",
                                        "more than dimension 1",
                                        "no dimension 7",
                                        "is not below 3",
                                        "not one",
                                        "the parts hold 3",
                                        "no 9 among"};
    corral_tape *tape = fresh_tape();
    for (int which = 0; which < 9; which++) {
        corral_tape_reset(tape, NULL, NULL);
        corral_tensor *v = corral_input(tape, CORRAL_F32, 3, (const size_t[]){2, 3, 4}, x), *parts[2];
        corral_tensor *w = corral_input(tape, CORRAL_F32, 3, (const size_t[]){3, 2, 4}, x);
        if (which == 0) corral_permute(v, (const uint32_t[]){0, 1, 1});
        if (which == 1) corral_expand(v, 3, (const size_t[]){2, 6, 4});
        if (which == 2) corral_slice(v, 1, 2, 2);
        if (which == 3) corral_cat(2, (corral_tensor *const[]){v, w}, 1);
        if (which == 4) corral_pad(v, 7, 1, 1, 0.0);
        if (which == 5) corral_index_select(v, 1, (const int32_t[]){0, 3}, 2);
        if (which == 6) corral_squeeze(v, 1);
        if (which == 7) corral_split(v, 2, 2, (const size_t[]){1, 2}, parts);
        if (which == 8) corral_top_k(v, 9, NULL);
        TEST_FAILS(corral_tape_status(tape), CORRAL_ERROR_INVALID, texts[which]);
    }
    corral_tape_destroy(tape);
}

int main(void)
{
    return test_run("shapes",
                    (test_case[]){{"gradients follow differences", gradients_follow_differences},
                                  {"reductions of random shapes", reductions_of_random_shapes},
                                  {"permutations of random shapes", permutations_of_random_shapes},
                                  {"rows are independent", rows_are_independent},
                                  {"log sum exp knows infinities", log_sum_exp_knows_infinities},
                                  {"equal elements have no spread", equal_elements_have_no_spread},
                                  {"masked rows of any length are zero", masked_rows_of_any_length_are_zero},
                                  {"sorting is stable", sorting_is_stable},
                                  {"embeddings add up", embeddings_add_up},
                                  {"nothing has its rules", nothing_has_its_rules},
                                  {"misuse is a sentence", misuse_is_a_sentence},
                                  {NULL, NULL}});
}
