// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The functions of elements.h: values in f32 and f64 against the C library's over ragged sizes, gradients
// against central differences, and the rules at kinks, at infinities and for what is not chosen.

#include "corral/core/elements.h"

#include "corral/base/rng.h"
#include "gradient_check.h"

static corral_tensor *pow3(corral_tensor *x)
{
    return corral_pow(x, 2.5);
}
static corral_tensor *leaky(corral_tensor *x)
{
    return corral_leaky_relu(x, 0.1);
}
static corral_tensor *elu(corral_tensor *x)
{
    return corral_elu(x, 1.3);
}

static double exact_pow(double x)
{
    return pow(x, 2.5);
}
static double exact_reciprocal(double x)
{
    return 1.0 / x;
}
static double exact_rsqrt(double x)
{
    return 1.0 / sqrt(x);
}
static double exact_leaky(double x)
{
    return x < 0.0 ? 0.1 * x : x;
}
static double exact_elu(double x)
{
    return x < 0.0 ? 1.3 * expm1(x) : x;
}
static double exact_gelu(double x)
{
    return 0.5 * x * erfc(-x / sqrt(2.0));
}
static double exact_gelu_tanh(double x)
{
    return 0.5 * x * (1.0 + tanh(sqrt(2.0 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
}
static double exact_silu(double x)
{
    return x / (1.0 + exp(-x));
}
static double exact_softplus(double x)
{
    return fmax(x, 0.0) + log1p(exp(-fabs(x)));
}
static double exact_log_sigmoid(double x)
{
    return -exact_softplus(-x);
}
static double exact_sign(double x)
{
    return (double)(x > 0.0) - (double)(x < 0.0);
}

typedef struct function_case {
    const char *name;
    corral_tensor *(*operation)(corral_tensor *);
    double (*exact)(double);
    double low, high; // where it is compared
    double ulps;      // of f32; what is a difference of larger numbers is measured against them
    bool smooth;
} function_case;

static const function_case functions[] = {
    {"pow", pow3, exact_pow, 0.01, 4.0, 1.0, true},
    {"reciprocal", corral_reciprocal, exact_reciprocal, 0.1, 4.0, 1.0, true},
    {"rsqrt", corral_rsqrt, exact_rsqrt, 0.1, 4.0, 1.0, true},
    {"log1p", corral_log1p, log1p, -0.9, 4.0, 1.0, true},
    {"expm1", corral_expm1, expm1, -4.0, 4.0, 1.0, true},
    {"sin", corral_sin, sin, -7.0, 7.0, 1.0, true},
    {"cos", corral_cos, cos, -7.0, 7.0, 1.0, true},
    {"atanh", corral_atanh, atanh, -0.95, 0.95, 1.0, true},
    {"erf", corral_erf, erf, -3.0, 3.0, 1.0, true},
    {"leaky_relu", leaky, exact_leaky, -3.0, 3.0, 1.0, true},
    {"elu", elu, exact_elu, -6.0, 3.0, 12.0, true},
    {"gelu", corral_gelu, exact_gelu, -4.0, 4.0, 1.0, true},
    {"gelu_tanh", corral_gelu_tanh, exact_gelu_tanh, -2.0, 4.0, 60.0, true}, // 1 + tanh near -1
    {"silu", corral_silu, exact_silu, -9.0, 9.0, 5.0, true},
    {"softplus", corral_softplus, exact_softplus, -30.0, 30.0, 6.0, true},
    {"log_sigmoid", corral_log_sigmoid, exact_log_sigmoid, -30.0, 30.0, 6.0, true},
    {"sign", corral_sign, exact_sign, -2.0, 2.0, 0.0, false},
    {"floor", corral_floor, floor, -3.0, 3.0, 0.0, false},
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static corral_tape *tape;

static void fresh(void)
{
    if (tape == NULL) TEST_OK(corral_tape_create(&tape));
    corral_tape_reset(tape, NULL, NULL);
}

static void values_are_the_librarys(void)
{
    static const size_t counts[] = {0, 1, 63, 64, 65, 517};
    static float x32[517];
    static double x64[517];
    for (size_t f = 0; f < FUNCTIONS; f++) {
        const function_case *c = &functions[f];
        for (size_t s = 0; s < 6; s++) {
            const size_t count = counts[s];
            for (size_t i = 0; i < count; i++) {
                x32[i] = (float)(c->low + (c->high - c->low) * corral_stream_double(f, i));
                x64[i] = (double)x32[i];
            }
            fresh();
            const corral_tensor *narrow = c->operation(corral_input(tape, CORRAL_F32, 1, &count, x32));
            const corral_tensor *wide = c->operation(corral_input(tape, CORRAL_F64, 1, &count, x64));
            TEST_OK(corral_tape_status(tape));
            for (size_t i = 0; i < count; i++) {
                const double exact = c->exact(x64[i]), found = (double)((const float *)narrow->data)[i];
                const double ulp = fmax(fabs(exact), 1e-30) * 0x1p-23;
                const int close = fabs(found - exact) <= c->ulps * ulp;
                if (!close)
                    fprintf(stderr, "%s(%.9g): %.9g, exact %.9g: %.1f ulp\n", c->name, x64[i], found, exact,
                            fabs(found - exact) / ulp);
                CU_ASSERT_TRUE(close);
                CU_ASSERT_DOUBLE_EQUAL(((const double *)wide->data)[i], exact,
                                       4e-15 * fmax(1.0, fabs(exact)));
            }
        }
    }
}

static corral_tensor *(*current)(corral_tensor *);

static corral_tensor *use_current(corral_tensor *const *v)
{
    return current(v[0]);
}
static corral_tensor *use_power(corral_tensor *const *v)
{
    return corral_power(v[0], v[1]);
}
static corral_tensor *use_where(corral_tensor *const *v)
{
    return corral_where(corral_greater(v[2], corral_constant(v[2]->tape, CORRAL_F64, 0.1)), v[0], v[1]);
}
static const uint64_t five = 5;

static corral_tensor *use_dropout(corral_tensor *const *v)
{
    return corral_dropout(v[0], 0.4, 77, &five);
}

static void gradients_follow_differences(void)
{
    for (size_t f = 0; f < FUNCTIONS; f++) {
        if (!functions[f].smooth) continue;
        gradient_check check = {.name = functions[f].name,
                                .build = use_current,
                                .variables = {{2, {4, 5}, {0}}},
                                .variable_count = 1};
        for (size_t i = 0; i < 20; i++)
            check.variables[0].values[i] =
                functions[f].low + (functions[f].high - functions[f].low) * ((double)i + 0.37) / 20.0;
        current = functions[f].operation;
        run_gradient_check(&check, 2e-7);
    }
    gradient_check pairs[] = {
        {.name = "power",
         .build = use_power,
         .variables = {{2, {3, 4}, {0}}, {1, {4}, {0}}},
         .variable_count = 2},
        {.name = "power, one exponent",
         .build = use_power,
         .variables = {{2, {3, 4}, {0}}, {0, {0}, {0}}},
         .variable_count = 2},
        {.name = "where",
         .build = use_where,
         .variables = {{2, {3, 4}, {0}}, {1, {4}, {0}}, {2, {3, 1}, {0}}},
         .variable_count = 3},
        {.name = "dropout", .build = use_dropout, .variables = {{2, {3, 4}, {0}}}, .variable_count = 1},
    };
    for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++) {
        for (int v = 0; v < pairs[p].variable_count; v++) {
            for (size_t i = 0; i < check_count(&pairs[p], v); i++)
                pairs[p].variables[v].values[i] = 1.2 + sin(1.3 * (double)i + (double)v);
        }
        run_gradient_check(&pairs[p], 1e-7);
    }
}

/// One number through an operation, and its slope.
static double slope_at(corral_tensor *(*operation)(corral_tensor *), double x, double *out_y)
{
    fresh();
    corral_tensor *v = corral_variable(tape, CORRAL_F64, 0, NULL, &x);
    corral_tensor *y = operation(v);
    TEST_OK(corral_backward(y));
    *out_y = *(double *)y->data;
    return *(double *)v->grad;
}

static corral_tensor *squared(corral_tensor *x)
{
    return corral_pow(x, 2.0);
}
static corral_tensor *rooted(corral_tensor *x)
{
    return corral_pow(x, 0.5);
}
static corral_tensor *zeroth(corral_tensor *x)
{
    return corral_pow(x, 0.0);
}

static void edges_have_rules(void)
{
    double y;
    CU_ASSERT_EQUAL(slope_at(squared, 0.0, &y), 0.0);
    CU_ASSERT_EQUAL(slope_at(rooted, 0.0, &y), 0.0);
    CU_ASSERT_TRUE(slope_at(zeroth, 0.0, &y) == 0.0 && y == 1.0);
    CU_ASSERT_EQUAL(slope_at(corral_softplus, 0.0, &y), 0.5);
    CU_ASSERT_TRUE(slope_at(corral_softplus, 1000.0, &y) == 1.0 && y == 1000.0);
    CU_ASSERT_TRUE(slope_at(corral_softplus, -1000.0, &y) == 0.0 && y == 0.0);
    CU_ASSERT_TRUE(slope_at(corral_silu, -INFINITY, &y) == 0.0 && y == 0.0);
    CU_ASSERT_TRUE(slope_at(corral_gelu, -INFINITY, &y) == 0.0 && y == 0.0);
    CU_ASSERT_TRUE(slope_at(corral_gelu, INFINITY, &y) == 1.0 && y == INFINITY);
    CU_ASSERT_TRUE(slope_at(corral_gelu_tanh, -INFINITY, &y) == 0.0 && y == 0.0);
    CU_ASSERT_TRUE(isnan(slope_at(corral_silu, NAN, &y)) && isnan(y));
    CU_ASSERT_TRUE(slope_at(leaky, 0.0, &y) == 0.1 && y == 0.0);
}

/// 0^x has no slope, and an unchosen branch none either, where plain arithmetic would give NaN.
static void what_is_not_chosen_stays_out(void)
{
    static const double base[] = {0.0, 2.0}, exponent[] = {1.5, 0.0}, values[] = {-1.0, 4.0};
    fresh();
    const size_t two = 2;
    corral_tensor *a = corral_variable(tape, CORRAL_F64, 1, &two, base),
                  *b = corral_variable(tape, CORRAL_F64, 1, &two, exponent);
    TEST_OK(corral_backward(corral_sum(corral_power(a, b))));
    CU_ASSERT_TRUE(((double *)a->grad)[0] == 0.0 && ((double *)a->grad)[1] == 0.0);
    CU_ASSERT_EQUAL(((double *)b->grad)[0], 0.0);
    CU_ASSERT_DOUBLE_EQUAL(((double *)b->grad)[1], log(2.0), 1e-15);

    fresh();
    corral_tensor *x = corral_variable(tape, CORRAL_F64, 1, &two, values);
    corral_tensor *zero = corral_constant(tape, CORRAL_F64, 0.0);
    corral_tensor *y = corral_where(corral_greater(x, zero), corral_ln(x), zero);
    TEST_OK(corral_backward(corral_sum(y)));
    CU_ASSERT_TRUE(((double *)y->data)[0] == 0.0 && ((double *)x->grad)[0] == 0.0);
    CU_ASSERT_EQUAL(((double *)x->grad)[1], 0.25);
}

static void comparisons_know_nan(void)
{
    static const float a[] = {1.0f, 2.0f, 3.0f, NAN}, two = 2.0f;
    static corral_tensor *(*const operations[])(corral_tensor *, corral_tensor *) = {
        corral_greater, corral_greater_equal, corral_less, corral_less_equal, corral_equal, corral_not_equal};
    static const float expected[][4] = {{0, 0, 1, 0}, {0, 1, 1, 0}, {1, 0, 0, 0},
                                        {1, 1, 0, 0}, {0, 1, 0, 0}, {1, 0, 1, 1}};
    for (size_t i = 0; i < 6; i++) {
        fresh();
        const size_t four = 4;
        const corral_tensor *y = operations[i](corral_variable(tape, CORRAL_F32, 1, &four, a),
                                               corral_variable(tape, CORRAL_F32, 0, NULL, &two));
        TEST_OK(corral_tape_status(tape));
        CU_ASSERT_EQUAL(memcmp(y->data, expected[i], sizeof expected[i]), 0);
        CU_ASSERT_FALSE(y->requires_grad);
    }
}

static void dropout_is_a_stream(void)
{
    enum { COUNT = 4000 };
    static float x[COUNT], both[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        x[i] = 1.0f;
    fresh();
    const size_t count = COUNT, half = COUNT / 2;
    const uint64_t start = 100, middle = 100 + COUNT / 2;
    const corral_tensor *y = corral_dropout(corral_input(tape, CORRAL_F32, 1, &count, x), 0.25, 9, &start);
    const corral_tensor *left = corral_dropout(corral_input(tape, CORRAL_F32, 1, &half, x), 0.25, 9, &start);
    const corral_tensor *right =
        corral_dropout(corral_input(tape, CORRAL_F32, 1, &half, x), 0.25, 9, &middle);
    TEST_OK(corral_tape_status(tape));
    memcpy(both, left->data, half * sizeof(float));
    memcpy(both + half, right->data, half * sizeof(float));
    CU_ASSERT_EQUAL(memcmp(y->data, both, sizeof both), 0);
    double sum = 0.0;
    for (size_t i = 0; i < COUNT; i++)
        sum += (double)both[i];
    CU_ASSERT_DOUBLE_EQUAL(sum / COUNT, 1.0, 0.05);
    fresh();
    const corral_tensor *none = corral_dropout(corral_input(tape, CORRAL_F32, 1, &half, x), 1.0, 9, &start);
    const corral_tensor *all = corral_dropout(corral_input(tape, CORRAL_F32, 1, &half, x), 0.0, 9, &start);
    CU_ASSERT_TRUE(((const float *)none->data)[7] == 0.0f && ((const float *)all->data)[7] == 1.0f);
    corral_dropout(corral_input(tape, CORRAL_F32, 1, &half, x), 1.5, 9, &start);
    TEST_FAILS(corral_tape_status(tape), CORRAL_ERROR_INVALID, "no probability");
    corral_tape_destroy(tape);
    tape = NULL;
}

int main(void)
{
    return test_run("elements", (test_case[]){{"values are the library's", values_are_the_librarys},
                                              {"gradients follow differences", gradients_follow_differences},
                                              {"edges have rules", edges_have_rules},
                                              {"what is not chosen stays out", what_is_not_chosen_stays_out},
                                              {"comparisons know NaN", comparisons_know_nan},
                                              {"dropout is a stream", dropout_is_a_stream},
                                              {NULL, NULL}});
}
