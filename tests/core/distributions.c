// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The distributions beside the categorical one of PPO's loss: gradients, what is sampled against what is said
// of it, the edges, and that acting and learning share one arithmetic.

#include "corral/core/distributions.h"

#include "corral/base/rng.h"
#include "gradient_check.h"

// --- gradients --------------------------------------------------------------------------------------------

enum { ROWS = 3 };

static const size_t parts[] = {2, 3};
static const int32_t choices[] = {1, 2, 0, 0, 1, 1};
static const int32_t flips[] = {1, 0, 0, 1, 1, 0};

static corral_tensor *multi_log_prob(corral_tensor *const *v)
{
    return corral_categorical_log_prob(v[0], 2, parts, choices);
}
static corral_tensor *multi_entropy(corral_tensor *const *v)
{
    return corral_categorical_entropy(v[0], 2, parts);
}
static corral_tensor *multi_kl(corral_tensor *const *v)
{
    return corral_categorical_kl(v[0], v[1], 2, parts);
}
static corral_tensor *flip_log_prob(corral_tensor *const *v)
{
    return corral_bernoulli_log_prob(v[0], flips);
}
static corral_tensor *flip_entropy(corral_tensor *const *v)
{
    return corral_bernoulli_entropy(v[0]);
}
static corral_tensor *flip_kl(corral_tensor *const *v)
{
    return corral_bernoulli_kl(v[0], v[1]);
}
static corral_tensor *normal_log_prob(corral_tensor *const *v)
{
    return corral_normal_log_prob(v[0], v[1], v[2]);
}
static corral_tensor *squashed_log_prob(corral_tensor *const *v)
{
    return corral_squashed_normal_log_prob(v[0], v[1], v[2]);
}
static corral_tensor *normal_entropy(corral_tensor *const *v)
{
    return corral_normal_entropy(v[0], v[1]);
}
static corral_tensor *normal_kl(corral_tensor *const *v)
{
    return corral_normal_kl(v[0], v[1], v[2], corral_scale(v[1], 0.4));
}
static corral_tensor *normal_rsample(corral_tensor *const *v)
{
    return corral_normal_rsample(v[0], v[1], v[2]);
}
static corral_tensor *masked(corral_tensor *const *v)
{
    static const uint8_t allowed[] = {1, 0, 1, 1, 1, 0, 0, 1, 1, 1, 1, 0, 1, 1, 1};
    return corral_categorical_entropy(corral_mask_logits(v[0], allowed), 1, (const size_t[]){5});
}

static void fill(gradient_check *check)
{
    for (int v = 0; v < check->variable_count; v++) {
        for (size_t i = 0; i < check_count(check, v); i++)
            check->variables[v].values[i] = 1.3 * sin(0.4 + 1.7 * (double)i + (double)v);
    }
}

static void gradients_follow_differences(void)
{
    gradient_check checks[] = {
        {.name = "multi_log_prob",
         .build = multi_log_prob,
         .variables = {{2, {ROWS, 5}}},
         .variable_count = 1},
        {.name = "multi_entropy", .build = multi_entropy, .variables = {{2, {ROWS, 5}}}, .variable_count = 1},
        {.name = "multi_kl",
         .build = multi_kl,
         .variables = {{2, {ROWS, 5}}, {2, {ROWS, 5}}},
         .variable_count = 2},
        {.name = "masked", .build = masked, .variables = {{2, {ROWS, 5}}}, .variable_count = 1},
        {.name = "flip_log_prob", .build = flip_log_prob, .variables = {{2, {ROWS, 2}}}, .variable_count = 1},
        {.name = "flip_entropy", .build = flip_entropy, .variables = {{2, {ROWS, 2}}}, .variable_count = 1},
        {.name = "flip_kl",
         .build = flip_kl,
         .variables = {{2, {ROWS, 2}}, {2, {ROWS, 2}}},
         .variable_count = 2},
        {.name = "normal_log_prob",
         .build = normal_log_prob,
         .variables = {{2, {ROWS, 4}}, {2, {ROWS, 4}}, {2, {ROWS, 4}}},
         .variable_count = 3},
        {.name = "normal_log_prob, shared deviation",
         .build = normal_log_prob,
         .variables = {{2, {ROWS, 4}}, {1, {4}}, {2, {ROWS, 4}}},
         .variable_count = 3},
        {.name = "squashed_log_prob",
         .build = squashed_log_prob,
         .variables = {{2, {ROWS, 4}}, {1, {4}}, {2, {ROWS, 4}}},
         .variable_count = 3},
        {.name = "normal_entropy",
         .build = normal_entropy,
         .variables = {{2, {ROWS, 4}}, {1, {4}}},
         .variable_count = 2},
        {.name = "normal_kl",
         .build = normal_kl,
         .variables = {{2, {ROWS, 4}}, {1, {4}}, {2, {ROWS, 4}}},
         .variable_count = 3},
        {.name = "normal_kl, deviation per row",
         .build = normal_kl,
         .variables = {{2, {ROWS, 4}}, {2, {ROWS, 4}}, {2, {ROWS, 4}}},
         .variable_count = 3},
        {.name = "normal_rsample",
         .build = normal_rsample,
         .variables = {{2, {ROWS, 4}}, {1, {4}}, {2, {ROWS, 4}}},
         .variable_count = 3},
    };
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        fill(&checks[i]);
        run_gradient_check(&checks[i], 1e-7);
    }
}

// --- acting and learning are one arithmetic ---------------------------------------------------------------

enum { MANY = 131, WIDTH = 9, PARTS = 3, N = 5 };
static const size_t sizes[PARTS] = {2, 4, 3};
static float numbers[MANY * WIDTH], noise[MANY * WIDTH], mean[MANY * N], log_std[MANY * N];

static void draw_numbers(void)
{
    for (size_t i = 0; i < MANY * WIDTH; i++) {
        numbers[i] = 4.0f * corral_stream_float(3, i) - 2.0f;
        noise[i] = corral_stream_float(4, i);
        if (i % 17 == 3) numbers[i] = -INFINITY;
    }
    for (size_t i = 0; i < MANY * N; i++) {
        mean[i] = 6.0f * corral_stream_float(5, i) - 3.0f;
        log_std[i] = 2.0f * corral_stream_float(6, i) - 1.5f;
    }
}

static corral_tape *fresh_tape(void)
{
    corral_tape *tape = NULL;
    TEST_OK(corral_tape_create(&tape));
    corral_tape_reset(tape, NULL, NULL);
    return tape;
}

static void same_bits(const corral_tensor *tensor, const float *expected, size_t count)
{
    TEST_OK(corral_tape_status(tensor->tape));
    CU_ASSERT_EQUAL_FATAL(corral_tensor_count(tensor), count);
    CU_ASSERT_EQUAL(memcmp(tensor->data, expected, count * sizeof(float)), 0);
}

static void discrete_bits(void)
{
    int32_t action[MANY * WIDTH], alone_action[WIDTH];
    float log_prob[MANY], alone;
    draw_numbers();
    corral_tape *tape = fresh_tape();
    corral_tensor *x = corral_input(tape, CORRAL_F32, 2, (const size_t[]){MANY, WIDTH}, numbers);

    corral_multi_categorical_sample(MANY, PARTS, sizes, numbers, noise, action, log_prob);
    same_bits(corral_categorical_log_prob(x, PARTS, sizes, action), log_prob, MANY);
    for (size_t r = 0; r < MANY; r += 13) {
        corral_multi_categorical_sample(1, PARTS, sizes, numbers + r * WIDTH, noise + r * PARTS, alone_action,
                                        &alone);
        CU_ASSERT_EQUAL(alone, log_prob[r]);
        CU_ASSERT_EQUAL(memcmp(alone_action, action + r * PARTS, PARTS * sizeof *action), 0);
    }
    corral_bernoulli_sample(MANY, WIDTH, numbers, noise, action, log_prob);
    same_bits(corral_bernoulli_log_prob(x, action), log_prob, MANY);
    for (size_t i = 0; i < MANY * WIDTH; i++)
        CU_ASSERT_FALSE(numbers[i] == -INFINITY && action[i] != 0);
    corral_tape_destroy(tape);
}

static void normal_bits(void)
{
    float z[MANY * N], value[MANY * N], action[MANY * N], log_prob[MANY], again[MANY];
    draw_numbers();
    corral_standard_normals(11, 0, MANY * N, z);
    corral_tape *tape = fresh_tape();
    for (int shared = 0; shared < 2; shared++) {
        const corral_log_std kind = shared ? CORRAL_LOG_STD_SHARED : CORRAL_LOG_STD_PER_ROW;
        corral_tensor *m = corral_input(tape, CORRAL_F32, 2, (const size_t[]){MANY, N}, mean);
        corral_tensor *l = shared ? corral_input(tape, CORRAL_F32, 1, (const size_t[]){N}, log_std)
                                  : corral_input(tape, CORRAL_F32, 2, (const size_t[]){MANY, N}, log_std);
        corral_tensor *v = corral_input(tape, CORRAL_F32, 2, (const size_t[]){MANY, N}, value);
        corral_normal_sample(MANY, N, mean, log_std, kind, z, value, log_prob);
        same_bits(corral_normal_log_prob(m, l, v), log_prob, MANY);
        corral_normal_log_probs(MANY, N, mean, log_std, kind, value, again);
        CU_ASSERT_EQUAL(memcmp(again, log_prob, sizeof again), 0);

        corral_squashed_normal_sample(MANY, N, mean, log_std, kind, z, value, action, log_prob);
        same_bits(corral_squashed_normal_log_prob(m, l, v), log_prob, MANY);
        same_bits(corral_tanh(v), action, MANY * N);
        corral_squashed_normal_log_probs(MANY, N, mean, log_std, kind, value, again);
        CU_ASSERT_EQUAL(memcmp(again, log_prob, sizeof again), 0);
    }
    corral_tape_destroy(tape);
}

// --- against other arithmetic -----------------------------------------------------------------------------

/// One part is the distribution that PPO's loss and corral_log_softmax() know.
static void one_part_is_the_categorical(void)
{
    int32_t action[MANY], other_action[MANY];
    float log_prob[MANY], other_log_prob[MANY];
    draw_numbers();
    corral_multi_categorical_sample(MANY, 1, (const size_t[]){WIDTH}, numbers, noise, action, log_prob);
    corral_categorical_sample(MANY, WIDTH, numbers, noise, other_action, other_log_prob);
    CU_ASSERT_EQUAL(memcmp(action, other_action, sizeof action), 0);
    CU_ASSERT_EQUAL(memcmp(log_prob, other_log_prob, sizeof log_prob), 0);
    corral_multi_categorical_mode(MANY, 1, (const size_t[]){WIDTH}, numbers, action);
    corral_categorical_mode(MANY, WIDTH, numbers, other_action);
    CU_ASSERT_EQUAL(memcmp(action, other_action, sizeof action), 0);
}

/// The stable formula against the plain one where that still has digits, and its limit where it has none.
static void the_squashed_density_is_exact(void)
{
    for (int i = -60; i <= 60; i++) {
        const float value = 0.25f * (float)i, zero = 0.0f;
        float plain, squashed;
        corral_normal_log_probs(1, 1, &zero, &zero, CORRAL_LOG_STD_SHARED, &value, &plain);
        corral_squashed_normal_log_probs(1, 1, &zero, &zero, CORRAL_LOG_STD_SHARED, &value, &squashed);
        const double x = (double)value;
        const double exact = -0.5 * x * x - 0.918938533204672742 + 2.0 * log(cosh(x));
        CU_ASSERT_DOUBLE_EQUAL((double)squashed, exact, 3e-7 * fmax(1.0, fabs(exact) + 0.5 * x * x));
    }
    const float far = 200.0f, zero = 0.0f;
    float squashed;
    corral_squashed_normal_log_probs(1, 1, &far, &zero, CORRAL_LOG_STD_SHARED, &far, &squashed);
    CU_ASSERT_DOUBLE_EQUAL((double)squashed, -0.918938533204672742 + 400.0 - 2.0 * log(2.0), 1e-4);
}

/// The mean of -log p over samples is the entropy; the divergence is the mean of log p - log q.
static void entropies_are_expectations(void)
{
    enum { DRAWS = 40000 };
    const float m[2] = {0.4f, -1.0f}, l[2] = {-0.5f, 0.7f}, m_q[2] = {0.1f, -0.8f}, l_q[2] = {0.0f, 0.5f};
    float z[2], x[2], log_p, log_q;
    double surprise = 0.0, gap = 0.0;
    for (size_t i = 0; i < DRAWS; i++) {
        corral_standard_normals(21, 2 * i, 2, z);
        corral_normal_sample(1, 2, m, l, CORRAL_LOG_STD_SHARED, z, x, &log_p);
        corral_normal_log_probs(1, 2, m_q, l_q, CORRAL_LOG_STD_SHARED, x, &log_q);
        surprise -= (double)log_p / DRAWS;
        gap += ((double)log_p - (double)log_q) / DRAWS;
    }
    corral_tape *tape = fresh_tape();
    const size_t row[] = {1, 2};
    corral_tensor *p_mean = corral_input(tape, CORRAL_F32, 2, row, m);
    corral_tensor *p_log_std = corral_input(tape, CORRAL_F32, 2, row, l);
    corral_tensor *entropy = corral_normal_entropy(p_mean, p_log_std);
    corral_tensor *kl = corral_normal_kl(p_mean, p_log_std, corral_input(tape, CORRAL_F32, 2, row, m_q),
                                         corral_input(tape, CORRAL_F32, 2, row, l_q));
    TEST_OK(corral_tape_status(tape));
    CU_ASSERT_DOUBLE_EQUAL((double)*(float *)entropy->data, surprise, 0.03);
    CU_ASSERT_DOUBLE_EQUAL((double)*(float *)kl->data, gap, 0.03);
    corral_tape_destroy(tape);
}

static void streams_are_standard_normal(void)
{
    enum { DRAWS = 50000 };
    double sum = 0.0, square = 0.0, fourth = 0.0;
    for (size_t i = 0; i < DRAWS; i++) {
        float z;
        corral_standard_normals(31, i, 1, &z);
        sum += (double)z, square += (double)z * (double)z, fourth += pow((double)z, 4.0);
    }
    CU_ASSERT_DOUBLE_EQUAL(sum / DRAWS, 0.0, 0.025);
    CU_ASSERT_DOUBLE_EQUAL(square / DRAWS, 1.0, 0.04);
    CU_ASSERT_DOUBLE_EQUAL(fourth / DRAWS, 3.0, 0.3);
    float pair[2], second;
    corral_standard_normals(31, 6, 2, pair);
    corral_standard_normals(31, 7, 1, &second);
    CU_ASSERT_EQUAL(pair[1], second);
}

// --- edges ------------------------------------------------------------------------------------------------

/// What is impossible adds exactly nothing, in values and in gradients.
static void masked_choices_have_no_part(void)
{
    static const double x[2][4] = {{0.3, -1.0, 2.0, 0.5}, {1.0, 2.0, 3.0, 4.0}};
    static const uint8_t allowed[2][4] = {{1, 0, 1, 1}, {0, 0, 0, 0}};
    static const size_t four = 4;
    static const int32_t action[] = {2, 0};
    corral_tape *tape = fresh_tape();
    corral_tensor *logits = corral_variable(tape, CORRAL_F64, 2, (const size_t[]){2, 4}, x);
    corral_tensor *only = corral_mask_logits(logits, &allowed[0][0]);
    corral_tensor *entropy = corral_categorical_entropy(only, 1, &four);
    corral_tensor *kl = corral_categorical_kl(only, logits, 1, &four);
    corral_tensor *log_prob = corral_categorical_log_prob(only, 1, &four, action);
    // The second row's is -inf; a selection leaves it out.
    corral_tensor *chosen = corral_gather(corral_reshape(log_prob, 2, (const size_t[]){1, 2}), &(int32_t){0});
    TEST_OK(corral_backward(corral_add(corral_add(corral_sum(entropy), corral_sum(kl)), corral_sum(chosen))));
    CU_ASSERT_EQUAL(((double *)entropy->data)[1], 0.0);
    CU_ASSERT_EQUAL(((double *)kl->data)[1], 0.0);
    CU_ASSERT_EQUAL(((double *)log_prob->data)[1], -INFINITY);
    for (size_t i = 0; i < 8; i++)
        CU_ASSERT_TRUE(isfinite(((double *)logits->grad)[i]));
    corral_tape_destroy(tape);
}

static void divergence_from_the_impossible_is_infinite(void)
{
    static const double p[] = {0.0, 0.0}, q[] = {0.0, -INFINITY};
    static const size_t two = 2;
    corral_tape *tape = fresh_tape();
    corral_tensor *a = corral_variable(tape, CORRAL_F64, 2, (const size_t[]){1, 2}, p);
    corral_tensor *b = corral_variable(tape, CORRAL_F64, 2, (const size_t[]){1, 2}, q);
    corral_tensor *kl = corral_categorical_kl(a, b, 1, &two);
    TEST_OK(corral_backward(corral_sum(kl)));
    CU_ASSERT_EQUAL(*(double *)kl->data, INFINITY);
    CU_ASSERT_TRUE(((double *)a->grad)[0] == 0.0 && ((double *)a->grad)[1] == 0.0);
    CU_ASSERT_TRUE(((double *)b->grad)[0] == 0.5 && ((double *)b->grad)[1] == 0.0);
    corral_tape_destroy(tape);
}

static void sure_flips_are_finite(void)
{
    static const double x[] = {INFINITY, -INFINITY, 800.0, -800.0};
    static const int32_t action[] = {1, 0, 1, 0};
    corral_tape *tape = fresh_tape();
    corral_tensor *logits = corral_variable(tape, CORRAL_F64, 2, (const size_t[]){1, 4}, x);
    corral_tensor *log_prob = corral_bernoulli_log_prob(logits, action);
    corral_tensor *entropy = corral_bernoulli_entropy(logits);
    corral_tensor *kl = corral_bernoulli_kl(logits, logits);
    TEST_OK(corral_backward(corral_sum(corral_add(log_prob, corral_add(entropy, kl)))));
    CU_ASSERT_EQUAL(*(double *)log_prob->data, 0.0);
    CU_ASSERT_EQUAL(*(double *)entropy->data, 0.0);
    for (size_t i = 0; i < 4; i++)
        CU_ASSERT_EQUAL(((double *)logits->grad)[i], 0.0);
    corral_tape_destroy(tape);
}

static void empty_batches_are_empty(void)
{
    corral_tape *tape = fresh_tape();
    static const double nothing[1], l[] = {0.1, 0.2};
    corral_tensor *x = corral_variable(tape, CORRAL_F64, 2, (const size_t[]){0, 2}, nothing);
    corral_tensor *deviation = corral_variable(tape, CORRAL_F64, 1, (const size_t[]){2}, l);
    static const size_t two = 2;
    corral_tensor *sum = corral_sum(corral_normal_log_prob(x, deviation, x));
    sum = corral_add(sum, corral_sum(corral_categorical_entropy(x, 1, &two)));
    sum = corral_add(sum, corral_sum(corral_bernoulli_entropy(x)));
    TEST_OK(corral_backward(sum));
    CU_ASSERT_EQUAL(*(double *)sum->data, 0.0);
    CU_ASSERT_TRUE(((double *)deviation->grad)[0] == 0.0 && ((double *)deviation->grad)[1] == 0.0);
    corral_tape_destroy(tape);
}

static void misuse_is_a_sentence(void)
{
    static const double x[6] = {0};
    static const int32_t action[] = {0, 3, 1};
    corral_tape *tape = fresh_tape();
    const struct {
        int which;
        const char *text;
    } cases[] = {{0, "do not make up"},
                 {1, "action 3 of row 1"},
                 {2, "[rows, n]"},
                 {3, "log_std"},
                 {4, "shapes differ"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        corral_tape_reset(tape, NULL, NULL);
        corral_tensor *logits = corral_input(tape, CORRAL_F64, 2, (const size_t[]){3, 2}, x);
        corral_tensor *flat = corral_input(tape, CORRAL_F64, 1, (const size_t[]){6}, x);
        corral_tensor *pair = corral_input(tape, CORRAL_F64, 1, (const size_t[]){2}, x);
        if (cases[i].which == 0) corral_categorical_entropy(logits, 2, (const size_t[]){2, 2});
        if (cases[i].which == 1) corral_categorical_log_prob(logits, 1, (const size_t[]){2}, action);
        if (cases[i].which == 2) corral_bernoulli_entropy(flat);
        if (cases[i].which == 3) corral_normal_entropy(logits, flat);
        if (cases[i].which == 4) corral_normal_log_prob(logits, pair, flat);
        TEST_FAILS(corral_tape_status(tape), CORRAL_ERROR_INVALID, cases[i].text);
    }
    corral_tape_destroy(tape);
}

int main(void)
{
    return test_run(
        "distributions",
        (test_case[]){{"gradients follow differences", gradients_follow_differences},
                      {"acting and learning share bits: discrete", discrete_bits},
                      {"acting and learning share bits: normal", normal_bits},
                      {"one part is the categorical", one_part_is_the_categorical},
                      {"the squashed density is exact", the_squashed_density_is_exact},
                      {"entropies are expectations", entropies_are_expectations},
                      {"streams are standard normal", streams_are_standard_normal},
                      {"masked choices have no part", masked_choices_have_no_part},
                      {"divergence from the impossible", divergence_from_the_impossible_is_infinite},
                      {"sure flips are finite", sure_flips_are_finite},
                      {"empty batches are empty", empty_batches_are_empty},
                      {"misuse is a sentence", misuse_is_a_sentence},
                      {NULL, NULL}});
}
