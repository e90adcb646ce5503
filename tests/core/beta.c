// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Beta distributions: gradients, samples' too, and everything that is said of them against integrals of the
// density.

#include "corral/core/distributions.h"
#include "corral/core/elements.h"

#include "corral/base/rng.h"
#include "gradient_check.h"

enum { ROWS = 2, N = 3 };
static const double uniforms[ROWS * N] = {0.03, 0.5, 0.97, 0.31, 0.72, 0.11};

/// Parameters from about 0.3 to 6.
static corral_tensor *positive(corral_tensor *x)
{
    return corral_add(corral_softplus(corral_scale(x, 4.0)), corral_constant(x->tape, CORRAL_F64, 0.3));
}
static corral_tensor *use_log_prob(corral_tensor *const *v)
{
    return corral_beta_log_prob(positive(v[0]), positive(v[1]), corral_sigmoid(v[2]));
}
static corral_tensor *use_entropy(corral_tensor *const *v)
{
    return corral_beta_entropy(positive(v[0]), positive(v[1]));
}
static corral_tensor *use_kl(corral_tensor *const *v)
{
    return corral_beta_kl(positive(v[0]), positive(v[1]), positive(v[2]), positive(corral_neg(v[0])));
}
static corral_tensor *use_rsample(corral_tensor *const *v)
{
    corral_tensor *u = corral_input(v[0]->tape, CORRAL_F64, 2, (const size_t[]){ROWS, N}, uniforms);
    return corral_beta_rsample(positive(v[0]), positive(v[1]), u);
}

static void gradients_follow_differences(void)
{
    gradient_check checks[] = {{.name = "beta_log_prob", .build = use_log_prob, .variable_count = 3},
                               {.name = "beta_entropy", .build = use_entropy, .variable_count = 2},
                               {.name = "beta_kl", .build = use_kl, .variable_count = 3},
                               {.name = "beta_rsample", .build = use_rsample, .variable_count = 2}};
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        for (int v = 0; v < checks[i].variable_count; v++) {
            checks[i].variables[v].dimension_count = 2;
            checks[i].variables[v].shape[0] = ROWS, checks[i].variables[v].shape[1] = N;
            for (size_t k = 0; k < ROWS * N; k++)
                checks[i].variables[v].values[k] = 1.3 * sin(0.4 + 1.7 * (double)k + (double)v);
        }
        run_gradient_check(&checks[i], 1e-6);
    }
}

// --- against integrals ------------------------------------------------------------------------------------

static const double parameters[][2] = {{2.5, 1.2}, {1.0, 1.0}, {30.0, 45.0},
                                       {3.0, 1.0}, {0.7, 4.0}, {900.0, 200.0}};
enum { PAIRS = sizeof parameters / sizeof *parameters, STEPS = 60000 };

/// By the C library's own function.
static double log_density(const double *p, double x)
{
    return (p[0] - 1.0) * log(x) + (p[1] - 1.0) * log1p(-x) + lgamma(p[0] + p[1]) - lgamma(p[0]) -
           lgamma(p[1]);
}

/// The integral from 0 to `end` of the density times what `what` says; x = t^3 (10 - 15 t + 6 t^2) lies dense
/// at both ends, where densities may be infinite.
static double integral(const double *p, double end,
                       double (*what)(const double *p, const double *q, double x), const double *q)
{
    double sum = 0.0;
    for (size_t i = 0; i < STEPS; i++) {
        const double t = ((double)i + 0.5) / STEPS, x = t * t * t * (10.0 - 15.0 * t + 6.0 * t * t);
        if (x >= end) break;
        sum += 30.0 * t * t * (1.0 - t) * (1.0 - t) / STEPS * exp(log_density(p, x)) * what(p, q, x);
    }
    return sum;
}
static double one(const double *p, const double *q, double x)
{
    (void)p, (void)q, (void)x;
    return 1.0;
}
static double surprise(const double *p, const double *q, double x)
{
    (void)q;
    return -log_density(p, x);
}
static double gap(const double *p, const double *q, double x)
{
    return log_density(p, x) - log_density(q, x);
}

static void numbers_are_integrals(void)
{
    corral_tape *tape = NULL;
    TEST_OK(corral_tape_create(&tape));
    for (size_t i = 0; i < PAIRS; i++) {
        const double *p = parameters[i], *q = parameters[(i + 2) % PAIRS], value = 0.37;
        const size_t shape[] = {1, 1};
        corral_tape_reset(tape, NULL, NULL);
        corral_tensor *a = corral_input(tape, CORRAL_F64, 2, shape, p);
        corral_tensor *b = corral_input(tape, CORRAL_F64, 2, shape, p + 1);
        corral_tensor *x = corral_input(tape, CORRAL_F64, 2, shape, &value);
        const corral_tensor *log_prob = corral_beta_log_prob(a, b, x), *entropy = corral_beta_entropy(a, b);
        const corral_tensor *kl = corral_beta_kl(a, b, corral_input(tape, CORRAL_F64, 2, shape, q),
                                                 corral_input(tape, CORRAL_F64, 2, shape, q + 1));
        TEST_OK(corral_tape_status(tape));
        CU_ASSERT_DOUBLE_EQUAL(*(double *)log_prob->data, log_density(p, value), 1e-9);
        CU_ASSERT_DOUBLE_EQUAL(*(double *)entropy->data, integral(p, 1.0, surprise, NULL), 1e-6);
        const double exact = integral(p, 1.0, gap, q);
        CU_ASSERT_DOUBLE_EQUAL(*(double *)kl->data, exact, 1e-6 * fmax(1.0, exact));
    }
    corral_tape_destroy(tape);
}

static void a_sample_has_its_share_below(void)
{
    static const double shares[] = {1e-6, 0.01, 0.3, 0.5, 0.8, 0.999};
    corral_tape *tape = NULL;
    TEST_OK(corral_tape_create(&tape));
    for (size_t i = 0; i < PAIRS * 6; i++) {
        const double *p = parameters[i / 6], *u = &shares[i % 6];
        const size_t shape[] = {1, 1};
        corral_tape_reset(tape, NULL, NULL);
        const corral_tensor *x = corral_beta_rsample(corral_input(tape, CORRAL_F64, 2, shape, p),
                                                     corral_input(tape, CORRAL_F64, 2, shape, p + 1),
                                                     corral_input(tape, CORRAL_F64, 2, shape, u));
        TEST_OK(corral_tape_status(tape));
        const double sample = *(double *)x->data;
        CU_ASSERT_TRUE(sample > 0.0 && sample < 1.0);
        CU_ASSERT_DOUBLE_EQUAL(integral(p, sample, one, NULL), *u, 1e-3 * *u + 2e-5); // the last step is cut
    }
    corral_tape_destroy(tape);
}

// --- acting -----------------------------------------------------------------------------------------------

static void acting_and_learning_share_bits(void)
{
    enum { MANY = 40 };
    float a[MANY], b[MANY], u[MANY], value[MANY], log_prob[MANY / 2];
    for (size_t i = 0; i < MANY; i++) {
        a[i] = 0.2f + 9.0f * corral_stream_float(1, i);
        b[i] = 0.2f + 9.0f * corral_stream_float(2, i);
        u[i] = corral_stream_float(3, i);
    }
    u[0] = 0.0f, u[1] = 1.0f; // the ends of what a stream could draw, and beyond
    corral_beta_sample(MANY / 2, 2, a, b, u, value, log_prob);
    corral_tape *tape = NULL;
    TEST_OK(corral_tape_create(&tape));
    corral_tape_reset(tape, NULL, NULL);
    const size_t shape[] = {MANY / 2, 2};
    corral_tensor *alpha = corral_input(tape, CORRAL_F32, 2, shape, a);
    corral_tensor *beta = corral_input(tape, CORRAL_F32, 2, shape, b);
    corral_tensor *x = corral_beta_rsample(alpha, beta, corral_input(tape, CORRAL_F32, 2, shape, u));
    const corral_tensor *same = corral_beta_log_prob(alpha, beta, x);
    TEST_OK(corral_tape_status(tape));
    CU_ASSERT_EQUAL(memcmp(x->data, value, sizeof value), 0);
    CU_ASSERT_EQUAL(memcmp(same->data, log_prob, sizeof log_prob), 0);
    for (size_t i = 0; i < MANY; i++)
        CU_ASSERT_TRUE(value[i] > 0.0f && value[i] < 1.0f && isfinite(log_prob[i / 2]));
    corral_tape_destroy(tape);
}

static void edges(void)
{
    static const float a[] = {3.0f, 1.0f, 4.0f, 0.5f, 1.0f}, b[] = {2.0f, 2.0f, 1.0f, 0.5f, 1.0f};
    static const float expected[] = {2.0f / 3.0f, 0.0f, 1.0f, 0.5f, 0.5f};
    float mode[5], log_prob[3];
    corral_beta_mode(5, a, b, mode);
    CU_ASSERT_EQUAL(memcmp(mode, expected, sizeof mode), 0);
    // At the end of the range a parameter of 1 says nothing; beyond it there is nothing; no parameter is 0.
    corral_beta_log_probs(3, 1, (const float[]){1, 2, 0}, (const float[]){1, 2, 1},
                          (const float[]){0.0f, 1.5f, 0.5f}, log_prob);
    CU_ASSERT_TRUE(fabsf(log_prob[0]) < 1e-12f && log_prob[1] == -INFINITY && isnan(log_prob[2]));
    corral_tape *tape = NULL;
    TEST_OK(corral_tape_create(&tape));
    corral_tape_reset(tape, NULL, NULL);
    corral_beta_entropy(corral_input(tape, CORRAL_F32, 2, (const size_t[]){2, 2}, a),
                        corral_input(tape, CORRAL_F32, 1, (const size_t[]){4}, b));
    TEST_FAILS(corral_tape_status(tape), CORRAL_ERROR_INVALID, "shapes differ");
    corral_tape_reset(tape, NULL, NULL);
    corral_tensor *none = corral_variable(tape, CORRAL_F64, 2, (const size_t[]){0, 2}, a);
    TEST_OK(corral_backward(corral_sum(corral_beta_log_prob(none, none, none))));
    corral_tape_destroy(tape);
}

int main(void)
{
    return test_run("beta", (test_case[]){{"gradients follow differences", gradients_follow_differences},
                                          {"numbers are integrals", numbers_are_integrals},
                                          {"a sample has its share below", a_sample_has_its_share_below},
                                          {"acting and learning share bits", acting_and_learning_share_bits},
                                          {"edges", edges},
                                          {NULL, NULL}});
}
