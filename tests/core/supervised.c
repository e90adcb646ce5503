// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Supervised losses against their formulas and central differences, and V-trace against its sum.

#include "corral/core/elements.h"
#include "corral/core/losses.h"

#include "gradient_check.h"

enum { ROWS = 4, CLASSES = 5 };

static const int32_t classes[ROWS] = {3, -1, 0, 4};
static corral_cross_entropy_terms terms = {.target = classes, .ignored = -1};

static corral_tensor *use_cross_entropy(corral_tensor *const *v)
{
    return corral_cross_entropy_loss(v[0], &terms);
}
static corral_tensor *use_bce(corral_tensor *const *v)
{
    return corral_bce_with_logits_loss(v[0], corral_square(v[1]));
}
static corral_tensor *use_huber(corral_tensor *const *v)
{
    return corral_huber_loss(v[0], v[1], 0.7);
}
static corral_tensor *use_l1(corral_tensor *const *v)
{
    return corral_l1_loss(v[0], v[1]);
}
static corral_tensor *use_gaussian(corral_tensor *const *v)
{
    return corral_gaussian_nll_loss(v[0], corral_scale(v[1], 0.5), v[1]);
}

static void gradients_follow_differences(void)
{
    static const struct {
        const char *name;
        corral_tensor *(*build)(corral_tensor *const *);
        float smoothing;
        size_t total_rows;
        int variable_count;
    } cases[] = {{"cross entropy", use_cross_entropy, 0.0f, 0, 1},
                 {"smoothed", use_cross_entropy, 0.2f, 7, 1},
                 {"bce", use_bce, 0, 0, 2},
                 {"huber", use_huber, 0, 0, 2},
                 {"l1", use_l1, 0, 0, 2},
                 {"gaussian", use_gaussian, 0, 0, 2}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        gradient_check check = {.name = cases[c].name,
                                .build = cases[c].build,
                                .variables = {{2, {ROWS, CLASSES}, {0}}, {2, {ROWS, CLASSES}, {0}}},
                                .variable_count = cases[c].variable_count};
        for (int v = 0; v < check.variable_count; v++) {
            for (size_t i = 0; i < ROWS * CLASSES; i++)
                check.variables[v].values[i] = sin(0.4 + 1.9 * (double)i + 2.0 * (double)v);
        }
        terms.smoothing = cases[c].smoothing;
        terms.total_rows = cases[c].total_rows;
        run_gradient_check(&check, 1e-7);
    }
}

static void cross_entropy_is_its_formula(void)
{
    double x[ROWS * CLASSES], expected = 0.0;
    for (size_t i = 0; i < ROWS * CLASSES; i++)
        x[i] = cos(1.3 * (double)i);
    corral_tape *tape = NULL;
    TEST_OK(corral_tape_create(&tape));
    corral_tape_reset(tape, NULL, NULL);
    terms.smoothing = 0.1f;
    terms.total_rows = 0;
    corral_tensor *logits = corral_variable(tape, CORRAL_F64, 2, (const size_t[]){ROWS, CLASSES}, x);
    corral_tensor *loss = corral_cross_entropy_loss(logits, &terms);
    TEST_OK(corral_backward(loss));
    for (size_t r = 0; r < ROWS; r++) {
        double sum = 0.0, mean = 0.0;
        if (classes[r] == -1) continue;
        for (size_t a = 0; a < CLASSES; a++)
            sum += exp(x[r * CLASSES + a]);
        for (size_t a = 0; a < CLASSES; a++)
            mean += (x[r * CLASSES + a] - log(sum)) / CLASSES;
        const double smoothing = (double)terms.smoothing;
        expected -=
            ((1 - smoothing) * (x[r * CLASSES + (size_t)classes[r]] - log(sum)) + smoothing * mean) / 3.0;
    }
    CU_ASSERT_DOUBLE_EQUAL(*(double *)loss->data, expected, 1e-12);
    for (size_t a = 0; a < CLASSES; a++)
        CU_ASSERT_EQUAL(((double *)logits->grad)[CLASSES + a], 0.0);
    corral_tape_destroy(tape);
}

/// -inf logits and a batch of ignored rows leave no NaN.
static void edges_stay_finite(void)
{
    static const double x[2][3] = {{-INFINITY, 1.0, 2.0}, {900.0, -900.0, 0.0}},
                        target[2][3] = {{0, 1, 1}, {1, 0, 1}};
    static const int32_t known[] = {1, 0}, none[] = {-1, -1};
    corral_tape *tape = NULL;
    TEST_OK(corral_tape_create(&tape));
    for (int ignored = 0; ignored < 2; ignored++) {
        corral_tape_reset(tape, NULL, NULL);
        const corral_cross_entropy_terms some = {
            .target = ignored ? none : known, .ignored = -1, .smoothing = 0.3f};
        corral_tensor *v = corral_variable(tape, CORRAL_F64, 2, (const size_t[]){2, 3}, x);
        corral_tensor *loss = corral_cross_entropy_loss(v, &some);
        TEST_OK(corral_backward(loss));
        CU_ASSERT_TRUE(isfinite(*(double *)loss->data) && (!ignored || *(double *)loss->data == 0.0));
        for (size_t i = 0; i < 6; i++)
            CU_ASSERT_TRUE(isfinite(((double *)v->grad)[i]) && (!ignored || ((double *)v->grad)[i] == 0.0));
    }
    corral_tape_reset(tape, NULL, NULL);
    corral_tensor *sure = corral_variable(tape, CORRAL_F64, 1, (const size_t[]){3}, x[1]);
    corral_tensor *bce =
        corral_bce_with_logits_loss(sure, corral_input(tape, CORRAL_F64, 1, (const size_t[]){3}, target[1]));
    TEST_OK(corral_backward(bce));
    CU_ASSERT_DOUBLE_EQUAL(*(double *)bce->data, log(2.0) / 3.0, 1e-12);
    corral_tape_reset(tape, NULL, NULL);
    static const int32_t wrong[] = {1, 3};
    const corral_cross_entropy_terms bad = {.target = wrong, .ignored = -1};
    corral_cross_entropy_loss(corral_input(tape, CORRAL_F64, 2, (const size_t[]){2, 3}, x), &bad);
    TEST_FAILS(corral_tape_status(tape), CORRAL_ERROR_INVALID, "target 3 of row 1");
    corral_tape_destroy(tape);
}

// --- V-trace ----------------------------------------------------------------------------------------------

enum { STEPS = 5, ALL = 2 * STEPS };

/// The definition: v_s = V(s) + the sum over t >= s of gamma^(t-s) (c_s .. c_(t-1)) rho_t delta_t.
static double vtrace_sum(const corral_vtrace_terms *t, size_t s, const uint8_t *cut)
{
    double sum = (double)t->value[s], weight = 1.0;
    for (size_t r = s;; r++) {
        const double ratio = exp((double)t->log_ratio[r]), discount = (double)t->discount[r];
        const double rho = fmin((double)t->rho_clip, ratio),
                     c = (double)t->lambda * fmin((double)t->c_clip, ratio);
        const double delta = (double)t->reward[r] + discount * (double)t->next_value[r] - (double)t->value[r];
        sum += weight * rho * delta;
        weight *= discount * c;
        if ((r + 1) % STEPS == 0 || cut[r]) return sum;
    }
}

static void vtrace_is_its_sum(void)
{
    float log_ratio[ALL], reward[ALL], discount[ALL], value[ALL], next[ALL], target[ALL], advantage[ALL];
    uint8_t cut[ALL] = {0};
    for (size_t i = 0; i < ALL; i++) {
        log_ratio[i] = (float)(0.8 * sin(1.1 * (double)i));
        reward[i] = (float)cos(0.7 * (double)i);
        value[i] = (float)(0.5 * sin(0.4 * (double)i + 1.0));
        discount[i] = i == 2 ? 0.0f : 0.9f; // row 2 ends an episode, row 6 is where a time limit cut one
        cut[i] = i == 2 || i == 6;
    }
    for (size_t i = 0; i < ALL; i++)
        next[i] = cut[i] || (i + 1) % STEPS == 0 ? (float)(0.3 + 0.1 * (double)i) : value[i + 1];
    const corral_vtrace_terms t = {.steps = STEPS,
                                   .log_ratio = log_ratio,
                                   .reward = reward,
                                   .discount = discount,
                                   .value = value,
                                   .next_value = next,
                                   .cut = cut,
                                   .rho_clip = 1.0f,
                                   .c_clip = 0.9f,
                                   .policy_rho_clip = 1.1f,
                                   .lambda = 0.95f};
    corral_vtrace(ALL, &t, target, advantage);
    for (size_t i = 0; i < ALL; i++) {
        const double exact = vtrace_sum(&t, i, cut);
        const double follows = cut[i] || (i + 1) % STEPS == 0 ? (double)next[i] : vtrace_sum(&t, i + 1, cut);
        const double rho = fmin(1.1, exp((double)log_ratio[i]));
        CU_ASSERT_DOUBLE_EQUAL((double)target[i], exact, 1e-6);
        CU_ASSERT_DOUBLE_EQUAL((double)advantage[i],
                               rho * ((double)reward[i] + (double)discount[i] * follows - (double)value[i]),
                               1e-6);
    }
}

int main(void)
{
    return test_run("supervised",
                    (test_case[]){{"gradients follow differences", gradients_follow_differences},
                                  {"cross entropy is its formula", cross_entropy_is_its_formula},
                                  {"edges stay finite", edges_stay_finite},
                                  {"V-trace is its sum", vtrace_is_its_sum},
                                  {NULL, NULL}});
}
