// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The losses of losses.h: gradients against central differences in f64, targets against plain arithmetic, the
// PPO loss over rows against the fused one for logits, and edges.

#include "corral/core/losses.h"

#include "corral/base/rng.h"
#include "corral/core/distributions.h"
#include "gradient_check.h"

enum { ROWS = 4, ACTIONS = 2, ATOMS = 5 };

static const int32_t actions[ROWS] = {1, 0, 1, 1};
static const float weights[ROWS] = {1.0f, 0.3f, 0.8f, 1.7f};

// --- C51 --------------------------------------------------------------------------------------------------

static const corral_c51_support support = {.actions = ACTIONS, .atoms = ATOMS, .v_min = -2.0f, .v_max = 2.0f};
static const float target_probs[ROWS * ATOMS] = {0.1f, 0.2f, 0.3f, 0.4f, 0,    0,    0,    1,    0,    0,
                                                 0.5f, 0,    0,    0,    0.5f, 0.2f, 0.2f, 0.2f, 0.2f, 0.2f};

static corral_c51_terms c51_terms(void)
{
    return (corral_c51_terms){.support = support,
                              .action = actions,
                              .target = target_probs,
                              .weight = weights,
                              .total_rows = 2 * ROWS};
}

static corral_tensor *use_c51(corral_tensor *const *v)
{
    const corral_c51_terms terms = c51_terms();
    return corral_c51_loss(v[0], &terms, NULL, NULL);
}

// --- quantiles --------------------------------------------------------------------------------------------

static const float quantile_targets[ROWS * 3] = {0.2f, -1.0f, 3.0f,  0.7f, 0.1f, -0.3f,
                                                 2.2f, 1.9f,  -2.0f, 0.0f, 0.4f, -0.8f};

static corral_quantile_terms quantile_terms(float kappa)
{
    return (corral_quantile_terms){.actions = ACTIONS,
                                   .quantiles = ATOMS,
                                   .targets = 3,
                                   .action = actions,
                                   .target = quantile_targets,
                                   .weight = weights,
                                   .huber_delta = kappa,
                                   .total_rows = ROWS};
}

static corral_tensor *use_quantile(corral_tensor *const *v)
{
    const corral_quantile_terms terms = quantile_terms(1.0f);
    return corral_quantile_loss(v[0], &terms, NULL, NULL);
}

static corral_tensor *use_plain_quantile(corral_tensor *const *v)
{
    const corral_quantile_terms terms = quantile_terms(0.0f);
    return corral_quantile_loss(v[0], &terms, NULL, NULL);
}

// --- PPO --------------------------------------------------------------------------------------------------

static const float old_log_probs[ROWS] = {-1.2f, -0.9f, -0.2f, -1.4f};
static const float old_values[ROWS] = {0.1f, -0.4f, 0.9f, 0.3f};
static const float advantages[ROWS] = {1.0f, -0.7f, 0.4f, -1.3f};
static const float targets[ROWS] = {0.5f, -0.2f, 1.4f, -1.0f};

static corral_ppo_terms ppo_terms(void)
{
    return (corral_ppo_terms){.action = actions,
                              .old_log_prob = old_log_probs,
                              .old_value = old_values,
                              .advantage = advantages,
                              .value_target = targets,
                              .clip_range = 0.2f,
                              .value_clip_range = 0.3f,
                              .value_coefficient = 0.5f,
                              .entropy_coefficient = 0.03f,
                              .kl_coefficient = 0.7f,
                              .total_rows = 2 * ROWS};
}

static corral_tensor *use_ppo_rows(corral_tensor *const *v)
{
    const corral_ppo_terms terms = ppo_terms();
    corral_tensor *entropy = corral_sum_last(corral_square(v[1])), *kl = corral_sum_last(corral_exp(v[2]));
    return corral_ppo_rows_loss(corral_sum_last(v[0]), entropy, corral_sum_last(v[1]), kl, &terms, NULL);
}

static void gradients_follow_differences(void)
{
    gradient_check checks[] = {
        {.name = "c51", .build = use_c51, .variables = {{2, {ROWS, ACTIONS * ATOMS}}}, .variable_count = 1},
        {.name = "quantile",
         .build = use_quantile,
         .variables = {{2, {ROWS, ACTIONS * ATOMS}}},
         .variable_count = 1},
        {.name = "plain quantile",
         .build = use_plain_quantile,
         .variables = {{2, {ROWS, ACTIONS * ATOMS}}},
         .variable_count = 1},
        {.name = "ppo_rows",
         .build = use_ppo_rows,
         .variables = {{2, {ROWS, 2}}, {2, {ROWS, 2}}, {2, {ROWS, 2}}},
         .variable_count = 3},
    };
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        for (int v = 0; v < checks[i].variable_count; v++) {
            for (size_t k = 0; k < check_count(&checks[i], v); k++)
                checks[i].variables[v].values[k] = 1.1 * sin(0.4 + 1.7 * (double)k + (double)v) - 0.3;
        }
        run_gradient_check(&checks[i], 1e-7);
    }
}

// --- against plain arithmetic -----------------------------------------------------------------------------

static void c51_is_its_formula(void)
{
    double x[ROWS * ACTIONS * ATOMS], expected = 0.0;
    float error[ROWS];
    for (size_t i = 0; i < ROWS * ACTIONS * ATOMS; i++)
        x[i] = cos(1.3 * (double)i);
    corral_tape *tape = NULL;
    TEST_OK(corral_tape_create(&tape));
    corral_tape_reset(tape, NULL, NULL);
    const corral_c51_terms terms = c51_terms();
    corral_dqn_stats stats = {0};
    corral_tensor *logits = corral_variable(tape, CORRAL_F64, 2, (const size_t[]){ROWS, ACTIONS * ATOMS}, x);
    corral_tensor *loss = corral_c51_loss(logits, &terms, error, &stats);
    TEST_OK(corral_backward(loss));
    double q = 0.0;
    for (size_t r = 0; r < ROWS; r++) {
        const double *row = x + (r * ACTIONS + (size_t)actions[r]) * ATOMS;
        double sum = 0.0, cross = 0.0;
        for (size_t i = 0; i < ATOMS; i++)
            sum += exp(row[i]);
        for (size_t i = 0; i < ATOMS; i++) {
            cross -= (double)target_probs[r * ATOMS + i] * (row[i] - log(sum));
            q += exp(row[i]) / sum * ((double)i - 2.0);
        }
        CU_ASSERT_DOUBLE_EQUAL((double)error[r], cross, 1e-6);
        expected += (double)weights[r] * cross;
        for (size_t i = 0; i < ATOMS; i++)
            CU_ASSERT_EQUAL(((double *)logits->grad)[(r * ACTIONS + 1 - (size_t)actions[r]) * ATOMS + i],
                            0.0);
    }
    CU_ASSERT_DOUBLE_EQUAL(*(double *)loss->data, expected / (2 * ROWS), 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(stats.loss, expected, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(stats.q, q, 1e-12);
    CU_ASSERT_EQUAL(stats.rows, ROWS);
    corral_tape_destroy(tape);
}

/// The projection keeps the mass, and the mean where nothing is cut off; what falls on an atom stays there.
static void c51_targets_keep_the_mean(void)
{
    enum { MANY = 40 };
    float logits[MANY * ACTIONS * ATOMS], reward[MANY], discount[MANY], target[MANY * ATOMS],
        q[MANY * ACTIONS];
    int32_t next[MANY];
    for (size_t i = 0; i < MANY * ACTIONS * ATOMS; i++)
        logits[i] = 3.0f * corral_stream_float(1, i);
    for (size_t r = 0; r < MANY; r++) {
        discount[r] = 0.5f * corral_stream_float(2, r);
        reward[r] = corral_stream_float(3, r) - 0.5f; // |r + d z| stays below 1.5
        next[r] = (int32_t)(r % ACTIONS);
    }
    corral_c51_values(MANY, &support, logits, q);
    corral_c51_target(MANY, &support, logits, next, reward, discount, target);
    for (size_t r = 0; r < MANY; r++) {
        double mass = 0.0, mean = 0.0;
        for (size_t i = 0; i < ATOMS; i++) {
            mass += (double)target[r * ATOMS + i];
            mean += (double)target[r * ATOMS + i] * ((double)i - 2.0);
            CU_ASSERT_TRUE(target[r * ATOMS + i] >= 0.0f);
        }
        const double expected =
            (double)reward[r] + (double)discount[r] * (double)q[r * ACTIONS + (size_t)next[r]];
        CU_ASSERT_DOUBLE_EQUAL(mass, 1.0, 1e-6);
        CU_ASSERT_DOUBLE_EQUAL(mean, expected, 1e-5);
    }
    // An end: all mass at the reward, between its neighbours; beyond the ends, at the ends.
    const float rewards[4] = {1.0f, 0.25f, 9.0f, -9.0f}, ended[4] = {0};
    corral_c51_target(4, &support, logits, next, rewards, ended, target);
    CU_ASSERT_DOUBLE_EQUAL(target[3], 1.0, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(target[ATOMS + 2], 0.75, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(target[ATOMS + 3], 0.25, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(target[2 * ATOMS + 4], 1.0, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(target[3 * ATOMS + 0], 1.0, 1e-6);
    const float bad = NAN;
    corral_c51_target(1, &support, logits, next, &bad, ended, target);
    CU_ASSERT_TRUE(isnan(target[0]) && isnan(target[4]));
}

static void quantiles_are_their_formula(void)
{
    double x[ROWS * ACTIONS * ATOMS];
    for (size_t i = 0; i < ROWS * ACTIONS * ATOMS; i++)
        x[i] = 2.0 * cos(1.3 * (double)i);
    corral_tape *tape = NULL;
    TEST_OK(corral_tape_create(&tape));
    corral_tape_reset(tape, NULL, NULL);
    const corral_quantile_terms terms = quantile_terms(0.5f);
    corral_tensor *q = corral_variable(tape, CORRAL_F64, 2, (const size_t[]){ROWS, ACTIONS * ATOMS}, x);
    const corral_tensor *loss = corral_quantile_loss(q, &terms, NULL, NULL);
    TEST_OK(corral_tape_status(tape));
    double expected = 0.0;
    for (size_t r = 0; r < ROWS; r++) {
        for (size_t i = 0; i < ATOMS; i++) {
            for (size_t j = 0; j < 3; j++) {
                const double u =
                    (double)quantile_targets[r * 3 + j] - x[(r * ACTIONS + (size_t)actions[r]) * ATOMS + i];
                const double huber = fabs(u) <= 0.5 ? 0.5 * u * u : 0.5 * (fabs(u) - 0.25);
                expected +=
                    (double)weights[r] * fabs(((double)i + 0.5) / ATOMS - (u < 0)) * huber / 0.5 / 3.0 / ROWS;
            }
        }
    }
    CU_ASSERT_DOUBLE_EQUAL(*(const double *)loss->data, expected, 1e-12);
    corral_tape_destroy(tape);

    const float worth[4] = {1.0f, 3.0f, 5.0f, 7.0f}, reward = 1.0f, discount = 0.5f;
    float values[2], target[2];
    corral_quantile_values(1, 2, 2, worth, values);
    CU_ASSERT_TRUE(values[0] == 2.0f && values[1] == 6.0f);
    corral_quantile_target(1, 2, 2, worth, &(int32_t){1}, &reward, &discount, target);
    CU_ASSERT_TRUE(target[0] == 3.5f && target[1] == 4.5f);
}

/// Over the rows of a categorical distribution, the loss is the fused one: values, gradients and statistics.
static void ppo_rows_are_the_fused_loss(void)
{
    static const size_t width = 3;
    double x[ROWS * 3], v[ROWS], old[ROWS * 3];
    float old32[ROWS * 3];
    for (size_t i = 0; i < ROWS * 3; i++) {
        x[i] = sin(0.7 * (double)i);
        old32[i] = (float)(-1.1 + 0.1 * (double)(i % 3)); // log-probabilities but for a rounding
    }
    corral_categorical_log_probs(ROWS, 3, old32, old32);
    for (size_t i = 0; i < ROWS * 3; i++)
        old[i] = (double)old32[i];
    for (size_t r = 0; r < ROWS; r++)
        v[r] = 0.3 * (double)r - 0.2;
    corral_ppo_terms terms = ppo_terms();
    terms.old_log_probs = old32;
    corral_tape *tape = NULL;
    TEST_OK(corral_tape_create(&tape));
    corral_tape_reset(tape, NULL, NULL);
    corral_ppo_stats fused_stats = {0}, stats = {0};
    corral_tensor *a = corral_variable(tape, CORRAL_F64, 2, (const size_t[]){ROWS, 3}, x);
    corral_tensor *b = corral_variable(tape, CORRAL_F64, 2, (const size_t[]){ROWS, 3}, x);
    corral_tensor *va = corral_variable(tape, CORRAL_F64, 2, (const size_t[]){ROWS, 1}, v);
    corral_tensor *vb = corral_variable(tape, CORRAL_F64, 2, (const size_t[]){ROWS, 1}, v);
    corral_tensor *q = corral_input(tape, CORRAL_F64, 2, (const size_t[]){ROWS, 3}, old);
    corral_tensor *fused = corral_ppo_loss(a, va, &terms, &fused_stats);
    corral_tensor *rows = corral_ppo_rows_loss(corral_categorical_log_prob(b, 1, &width, actions),
                                               corral_categorical_entropy(b, 1, &width), vb,
                                               corral_categorical_kl(q, b, 1, &width), &terms, &stats);
    TEST_OK(corral_backward(corral_add(fused, rows)));
    CU_ASSERT_DOUBLE_EQUAL(*(double *)fused->data, *(double *)rows->data, 1e-7); // the old ones are f32
    for (size_t i = 0; i < ROWS * 3; i++)
        CU_ASSERT_DOUBLE_EQUAL(((double *)a->grad)[i], ((double *)b->grad)[i], 1e-7);
    for (size_t r = 0; r < ROWS; r++)
        CU_ASSERT_DOUBLE_EQUAL(((double *)va->grad)[r], ((double *)vb->grad)[r], 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(stats.policy_loss, fused_stats.policy_loss, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(stats.entropy, fused_stats.entropy, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(stats.approx_kl, fused_stats.approx_kl, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(stats.kl, fused_stats.kl, 1e-6);
    CU_ASSERT_EQUAL(stats.clip_fraction, fused_stats.clip_fraction);
    corral_tape_destroy(tape);
}

static void misuse_is_a_sentence(void)
{
    static const double x[ROWS * ACTIONS * ATOMS] = {0};
    static const int32_t wrong[ROWS] = {0, 0, 2, 0};
    corral_tape *tape = NULL;
    TEST_OK(corral_tape_create(&tape));
    for (int which = 0; which < 4; which++) {
        corral_tape_reset(tape, NULL, NULL);
        corral_tensor *row = corral_input(tape, CORRAL_F64, 1, (const size_t[]){ROWS}, x);
        corral_tensor *worths = corral_input(tape, CORRAL_F64, 2, (const size_t[]){ROWS, ACTIONS * ATOMS}, x);
        corral_c51_terms terms = c51_terms();
        corral_quantile_terms quantile = quantile_terms(1.0f);
        corral_ppo_terms ppo = ppo_terms();
        if (which == 0) terms.action = wrong;
        if (which == 1) terms.support.v_max = terms.support.v_min;
        if (which == 2) quantile.targets = 0;
        if (which < 2) corral_c51_loss(worths, &terms, NULL, NULL);
        if (which == 2) corral_quantile_loss(worths, &quantile, NULL, NULL);
        if (which == 3) corral_ppo_rows_loss(row, row, row, NULL, &ppo, NULL);
        static const char *const texts[] = {"action 2 of row 2", "v_min below v_max", "1 target or more",
                                            "needs kl"};
        TEST_FAILS(corral_tape_status(tape), CORRAL_ERROR_INVALID, texts[which]);
    }
    corral_tape_destroy(tape);
}

int main(void)
{
    return test_run("losses", (test_case[]){{"gradients follow differences", gradients_follow_differences},
                                            {"c51 is its formula", c51_is_its_formula},
                                            {"c51 targets keep the mean", c51_targets_keep_the_mean},
                                            {"quantiles are their formula", quantiles_are_their_formula},
                                            {"ppo over rows is the fused loss", ppo_rows_are_the_fused_loss},
                                            {"misuse is a sentence", misuse_is_a_sentence},
                                            {NULL, NULL}});
}
