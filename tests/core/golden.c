// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Against numbers that others computed: Adam, clipping, the PPO loss, the categorical distribution, Huber.

#include "golden_numbers.h"

#include "corral/core/ops.h"
#include "corral/core/optim.h"

static corral_params *vector_params(corral_dtype dtype, const double *values, size_t count)
{
    corral_params *params = NULL;
    uint32_t index;
    TEST_OK(corral_params_create(dtype, &params));
    TEST_OK(corral_params_add(params, "w", 1, &count, &index));
    TEST_OK(corral_params_seal(params));
    for (size_t i = 0; i < count; i++) {
        if (dtype == CORRAL_F64) ((double *)corral_params_data(params))[i] = values[i];
        if (dtype == CORRAL_F32) ((float *)corral_params_data(params))[i] = (float)values[i];
    }
    return params;
}

static double element(corral_dtype dtype, const void *block, size_t i)
{
    return dtype == CORRAL_F64 ? ((const double *)block)[i] : (double)((const float *)block)[i];
}

static void put(corral_dtype dtype, void *block, size_t i, double value)
{
    if (dtype == CORRAL_F64) ((double *)block)[i] = value;
    if (dtype == CORRAL_F32) ((float *)block)[i] = (float)value;
}

static void run_adam(corral_dtype dtype, double tolerance)
{
    enum { STEPS = 5, COUNT = 3 };
    static const char *const name = "adam_lr1e-3_eps1e-5";
    double start[COUNT], grad[COUNT], expected[COUNT];
    CU_ASSERT_EQUAL_FATAL(golden(name, NULL, "init", start, COUNT), COUNT);
    corral_params *params = vector_params(dtype, start, COUNT);
    corral_optimizer_config config = corral_optimizer_config_default();
    config.epsilon = 1e-5;
    corral_optimizer *optimizer = NULL;
    TEST_OK(corral_optimizer_create(&config, params, &optimizer));
    for (int step = 1; step <= STEPS; step++) {
        char behind[32];
        snprintf(behind, sizeof behind, "\"t\":%d,", step);
        CU_ASSERT_EQUAL_FATAL(golden(name, behind, "grad", grad, COUNT), COUNT);
        CU_ASSERT_EQUAL_FATAL(golden(name, behind, "param", expected, COUNT), COUNT);
        void *lane = corral_optimizer_lane(optimizer, 0);
        for (size_t i = 0; i < COUNT; i++)
            put(dtype, lane, i, grad[i]);
        TEST_OK(corral_optimizer_step(optimizer, 1, 1e-3, NULL, NULL));
        for (size_t i = 0; i < COUNT; i++) {
            CU_ASSERT_DOUBLE_EQUAL(element(dtype, corral_params_data(params), i), expected[i], tolerance);
        }
    }
    CU_ASSERT_EQUAL(corral_optimizer_steps(optimizer), STEPS);
    corral_optimizer_destroy(optimizer);
    corral_params_destroy(params);
}

static void adam(void)
{
    run_adam(CORRAL_F64, 1e-12);
    run_adam(CORRAL_F32, 4e-7);
}

/// Clipping, seen through plain gradient descent at rate 1 from zero: the weights are minus the clipped
/// gradient.
static void clipping(void)
{
    enum { COUNT = 3 };
    double g[COUNT], clipped[COUNT], norm = 0.0;
    CU_ASSERT_EQUAL_FATAL(golden("clip_grad_norm_0.5", NULL, "g", g, COUNT), COUNT);
    CU_ASSERT_EQUAL_FATAL(golden("clip_grad_norm_0.5", NULL, "clipped", clipped, COUNT), COUNT);
    for (int dtype = 0; dtype < CORRAL_DTYPE_COUNT; dtype++) {
        corral_params *params = vector_params((corral_dtype)dtype, (const double[COUNT]){0}, COUNT);
        const corral_optimizer_config config = {.kind = CORRAL_SGD, .max_grad_norm = 0.5};
        corral_optimizer *optimizer = NULL;
        TEST_OK(corral_optimizer_create(&config, params, &optimizer));
        void *lane = corral_optimizer_lane(optimizer, 0);
        for (size_t i = 0; i < COUNT; i++)
            put((corral_dtype)dtype, lane, i, g[i]);
        TEST_OK(corral_optimizer_step(optimizer, 1, 1.0, NULL, &norm));
        CU_ASSERT_EQUAL(norm, golden_number("clip_grad_norm_0.5", "norm"));
        for (size_t i = 0; i < COUNT; i++) {
            const double w = element((corral_dtype)dtype, corral_params_data(params), i);
            CU_ASSERT_DOUBLE_EQUAL(-w, clipped[i], dtype == CORRAL_F64 ? 1e-14 : 1e-7);
        }
        corral_optimizer_destroy(optimizer);
        corral_params_destroy(params);
    }
}

/// Two actions whose first has the golden log-probability.
static void run_ppo(corral_tape *tape, float value_clip, double value_loss)
{
    enum { ROWS = 4 };
    double new_log_prob[ROWS], values[ROWS], list[ROWS], logits[2 * ROWS];
    float old_log_prob[ROWS], advantage[ROWS], old_value[ROWS], target[ROWS];
    const struct {
        const char *key;
        float *to;
    } columns[] = {
        {"old_logp", old_log_prob}, {"adv_norm", advantage}, {"old_v", old_value}, {"ret", target}};
    for (size_t c = 0; c < 4; c++) {
        CU_ASSERT_EQUAL_FATAL(golden("ppo", NULL, columns[c].key, list, ROWS), ROWS);
        for (size_t r = 0; r < ROWS; r++)
            columns[c].to[r] = (float)list[r];
    }
    CU_ASSERT_EQUAL_FATAL(golden("ppo", NULL, "new_logp", new_log_prob, ROWS), ROWS);
    CU_ASSERT_EQUAL_FATAL(golden("ppo", NULL, "new_v", values, ROWS), ROWS);
    for (size_t r = 0; r < ROWS; r++) {
        logits[2 * r] = new_log_prob[r];
        logits[2 * r + 1] = log(1.0 - exp(new_log_prob[r]));
    }
    static const int32_t action[ROWS] = {0};
    const corral_ppo_terms terms = {.action = action,
                                    .old_log_prob = old_log_prob,
                                    .old_value = old_value,
                                    .advantage = advantage,
                                    .value_target = target,
                                    .clip_range = (float)golden_number("ppo", "clip"),
                                    .value_clip_range = value_clip,
                                    .value_coefficient = 0.5f,
                                    .total_rows = ROWS};
    corral_ppo_stats stats = {0};
    corral_tape_reset(tape, NULL, NULL);
    corral_tensor *loss =
        corral_ppo_loss(corral_variable(tape, CORRAL_F64, 2, (const size_t[]){ROWS, 2}, logits),
                        corral_variable(tape, CORRAL_F64, 1, (const size_t[]){ROWS}, values), &terms, &stats);
    TEST_OK(corral_tape_status(tape));
    const double policy_loss = golden_number("ppo", "pg_loss");
    CU_ASSERT_EQUAL(stats.rows, ROWS);
    CU_ASSERT_DOUBLE_EQUAL(stats.policy_loss / ROWS, policy_loss, 1e-7); // inputs are f32
    CU_ASSERT_DOUBLE_EQUAL(stats.value_loss / ROWS, value_loss, 1e-7);
    CU_ASSERT_DOUBLE_EQUAL(stats.approx_kl / ROWS, golden_number("ppo", "approx_kl"), 1e-7);
    // The golden count sees the ratios 1.105, 0.819, 1, 0.368 beside 0.2 in f64; so does ours.
    CU_ASSERT_EQUAL(stats.clip_fraction / ROWS, golden_number("ppo", "clipfrac"));
    CU_ASSERT_DOUBLE_EQUAL(stats.max_ratio_deviation, 1.0 - 0.36787944117144233, 1e-7);
    CU_ASSERT_DOUBLE_EQUAL(*(double *)loss->data, policy_loss + 0.5 * value_loss, 1e-7);
}

static void ppo(void)
{
    corral_tape *tape = NULL;
    TEST_OK(corral_tape_create(&tape));
    run_ppo(tape, 0.2f, golden_number("ppo", "v_loss_clipped"));
    run_ppo(tape, 0.0f, golden_number("ppo", "v_loss_unclipped"));
    corral_tape_destroy(tape);
}

static void categorical(void)
{
    enum { COUNT = 6 };
    double logits[COUNT], expected[COUNT], entropies[2];
    float x[COUNT], log_probs[COUNT];
    CU_ASSERT_EQUAL_FATAL(golden("categorical", NULL, "logits", logits, COUNT), COUNT);
    CU_ASSERT_EQUAL_FATAL(golden("categorical", NULL, "logp", expected, COUNT), COUNT);
    CU_ASSERT_EQUAL_FATAL(golden("categorical", NULL, "entropy", entropies, 2), 2);
    for (size_t i = 0; i < COUNT; i++)
        x[i] = (float)logits[i];
    corral_categorical_log_probs(2, 3, x, log_probs);
    for (size_t r = 0; r < 2; r++) {
        double entropy = 0.0;
        for (size_t i = 3 * r; i < 3 * r + 3; i++) {
            CU_ASSERT_DOUBLE_EQUAL(log_probs[i], expected[i], 2e-7 * fmax(1.0, fabs(expected[i])));
            const double p = exp((double)log_probs[i]);
            entropy -= p > 0.0 ? p * (double)log_probs[i] : 0.0;
        }
        CU_ASSERT_DOUBLE_EQUAL(entropy, entropies[r], 1e-6);
    }
}

static void huber(void)
{
    double x[6], y[6];
    const size_t count = golden("huber_smooth_l1_beta1", NULL, "x", x, 6);
    CU_ASSERT_EQUAL_FATAL(golden("huber_smooth_l1_beta1", NULL, "y", y, 6), count);
    corral_tape *tape = NULL;
    TEST_OK(corral_tape_create(&tape));
    for (size_t i = 0; i < count; i++) {
        corral_tape_reset(tape, NULL, NULL);
        corral_tensor *loss = corral_smooth_l1_loss(corral_input(tape, CORRAL_F64, 0, NULL, &x[i]),
                                                    corral_constant(tape, CORRAL_F64, 0.0), 1.0);
        TEST_OK(corral_tape_status(tape));
        CU_ASSERT_DOUBLE_EQUAL(*(double *)loss->data, y[i], 1e-15);
    }
    corral_tape_destroy(tape);
}

int main(void)
{
    golden_load();
    const int result = test_run("golden", (test_case[]){{"adam", adam},
                                                        {"clipping", clipping},
                                                        {"ppo", ppo},
                                                        {"categorical", categorical},
                                                        {"huber", huber},
                                                        {NULL, NULL}});
    free(golden_text);
    return result;
}
