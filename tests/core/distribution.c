// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The categorical distribution, and that sampling, log-probabilities and the PPO loss share one arithmetic.

#include "corral/base/rng.h"
#include "corral/core/ops.h"
#include "test.h"

enum { ROWS = 131, ACTIONS = 5 };

static float logits[ROWS * ACTIONS], uniform[ROWS], log_prob[ROWS];
static int32_t action[ROWS];

/// Spread by `scale`; every third row has a masked action.
static void draw(float scale, uint64_t seed)
{
    corral_rng rng;
    corral_rng_seed(&rng, seed);
    for (size_t i = 0; i < ROWS * ACTIONS; i++)
        logits[i] = scale * (2.0f * corral_rng_float(&rng) - 1.0f);
    for (size_t r = 0; r < ROWS; r += 3)
        logits[r * ACTIONS + r % ACTIONS] = -INFINITY;
    for (size_t r = 0; r < ROWS; r++)
        uniform[r] = corral_rng_float(&rng);
    corral_categorical_sample(ROWS, ACTIONS, logits, uniform, action, log_prob);
}

static void log_probs_share_one_arithmetic(void)
{
    for (int spread = 0; spread < 3; spread++) {
        draw((float[]){0.5f, 5.0f, 100.0f}[spread], 7);
        float all[ROWS * ACTIONS], alone[ACTIONS];
        corral_categorical_log_probs(ROWS, ACTIONS, logits, all);
        corral_tape *tape = NULL;
        TEST_OK(corral_tape_create(&tape));
        corral_tape_reset(tape, NULL, NULL);
        corral_tensor *x = corral_input(tape, CORRAL_F32, 2, (const size_t[]){ROWS, ACTIONS}, logits);
        CU_ASSERT_EQUAL(memcmp(corral_log_softmax(x)->data, all, sizeof all), 0);
        for (size_t r = 0; r < ROWS; r++) {
            CU_ASSERT_EQUAL(log_prob[r], all[r * ACTIONS + (size_t)action[r]]);
            corral_categorical_log_probs(1, ACTIONS, logits + r * ACTIONS, alone);
            CU_ASSERT_EQUAL(memcmp(alone, all + r * ACTIONS, sizeof alone), 0);
        }
        corral_tape_destroy(tape);
    }
}

static corral_ppo_terms terms_of(const float *zeros, const float *advantage)
{
    return (corral_ppo_terms){.action = action,
                              .old_log_prob = log_prob,
                              .old_value = zeros,
                              .advantage = advantage,
                              .value_target = zeros,
                              .clip_range = 0.2f,
                              .value_coefficient = 0.5f,
                              .entropy_coefficient = 0.01f,
                              .total_rows = ROWS};
}

/// The policy that acted has the ratio 1, exactly, whatever block of rows the loss sees; everything stays
/// finite.
static void an_unchanged_policy_has_ratio_one(void)
{
    static const float zeros[ROWS];
    float advantage[ROWS];
    for (size_t r = 0; r < ROWS; r++)
        advantage[r] = (float)r / 50.0f - 1.0f;
    corral_tape *tape = NULL;
    TEST_OK(corral_tape_create(&tape));
    for (int spread = 0; spread < 3; spread++) {
        draw((float[]){0.5f, 5.0f, 100.0f}[spread], 8);
        const corral_ppo_terms terms = terms_of(zeros, advantage);
        for (size_t rows = 1; rows <= ROWS; rows += 26) {
            corral_ppo_stats stats = {0};
            corral_tape_reset(tape, NULL, NULL);
            corral_tensor *x = corral_variable(tape, CORRAL_F32, 2, (const size_t[]){rows, ACTIONS}, logits);
            corral_tensor *v = corral_variable(tape, CORRAL_F32, 2, (const size_t[]){rows, 1}, zeros);
            TEST_OK(corral_backward(corral_ppo_loss(x, v, &terms, &stats)));
            CU_ASSERT_EQUAL(stats.max_ratio_deviation, 0.0);
            CU_ASSERT_EQUAL(stats.approx_kl, 0.0);
            CU_ASSERT_TRUE(isfinite(stats.entropy) && stats.entropy >= 0.0);
            for (size_t i = 0; i < rows * ACTIONS; i++) {
                const float g = ((float *)x->grad)[i];
                CU_ASSERT_TRUE(isfinite(g));
                if (logits[i] == -INFINITY) CU_ASSERT_EQUAL(g, 0.0f);
            }
        }
    }
    corral_tape_destroy(tape);
}

/// The fused loss against the same made of single operations, in f64.
static void the_fused_loss_is_its_formula(void)
{
    double x64[ROWS * ACTIONS], old64[ROWS], advantage64[ROWS];
    static const float zeros[ROWS];
    static const double zeros64[ROWS];
    float advantage[ROWS];
    draw(2.0f, 9);
    for (size_t i = 0; i < ROWS * ACTIONS; i++)
        x64[i] = isinf(logits[i]) ? -3.0 : (double)logits[i];
    for (size_t r = 0; r < ROWS; r++) {
        old64[r] = (double)(log_prob[r] = -1.5f);
        advantage64[r] = (double)(advantage[r] = (float)r / 50.0f - 1.0f);
    }
    corral_ppo_terms terms = terms_of(zeros, advantage);
    corral_tape *tape = NULL;
    TEST_OK(corral_tape_create(&tape));
    corral_tape_reset(tape, NULL, NULL);
    const size_t shape[] = {ROWS, ACTIONS}, rows = ROWS;
    corral_tensor *a = corral_variable(tape, CORRAL_F64, 2, shape, x64),
                  *b = corral_variable(tape, CORRAL_F64, 2, shape, x64);
    corral_tensor *fused =
        corral_ppo_loss(a, corral_input(tape, CORRAL_F64, 1, &rows, zeros64), &terms, NULL);
    corral_tensor *log_probs = corral_log_softmax(b),
                  *adv = corral_input(tape, CORRAL_F64, 1, &rows, advantage64);
    corral_tensor *ratio = corral_exp(
        corral_sub(corral_gather(log_probs, action), corral_input(tape, CORRAL_F64, 1, &rows, old64)));
    const double range = (double)terms.clip_range;
    corral_tensor *surrogate = corral_mean(corral_minimum(
        corral_mul(ratio, adv), corral_mul(corral_clamp(ratio, 1.0 - range, 1.0 + range), adv)));
    corral_tensor *entropy =
        corral_mean(corral_neg(corral_sum_last(corral_mul(corral_exp(log_probs), log_probs))));
    corral_tensor *plain =
        corral_neg(corral_add(surrogate, corral_scale(entropy, (double)terms.entropy_coefficient)));
    TEST_OK(corral_tape_status(tape));
    CU_ASSERT_DOUBLE_EQUAL(*(double *)fused->data, *(double *)plain->data, 1e-12);
    TEST_OK(corral_backward(corral_add(fused, plain)));
    for (size_t i = 0; i < ROWS * ACTIONS; i++) {
        CU_ASSERT_DOUBLE_EQUAL(((double *)a->grad)[i], ((double *)b->grad)[i], 1e-14);
    }
    corral_tape_destroy(tape);
}

static void a_bad_logit_shows_in_the_loss(void)
{
    static const float zeros[ROWS];
    draw(1.0f, 3);
    logits[17] = NAN;
    const corral_ppo_terms terms = terms_of(zeros, zeros);
    corral_tape *tape = NULL;
    TEST_OK(corral_tape_create(&tape));
    corral_tape_reset(tape, NULL, NULL);
    corral_tensor *x = corral_variable(tape, CORRAL_F32, 2, (const size_t[]){ROWS, ACTIONS}, logits);
    corral_tensor *loss =
        corral_ppo_loss(x, corral_input(tape, CORRAL_F32, 1, (const size_t[]){ROWS}, zeros), &terms, NULL);
    TEST_OK(corral_backward(loss));
    CU_ASSERT_TRUE(isnan(*(float *)loss->data) && isnan(((float *)x->grad)[17]));
    corral_tape_destroy(tape);
}

static void frequencies_are_probabilities(void)
{
    enum { DRAWS = 200000, N = 4 };
    const float row[N] = {0.3f, -1.0f, -INFINITY, 1.2f};
    float *x = malloc(DRAWS * N * sizeof *x), *u = malloc(DRAWS * sizeof *u), *p = malloc(DRAWS * sizeof *p),
          exact[N];
    int32_t *a = malloc(DRAWS * sizeof *a);
    CU_ASSERT_TRUE_FATAL(x != NULL && u != NULL && p != NULL && a != NULL);
    for (size_t r = 0; r < DRAWS; r++) {
        memcpy(x + r * N, row, sizeof row);
        u[r] = corral_stream_float(5, r);
    }
    corral_categorical_sample(DRAWS, N, x, u, a, p);
    corral_categorical_log_probs(1, N, row, exact);
    size_t count[N] = {0};
    for (size_t r = 0; r < DRAWS; r++)
        count[a[r]]++;
    CU_ASSERT_EQUAL(count[2], 0);
    for (size_t i = 0; i < N; i++) {
        const double probability = exp((double)exact[i]);
        const double deviation = sqrt(probability * (1.0 - probability) / DRAWS); // of the frequency
        CU_ASSERT_TRUE(fabs((double)count[i] / DRAWS - probability) <= 5.0 * deviation);
    }
    free(x);
    free(u);
    free(p);
    free(a);
}

/// The ends of the unit interval, and masks at either end of the row.
static void impossible_actions_are_never_drawn(void)
{
    const float gone = -INFINITY, x[4][3] = {{gone, 0, 0}, {0, 0, gone}, {gone, 0, gone}, {gone, -90, 90}};
    const float u[3] = {0.0f, 0.5f, 0x1.fffffep-1f};
    for (size_t r = 0; r < 4; r++) {
        for (size_t i = 0; i < 3; i++) {
            int32_t a;
            float p;
            corral_categorical_sample(1, 3, x[r], &u[i], &a, &p);
            CU_ASSERT_TRUE(x[r][a] != gone && isfinite(p));
        }
    }
}

static void the_mode_is_the_first_largest(void)
{
    const float x[3][4] = {{1, 3, 3, 2}, {-INFINITY, -5, -INFINITY, -6}, {0, 0, 0, 0}};
    int32_t mode[3];
    corral_categorical_mode(3, 4, x[0], mode);
    CU_ASSERT_TRUE(mode[0] == 1 && mode[1] == 1 && mode[2] == 0);
}

int main(void)
{
    return test_run("distribution",
                    (test_case[]){{"log-probs share one arithmetic", log_probs_share_one_arithmetic},
                                  {"an unchanged policy has ratio one", an_unchanged_policy_has_ratio_one},
                                  {"the fused loss is its formula", the_fused_loss_is_its_formula},
                                  {"a bad logit shows in the loss", a_bad_logit_shows_in_the_loss},
                                  {"frequencies are probabilities", frequencies_are_probabilities},
                                  {"impossible actions are never drawn", impossible_actions_are_never_drawn},
                                  {"the mode is the first largest", the_mode_is_the_first_largest},
                                  {NULL, NULL}});
}
