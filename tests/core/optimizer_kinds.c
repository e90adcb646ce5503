// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Every kind of optimizer against five steps of PyTorch's (tests/golden/optimizers.py), in f64 and f32;
// groups; schedules; what a config may not say.

#include "corral/core/optim.h"
#include "golden_numbers.h"

enum { COUNT = 6, STEPS = 5 };

static const double rate = 0.05;

static corral_params *make_params(corral_dtype dtype)
{
    corral_params *params = NULL;
    uint32_t index;
    TEST_OK(corral_params_create(dtype, &params));
    TEST_OK(corral_params_add(params, "w", 1, (const size_t[]){COUNT}, &index));
    TEST_OK(corral_params_add(params, "frozen", 1, (const size_t[]){COUNT}, &index));
    TEST_OK(corral_params_seal(params));
    return params;
}

static void put(corral_dtype dtype, void *block, const double *values)
{
    for (size_t i = 0; i < COUNT; i++) {
        if (dtype == CORRAL_F64)
            ((double *)block)[i] = values[i];
        else
            ((float *)block)[i] = (float)values[i];
    }
}

static double value_at(corral_dtype dtype, const void *block, size_t i)
{
    return dtype == CORRAL_F64 ? ((const double *)block)[i] : (double)((const float *)block)[i];
}

static void follow(const char *name, const corral_optimizer_config *config, corral_dtype dtype)
{
    double start[COUNT], gradients[STEPS * COUNT], expected[STEPS * COUNT];
    CU_ASSERT_EQUAL_FATAL(golden("inputs", NULL, "start", start, COUNT), COUNT);
    CU_ASSERT_EQUAL_FATAL(golden("inputs", NULL, "gradients", gradients, STEPS * COUNT), STEPS * COUNT);
    CU_ASSERT_EQUAL_FATAL(golden(name, NULL, "weights", expected, STEPS * COUNT), STEPS * COUNT);
    corral_params *params = make_params(dtype);
    corral_optimizer *optimizer = NULL;
    TEST_OK(corral_optimizer_create(config, params, &optimizer));
    put(dtype, corral_params_data(params), start);
    const double tolerance = dtype == CORRAL_F64 ? 1e-12 : 2e-6;
    for (size_t step = 0; step < STEPS; step++) {
        put(dtype, corral_optimizer_lane(optimizer, 0), gradients + step * COUNT);
        TEST_OK(corral_optimizer_step(optimizer, 1, rate, NULL, NULL));
        for (size_t i = 0; i < COUNT; i++) {
            const double found = value_at(dtype, corral_params_data(params), i),
                         right = expected[step * COUNT + i];
            const int close = fabs(found - right) <= tolerance * fmax(1, fabs(right));
            if (!close)
                fprintf(stderr, "%s, step %zu, weight %zu: %.15g instead of %.15g\n", name, step, i, found,
                        right);
            CU_ASSERT_TRUE(close);
        }
    }
    corral_optimizer_destroy(optimizer);
    corral_params_destroy(params);
}

static void kinds_follow_pytorch(void)
{
    const struct {
        const char *name;
        corral_optimizer_config config;
    } cases[] = {
        {"sgd", {.kind = CORRAL_SGD}},
        {"momentum", {.kind = CORRAL_SGD, .momentum = 0.9, .weight_decay = 0.1}},
        {"nesterov", {.kind = CORRAL_SGD, .momentum = 0.9, .nesterov = true}},
        {"adam", {.kind = CORRAL_ADAM, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 0.1}},
        {"amsgrad", {.kind = CORRAL_ADAM, .beta1 = 0.8, .beta2 = 0.9, .epsilon = 1e-8, .amsgrad = true}},
        {"adamw",
         {.kind = CORRAL_ADAMW,
          .beta1 = 0.9,
          .beta2 = 0.999,
          .epsilon = 1e-8,
          .weight_decay = 0.1,
          .amsgrad = true}},
        {"rmsprop", {.kind = CORRAL_RMSPROP, .alpha = 0.9, .epsilon = 1e-5}},
        {"centered",
         {.kind = CORRAL_RMSPROP, .alpha = 0.9, .epsilon = 1e-5, .centered = true, .momentum = 0.5}},
        {"tensorflow",
         {.kind = CORRAL_RMSPROP, .alpha = 0.9, .epsilon = 1e-5, .epsilon_inside = true, .momentum = 0.5}},
        {"tensorflow_centered",
         {.kind = CORRAL_RMSPROP, .alpha = 0.9, .epsilon = 1e-5, .epsilon_inside = true, .centered = true}},
        {"clip_norm", {.kind = CORRAL_SGD, .max_grad_norm = 0.4}},
        {"clip_value", {.kind = CORRAL_SGD, .max_grad_value = 0.25}},
        {"clip_both", {.kind = CORRAL_SGD, .max_grad_value = 0.25, .max_grad_norm = 0.4}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        follow(cases[i].name, &cases[i].config, CORRAL_F64);
        follow(cases[i].name, &cases[i].config, CORRAL_F32);
    }
}

static void groups_have_rates_and_decays_of_their_own(void)
{
    static const double ones[COUNT] = {1, 1, 1, 1, 1, 1};
    const corral_optimizer_config config = {.kind = CORRAL_SGD, .weight_decay = 0.5};
    corral_params *params = make_params(CORRAL_F64);
    corral_optimizer *optimizer = NULL;
    TEST_OK(corral_optimizer_create(&config, params, &optimizer));
    double *w = corral_params_data(params), *other = w + corral_params_entry(params, 1)->offset;
    put(CORRAL_F64, w, ones);
    put(CORRAL_F64, other, ones);
    corral_optimizer_set_group(optimizer, 0, (corral_optimizer_group){.rate = 0.1, .weight_decay = 0});
    double *lane = corral_optimizer_lane(optimizer, 0);
    put(CORRAL_F64, lane, ones);
    put(CORRAL_F64, lane + corral_params_entry(params, 1)->offset, ones);
    TEST_OK(corral_optimizer_step(optimizer, 1, 0.2, NULL, NULL));
    CU_ASSERT_DOUBLE_EQUAL(w[0], 1 - 0.1 * 0.2, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(other[0], 1 - 0.2 * 1.5, 1e-15);
    corral_optimizer_set_group(optimizer, 1, (corral_optimizer_group){.rate = 0});
    put(CORRAL_F64, (double *)corral_optimizer_lane(optimizer, 0) + corral_params_entry(params, 1)->offset,
        ones);
    const double before = other[0];
    TEST_OK(corral_optimizer_step(optimizer, 1, 0.2, NULL, NULL));
    CU_ASSERT_EQUAL(other[0], before);
    corral_optimizer_destroy(optimizer);
    corral_params_destroy(params);
}

static void rates_follow_their_shape(void)
{
    const corral_rate_schedule linear = {CORRAL_RATE_LINEAR, 4, 10, 0.0},
                               cosine = {CORRAL_RATE_COSINE, 0, 10, 0.1};
    const corral_rate_schedule exponential = {CORRAL_RATE_EXPONENTIAL, 0, 10, 0.01},
                               steps = {CORRAL_RATE_STEPS, 0, 10, 0.5};
    CU_ASSERT_EQUAL(corral_rate_factor(&linear, 0), 0.25);
    CU_ASSERT_EQUAL(corral_rate_factor(&linear, 3), 1.0);
    CU_ASSERT_EQUAL(corral_rate_factor(&linear, 4), 1.0);
    CU_ASSERT_DOUBLE_EQUAL(corral_rate_factor(&linear, 9), 0.5, 1e-15);
    CU_ASSERT_EQUAL(corral_rate_factor(&linear, 1000), 0.0);
    CU_ASSERT_DOUBLE_EQUAL(corral_rate_factor(&cosine, 5), 0.55, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(corral_rate_factor(&cosine, 10), 0.1, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(corral_rate_factor(&exponential, 5), 0.1, 1e-15);
    CU_ASSERT_EQUAL(corral_rate_factor(&steps, 9), 1.0);
    CU_ASSERT_EQUAL(corral_rate_factor(&steps, 25), 0.25);
    CU_ASSERT_EQUAL(corral_rate_factor(&(corral_rate_schedule){0}, 7), 1.0);
}

static void impossible_configs_are_refused(void)
{
    corral_params *params = make_params(CORRAL_F32);
    corral_optimizer *optimizer = NULL;
    const struct {
        corral_optimizer_config config;
        const char *text;
    } cases[] = {
        {{.kind = (corral_optimizer_kind)9}, "9 is no kind"},
        {{.kind = CORRAL_ADAMW, .beta1 = 1, .epsilon = 1}, "betas"},
        {{.kind = CORRAL_RMSPROP, .alpha = 1, .epsilon = 1}, "alpha 1"},
        {{.kind = CORRAL_RMSPROP, .alpha = 0.5}, "RMSprop's epsilon 0"},
        {{.kind = CORRAL_SGD, .nesterov = true}, "nesterov needs a momentum"},
        {{.kind = CORRAL_SGD, .weight_decay = -1}, "weight_decay -1"},
        {{.kind = CORRAL_SGD, .max_grad_value = NAN}, "max_grad_value"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        TEST_FAILS(corral_optimizer_create(&cases[i].config, params, &optimizer), CORRAL_ERROR_INVALID,
                   cases[i].text);
    corral_params_destroy(params);
}

int main(void)
{
    golden_load_file("optimizers.json");
    const int result =
        test_run("optimizer_kinds",
                 (test_case[]){{"kinds follow PyTorch", kinds_follow_pytorch},
                               {"groups have rates of their own", groups_have_rates_and_decays_of_their_own},
                               {"rates follow their shape", rates_follow_their_shape},
                               {"impossible configs are refused", impossible_configs_are_refused},
                               {NULL, NULL}});
    free(golden_text);
    return result;
}
