// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The terms of the PPO loss that are off by default: the bound of the value error and the penalty on the
/// divergence from the policy that acted. Gradients against central differences in f64, and the edges.
#include "test.h"

#include "corral/core/ops.h"

enum { ROWS = 5, ACTIONS = 4 };

static const int32_t actions[ROWS] = {0, 3, 1, 2, 3};
static const float advantages[ROWS] = {1.0f, -0.7f, 0.4f, -1.3f, 0.8f};
static const float old_values[ROWS] = {0.1f, 0.3f, -0.4f, 0.6f, -0.2f};
static const float targets[ROWS] = {0.5f, -0.2f, 1.4f, -1.0f, 0.2f};

/// Two policies, one value function, and the tape that they are worked out on.
typedef struct rig {
    corral_tape *tape;
    double logits[ROWS * ACTIONS], value[ROWS];
    float old_log_prob[ROWS], old_log_probs[ROWS * ACTIONS];
    corral_ppo_terms terms;
    corral_ppo_stats stats;
} rig;

static void rig_init(rig *r)
{
    *r = (rig){0};
    TEST_OK(corral_tape_create(&r->tape));
    float old[ROWS * ACTIONS];
    for (size_t i = 0; i < ROWS * ACTIONS; i++) {
        old[i] = (float)sin(0.3 + 1.7 * (double)i);
        r->logits[i] = (double)old[i] + 0.4 * sin(2.1 * (double)i);
    }
    for (size_t i = 0; i < ROWS; i++)
        r->value[i] = 1.3 * sin(0.9 + 2.3 * (double)i);
    corral_categorical_log_probs(ROWS, ACTIONS, old, r->old_log_probs);
    for (size_t i = 0; i < ROWS; i++)
        r->old_log_prob[i] = r->old_log_probs[i * ACTIONS + (size_t)actions[i]];
    r->terms = (corral_ppo_terms){.action = actions,
                                  .old_log_prob = r->old_log_prob,
                                  .old_value = old_values,
                                  .advantage = advantages,
                                  .value_target = targets,
                                  .old_log_probs = r->old_log_probs,
                                  .clip_range = 0.2f,
                                  .value_coefficient = 0.5f,
                                  .entropy_coefficient = 0.03f,
                                  .total_rows = 2 * ROWS};
}

static void rig_finish(rig *r)
{
    corral_tape_destroy(r->tape);
}

/// The loss; gradients where they are wanted ([ROWS x ACTIONS] by the logits, then [ROWS] by the value).
static double loss_of(rig *r, double *out_gradient)
{
    r->stats = (corral_ppo_stats){0};
    corral_tape_reset(r->tape, NULL, NULL);
    corral_tensor *logits =
        corral_variable(r->tape, CORRAL_F64, 2, (const size_t[]){ROWS, ACTIONS}, r->logits);
    corral_tensor *value = corral_variable(r->tape, CORRAL_F64, 1, (const size_t[]){ROWS}, r->value);
    corral_tensor *loss = corral_ppo_loss(logits, value, &r->terms, &r->stats);
    TEST_OK(corral_tape_status(r->tape));
    const double result = *(const double *)loss->data;
    if (out_gradient == NULL) return result;
    TEST_OK(corral_backward(loss));
    memcpy(out_gradient, logits->grad, ROWS * ACTIONS * sizeof *out_gradient);
    memcpy(out_gradient + ROWS * ACTIONS, value->grad, ROWS * sizeof *out_gradient);
    return result;
}

static void check_gradient(rig *r)
{
    double gradient[ROWS * ACTIONS + ROWS];
    loss_of(r, gradient);
    for (size_t i = 0; i < ROWS * ACTIONS + ROWS; i++) {
        double *at = i < ROWS * ACTIONS ? &r->logits[i] : &r->value[i - ROWS * ACTIONS];
        const double kept = *at, h = 1e-6;
        *at = kept + h;
        const double above = loss_of(r, NULL);
        *at = kept - h;
        const double below = loss_of(r, NULL);
        *at = kept;
        CU_ASSERT_DOUBLE_EQUAL((above - below) / (2.0 * h), gradient[i], 1e-8);
    }
}

static void gradients_follow_differences(void)
{
    const float error_clips[] = {0, 0.3f, 100}, value_clips[] = {0, 0.25f}, coefficients[] = {0, 0.2f, 3};
    for (size_t e = 0; e < 3; e++) {
        for (size_t v = 0; v < 2; v++) {
            for (size_t k = 0; k < 3; k++) {
                rig r;
                rig_init(&r);
                r.terms.value_error_clip = error_clips[e];
                r.terms.value_clip_range = value_clips[v];
                r.terms.kl_coefficient = coefficients[k];
                check_gradient(&r);
                rig_finish(&r);
            }
        }
    }
}

static void an_error_beyond_the_bound_has_no_gradient(void)
{
    rig r;
    rig_init(&r);
    double gradient[ROWS * ACTIONS + ROWS];
    r.terms.value_error_clip = 0.3f;
    loss_of(&r, gradient);
    double expected = 0;
    size_t beyond = 0;
    for (size_t i = 0; i < ROWS; i++) {
        const double error = r.value[i] - (double)targets[i], bound = (double)0.3f;
        expected += 0.5 * fmin(error * error, bound);
        if (error * error > bound) {
            CU_ASSERT_EQUAL(gradient[ROWS * ACTIONS + i], 0);
            beyond++;
        } else {
            CU_ASSERT_NOT_EQUAL(gradient[ROWS * ACTIONS + i], 0);
        }
    }
    CU_ASSERT_TRUE(beyond > 0 && beyond < ROWS);
    CU_ASSERT_DOUBLE_EQUAL(r.stats.value_loss, expected, 1e-12);
    rig_finish(&r);
}

/// sum of q (log q - log p), worked out from the probabilities.
static double divergence(const rig *r, size_t row)
{
    const double *logits = r->logits + row * ACTIONS;
    double sum = 0, kl = 0;
    for (size_t a = 0; a < ACTIONS; a++)
        sum += exp(logits[a]);
    for (size_t a = 0; a < ACTIONS; a++) {
        const double log_q = (double)r->old_log_probs[row * ACTIONS + a];
        kl += exp(log_q) * (log_q - (logits[a] - log(sum)));
    }
    return kl;
}

static void the_penalty_is_the_divergence(void)
{
    rig r;
    rig_init(&r);
    const double without = loss_of(&r, NULL);
    CU_ASSERT_EQUAL(r.stats.kl, 0);
    r.terms.kl_coefficient = 0.25f;
    const double with = loss_of(&r, NULL);
    double expected = 0;
    for (size_t i = 0; i < ROWS; i++)
        expected += divergence(&r, i);
    CU_ASSERT_TRUE(expected > 0.01);
    CU_ASSERT_DOUBLE_EQUAL(r.stats.kl, expected, 1e-12);
    CU_ASSERT_EQUAL(r.stats.infinite_kl, 0);
    CU_ASSERT_DOUBLE_EQUAL(with - without, 0.25 * expected / (2 * ROWS), 1e-12);
    rig_finish(&r);
}

/// In f32, where training happens: KL and its part of the gradient over one row of two actions.
static double divergence_f32(const float *old, const float *new, corral_ppo_stats *stats, float *out_gradient)
{
    static const int32_t action[1] = {0};
    static const float zero[1] = {0};
    float old_log_probs[2];
    corral_tape *tape;
    TEST_OK(corral_tape_create(&tape));
    corral_categorical_log_probs(1, 2, old, old_log_probs);
    const corral_ppo_terms terms = {.action = action,
                                    .old_log_prob = old_log_probs,
                                    .old_value = zero,
                                    .advantage = zero,
                                    .value_target = zero,
                                    .old_log_probs = old_log_probs,
                                    .clip_range = 0.2f,
                                    .kl_coefficient = 1,
                                    .total_rows = 1};
    *stats = (corral_ppo_stats){0};
    corral_tape_reset(tape, NULL, NULL);
    corral_tensor *logits = corral_variable(tape, CORRAL_F32, 2, (const size_t[]){1, 2}, new);
    corral_tensor *loss = corral_ppo_loss(
        logits, corral_variable(tape, CORRAL_F32, 1, (const size_t[]){1}, zero), &terms, stats);
    TEST_OK(corral_backward(loss));
    memcpy(out_gradient, logits->grad, 2 * sizeof *out_gradient);
    const double result = (double)*(const float *)loss->data;
    corral_tape_destroy(tape);
    return result;
}

static void equal_policies_do_not_diverge(void)
{
    for (int i = 0; i < 50; i++) {
        const float logits[2] = {(float)sin(i), 3 * (float)cos(2 * i)};
        corral_ppo_stats stats;
        float gradient[2];
        CU_ASSERT_EQUAL(divergence_f32(logits, logits, &stats, gradient), 0);
        CU_ASSERT_DOUBLE_EQUAL(gradient[0], 0, 1e-6);
    }
}

static void opposite_policies_diverge_by_a_finite_number(void)
{
    const float left[2] = {100, -100}, right[2] = {-100, 100};
    corral_ppo_stats stats;
    float gradient[2];
    CU_ASSERT_DOUBLE_EQUAL(divergence_f32(left, right, &stats, gradient), 200, 1e-3);
    CU_ASSERT_EQUAL(stats.infinite_kl, 0);
    CU_ASSERT_DOUBLE_EQUAL(gradient[0], -1, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(gradient[1], 1, 1e-6);
}

static void an_infinite_divergence_is_counted_and_left_out(void)
{
    const float both[2] = {0.5f, 0.1f}, first[2] = {0.5f, -INFINITY};
    corral_ppo_stats stats;
    float gradient[2];
    CU_ASSERT_EQUAL(divergence_f32(both, first, &stats, gradient), 0); // what was possible no longer is
    CU_ASSERT_EQUAL(stats.infinite_kl, 1);
    CU_ASSERT_EQUAL(stats.kl, 0);
    CU_ASSERT_EQUAL(gradient[0], 0);
    CU_ASSERT_EQUAL(gradient[1], 0);
    CU_ASSERT_TRUE(divergence_f32(first, both, &stats, gradient) > 0); // the other way round is no trouble
    CU_ASSERT_TRUE(isfinite(stats.kl) && stats.infinite_kl == 0);
    CU_ASSERT_EQUAL(divergence_f32(first, first, &stats, gradient), 0);
    CU_ASSERT_EQUAL(stats.infinite_kl, 0);
}

static void a_penalty_needs_the_old_policy(void)
{
    rig r;
    rig_init(&r);
    r.terms.old_log_probs = NULL;
    loss_of(&r, NULL);
    r.terms.kl_coefficient = 0.2f;
    corral_tape_reset(r.tape, NULL, NULL);
    corral_ppo_loss(corral_variable(r.tape, CORRAL_F64, 2, (const size_t[]){ROWS, ACTIONS}, r.logits),
                    corral_variable(r.tape, CORRAL_F64, 1, (const size_t[]){ROWS}, r.value), &r.terms, NULL);
    TEST_FAILS(corral_tape_status(r.tape), CORRAL_ERROR_INVALID, "needs old_log_probs");
    rig_finish(&r);
}

int main(void)
{
    return test_run(
        "ppo loss",
        (test_case[]){
            {"gradients follow differences", gradients_follow_differences},
            {"an error beyond the bound has no gradient", an_error_beyond_the_bound_has_no_gradient},
            {"the penalty is the divergence", the_penalty_is_the_divergence},
            {"equal policies do not diverge", equal_policies_do_not_diverge},
            {"opposite policies diverge by a finite number", opposite_policies_diverge_by_a_finite_number},
            {"an infinite divergence is counted and left out",
             an_infinite_divergence_is_counted_and_left_out},
            {"a penalty needs the old policy", a_penalty_needs_the_old_policy},
            {NULL, NULL},
        });
}
