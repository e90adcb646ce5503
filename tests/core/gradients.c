// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Every operation's gradient against central differences, broadcasting included, away from kinks; and the
// rules at the kinks, one by one.

#include "gradient_check.h"

static corral_tensor *add(corral_tensor *const *v)
{
    return corral_add(v[0], v[1]);
}
static corral_tensor *sub(corral_tensor *const *v)
{
    return corral_sub(v[0], v[1]);
}
static corral_tensor *mul(corral_tensor *const *v)
{
    return corral_mul(v[0], v[1]);
}
static corral_tensor *divide(corral_tensor *const *v)
{
    return corral_div(v[0], v[1]);
}
static corral_tensor *minimum(corral_tensor *const *v)
{
    return corral_minimum(v[0], v[1]);
}
static corral_tensor *maximum(corral_tensor *const *v)
{
    return corral_maximum(v[0], v[1]);
}

static void fill(double *values, size_t count, double seed)
{
    for (size_t i = 0; i < count; i++)
        values[i] = 1.5 + sin(seed + 2.3 * (double)i); // away from 0
}

/// Each arithmetic operation over each pair of shapes that broadcast in a way of their own.
static void arithmetic_broadcasts(void)
{
    static corral_tensor *(*const operations[])(corral_tensor *const *) = {add,    sub,     mul,
                                                                           divide, minimum, maximum};
    static const char *const names[] = {"add", "sub", "mul", "div", "minimum", "maximum"};
    static const struct {
        uint32_t a_dimensions;
        size_t a[4];
        uint32_t b_dimensions;
        size_t b[4];
    } shapes[] = {
        {2, {3, 4}, 2, {3, 4}},
        {2, {3, 4}, 1, {4}},
        {1, {4}, 2, {3, 4}},
        {2, {3, 4}, 2, {3, 1}},
        {2, {3, 4}, 0, {0}},
        {0, {0}, 2, {3, 4}},
        {2, {3, 1}, 2, {1, 4}},
        {3, {2, 3, 4}, 2, {3, 1}},
        {1, {1}, 1, {5}},
        {4, {2, 1, 3, 2}, 3, {4, 1, 2}},
        {4, {1, 2, 1, 2}, 4, {3, 1, 2, 1}},
    };
    for (size_t o = 0; o < sizeof operations / sizeof *operations; o++) {
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            gradient_check check = {.name = names[o], .build = operations[o], .variable_count = 2};
            check.variables[0].dimension_count = shapes[s].a_dimensions;
            check.variables[1].dimension_count = shapes[s].b_dimensions;
            memcpy(check.variables[0].shape, shapes[s].a, sizeof shapes[s].a);
            memcpy(check.variables[1].shape, shapes[s].b, sizeof shapes[s].b);
            fill(check.variables[0].values, check_count(&check, 0), 0.1);
            fill(check.variables[1].values, check_count(&check, 1), 0.77);
            run_gradient_check(&check, 1e-7);
        }
    }
}

static corral_tensor *use_neg(corral_tensor *const *v)
{
    return corral_neg(v[0]);
}
static corral_tensor *use_scale(corral_tensor *const *v)
{
    return corral_scale(v[0], -2.5);
}
static corral_tensor *use_exp(corral_tensor *const *v)
{
    return corral_exp(v[0]);
}
static corral_tensor *use_log(corral_tensor *const *v)
{
    return corral_ln(corral_square(v[0]));
}
static corral_tensor *use_tanh(corral_tensor *const *v)
{
    return corral_tanh(v[0]);
}
static corral_tensor *use_sigmoid(corral_tensor *const *v)
{
    return corral_sigmoid(v[0]);
}
static corral_tensor *use_relu(corral_tensor *const *v)
{
    return corral_relu(v[0]);
}
static corral_tensor *use_square(corral_tensor *const *v)
{
    return corral_square(v[0]);
}
static corral_tensor *use_sqrt(corral_tensor *const *v)
{
    return corral_sqrt(corral_square(v[0]));
}
static corral_tensor *use_abs(corral_tensor *const *v)
{
    return corral_abs(v[0]);
}
static corral_tensor *use_clamp(corral_tensor *const *v)
{
    return corral_clamp(v[0], -0.7, 1.1);
}
static corral_tensor *use_sum(corral_tensor *const *v)
{
    return corral_square(corral_sum(v[0]));
}
static corral_tensor *use_mean(corral_tensor *const *v)
{
    return corral_square(corral_mean(v[0]));
}
static corral_tensor *use_sum_last(corral_tensor *const *v)
{
    return corral_square(corral_sum_last(v[0]));
}
static corral_tensor *use_log_softmax(corral_tensor *const *v)
{
    return corral_log_softmax(v[0]);
}
static corral_tensor *use_gather(corral_tensor *const *v)
{
    static const int32_t index[] = {2, 0, 2, 1};
    return corral_gather(v[0], index);
}
static corral_tensor *use_reshape(corral_tensor *const *v)
{
    return corral_square(corral_reshape(v[0], 3, (const size_t[]){2, 3, 2}));
}
static corral_tensor *use_transpose(corral_tensor *const *v)
{
    return corral_square(corral_transpose(v[0]));
}
static corral_tensor *use_twice(corral_tensor *const *v)
{
    corral_tensor *y = corral_tanh(v[0]);
    return corral_mul(corral_add(y, y), corral_sub(v[0], y)); // both inputs are used more than once
}

static void one_argument(void)
{
    static const struct {
        const char *name;
        corral_tensor *(*build)(corral_tensor *const *);
    } cases[] = {
        {"neg", use_neg},       {"scale", use_scale},       {"exp", use_exp},
        {"log", use_log},       {"tanh", use_tanh},         {"sigmoid", use_sigmoid},
        {"relu", use_relu},     {"square", use_square},     {"sqrt", use_sqrt},
        {"abs", use_abs},       {"clamp", use_clamp},       {"sum", use_sum},
        {"mean", use_mean},     {"sum_last", use_sum_last}, {"log_softmax", use_log_softmax},
        {"gather", use_gather}, {"reshape", use_reshape},   {"transpose", use_transpose},
        {"twice", use_twice},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        gradient_check check = {
            .name = cases[c].name,
            .build = cases[c].build,
            .variables = {{2, {4, 3}, {0.3, -1.2, 2.1, -0.4, 0.9, 1.7, -2.2, 0.6, -0.1, 1.3, -0.8, 0.2}}},
            .variable_count = 1};
        run_gradient_check(&check, 1e-7);
    }
}

static corral_tensor *use_matmul(corral_tensor *const *v)
{
    return corral_matmul(v[0], v[1]);
}
static corral_tensor *use_mse(corral_tensor *const *v)
{
    return corral_mse_loss(v[0], v[1]);
}
static corral_tensor *use_smooth_l1(corral_tensor *const *v)
{
    return corral_smooth_l1_loss(v[0], v[1], 0.8);
}
static corral_tensor *use_l1(corral_tensor *const *v)
{
    return corral_smooth_l1_loss(v[0], v[1], 0.0);
}

static void two_arguments(void)
{
    gradient_check product = {.name = "matmul",
                              .build = use_matmul,
                              .variable_count = 2,
                              .variables = {{2, {3, 5}, {0}}, {2, {5, 2}, {0}}}};
    fill(product.variables[0].values, 15, 0.4);
    fill(product.variables[1].values, 10, 1.4);
    run_gradient_check(&product, 1e-7);

    static const struct {
        const char *name;
        corral_tensor *(*build)(corral_tensor *const *);
    } losses[] = {{"mse", use_mse}, {"smooth_l1", use_smooth_l1}, {"l1", use_l1}};
    for (size_t i = 0; i < 3; i++) {
        gradient_check loss = {
            .name = losses[i].name,
            .build = losses[i].build,
            .variable_count = 2,
            .variables = {{1, {5}, {0.1, -2.0, 0.5, 3.0, 0.9}}, {1, {5}, {0.3, 1.0, -0.1, 0.2, 1.5}}}};
        run_gradient_check(&loss, 1e-7);
    }
}

// --- the linear layer and the loss of PPO, through the parameters
// ---------------------------------------------

enum { ROWS = 5, IN = 3, OUT = 4 };

static const float old_log_probs[ROWS] = {-1.2f, -0.9f, -3.0f, -1.4f, -0.6f};
static const float old_values[ROWS] = {0.1f, -0.4f, 0.9f, 0.3f, 0.0f};
static const float advantages[ROWS] = {1.0f, -0.7f, 0.4f, -1.3f, 0.8f};
static const float targets[ROWS] = {0.5f, -0.2f, 1.4f, -1.0f, 0.2f};
static const int32_t actions[ROWS] = {0, 3, 1, 2, 3};

static corral_ppo_terms ppo_terms(float value_clip)
{
    return (corral_ppo_terms){.action = actions,
                              .old_log_prob = old_log_probs,
                              .old_value = old_values,
                              .advantage = advantages,
                              .value_target = targets,
                              .clip_range = 0.2f,
                              .value_clip_range = value_clip,
                              .value_coefficient = 0.5f,
                              .entropy_coefficient = 0.03f,
                              .total_rows = 2 * ROWS};
}

static corral_ppo_terms current_terms;

static corral_tensor *network_loss(corral_tape *tape, corral_activation activation, corral_tensor *x)
{
    (void)tape;
    corral_tensor *hidden = corral_linear(x, 0, 1, activation);
    corral_tensor *logits = corral_linear(hidden, 2, 3, CORRAL_LINEAR);
    corral_tensor *value = corral_linear(hidden, 4, 5, CORRAL_LINEAR);
    return corral_ppo_loss(logits, value, &current_terms, NULL);
}

static corral_params *make_network(corral_dtype dtype)
{
    corral_params *params = NULL;
    uint32_t index;
    TEST_OK(corral_params_create(dtype, &params));
    TEST_OK(corral_params_add(params, "w1", 2, (const size_t[]){OUT, IN}, &index));
    TEST_OK(corral_params_add(params, "b1", 1, (const size_t[]){OUT}, &index));
    TEST_OK(corral_params_add(params, "w2", 2, (const size_t[]){4, OUT}, &index));
    TEST_OK(corral_params_add(params, "b2", 1, (const size_t[]){4}, &index));
    TEST_OK(corral_params_add(params, "w3", 2, (const size_t[]){1, OUT}, &index));
    TEST_OK(corral_params_add(params, "b3", 1, (const size_t[]){1}, &index));
    TEST_OK(corral_params_seal(params));
    for (uint32_t i = 0; i < 6; i++) {
        const corral_param *entry = corral_params_entry(params, i);
        for (size_t j = 0; j < entry->count; j++) {
            const double value = 0.7 * sin(1.0 + (double)(3 * i + j) * 1.7);
            if (dtype == CORRAL_F64) ((double *)corral_params_data(params))[entry->offset + j] = value;
            if (dtype == CORRAL_F32) ((float *)corral_params_data(params))[entry->offset + j] = (float)value;
        }
    }
    corral_params_refresh(params);
    return params;
}

static double network_value(corral_tape *tape, const corral_params *params, corral_activation activation,
                            const double *x)
{
    corral_tape_reset(tape, params, NULL);
    const corral_tensor *loss =
        network_loss(tape, activation, corral_input(tape, CORRAL_F64, 2, (const size_t[]){ROWS, IN}, x));
    TEST_OK(corral_tape_status(tape));
    return *(const double *)loss->data;
}

static void check_network(corral_activation activation, float value_clip)
{
    current_terms = ppo_terms(value_clip);
    corral_params *params = make_network(CORRAL_F64);
    corral_tape *tape = NULL;
    TEST_OK(corral_tape_create(&tape));
    double x[ROWS * IN];
    for (size_t i = 0; i < ROWS * IN; i++)
        x[i] = sin(0.3 + 1.9 * (double)i);
    double *gradients = calloc(corral_params_count(params), sizeof *gradients);
    corral_tape_reset(tape, params, gradients);
    corral_tensor *input = corral_variable(tape, CORRAL_F64, 2, (const size_t[]){ROWS, IN}, x);
    TEST_OK(corral_backward(network_loss(tape, activation, input)));
    double input_gradients[ROWS * IN];
    memcpy(input_gradients, input->grad, sizeof input_gradients);

    double *weights = corral_params_data(params);
    for (size_t i = 0; i < corral_params_count(params) + ROWS * IN; i++) {
        double *at = i < corral_params_count(params) ? &weights[i] : &x[i - corral_params_count(params)];
        const double exact =
            i < corral_params_count(params) ? gradients[i] : input_gradients[i - corral_params_count(params)];
        const double kept = *at, h = 1e-6;
        *at = kept + h;
        const double above = network_value(tape, params, activation, x);
        *at = kept - h;
        const double below = network_value(tape, params, activation, x);
        *at = kept;
        CU_ASSERT_DOUBLE_EQUAL((above - below) / (2.0 * h), exact, 1e-8);
    }
    free(gradients);
    corral_tape_destroy(tape);
    corral_params_destroy(params);
}

static void linear_and_ppo(void)
{
    for (int activation = 0; activation < CORRAL_ACTIVATION_COUNT; activation++) {
        check_network((corral_activation)activation, 0.0f);
        check_network((corral_activation)activation, 0.25f);
    }
}

/// The same network in f32 is close to f64: 1e-5 of the largest gradient.
static void f32_follows_f64(void)
{
    current_terms = ppo_terms(0.25f);
    corral_params *exact = make_network(CORRAL_F64), *fast = make_network(CORRAL_F32);
    double x64[ROWS * IN], g64[256] = {0};
    float x32[ROWS * IN], g32[256] = {0};
    for (size_t i = 0; i < ROWS * IN; i++)
        x64[i] = x32[i] = (float)sin(0.3 + 1.9 * (double)i);
    corral_tape *tape = NULL;
    TEST_OK(corral_tape_create(&tape));
    corral_tape_reset(tape, exact, g64);
    TEST_OK(corral_backward(
        network_loss(tape, CORRAL_TANH, corral_input(tape, CORRAL_F64, 2, (const size_t[]){ROWS, IN}, x64))));
    corral_tape_reset(tape, fast, g32);
    TEST_OK(corral_backward(
        network_loss(tape, CORRAL_TANH, corral_input(tape, CORRAL_F32, 2, (const size_t[]){ROWS, IN}, x32))));
    double largest = 0.0, worst = 0.0;
    for (uint32_t i = 0; i < 6; i++) {
        const corral_param *a = corral_params_entry(exact, i), *b = corral_params_entry(fast, i);
        for (size_t j = 0; j < a->count; j++) {
            largest = fmax(largest, fabs(g64[a->offset + j]));
            worst = fmax(worst, fabs(g64[a->offset + j] - (double)g32[b->offset + j]));
        }
    }
    CU_ASSERT_TRUE(largest > 0.0 && worst <= 1e-5 * largest);
    corral_tape_destroy(tape);
    corral_params_destroy(exact);
    corral_params_destroy(fast);
}

// --- rules at the kinks
// -----------------------------------------------------------------------------------------

/// The gradient of sum(build(x)) in both dtypes must equal `expected`.
static void expect_gradient(corral_tensor *(*build)(corral_tensor *const *), size_t count, const double *x,
                            const double *expected)
{
    corral_tape *tape = NULL;
    TEST_OK(corral_tape_create(&tape));
    float x32[16];
    for (size_t i = 0; i < count; i++)
        x32[i] = (float)x[i];
    for (int dtype = 0; dtype < CORRAL_DTYPE_COUNT; dtype++) {
        corral_tape_reset(tape, NULL, NULL);
        const void *data = dtype == CORRAL_F64 ? (const void *)x : (const void *)x32;
        corral_tensor *v = corral_variable(tape, (corral_dtype)dtype, 1, &count, data);
        TEST_OK(corral_backward(corral_sum(build(&v))));
        for (size_t i = 0; i < count; i++) {
            const double g = dtype == CORRAL_F64 ? ((double *)v->grad)[i] : (double)((float *)v->grad)[i];
            CU_ASSERT_EQUAL(g, expected[i]);
        }
    }
    corral_tape_destroy(tape);
}

static corral_tensor *plain_sqrt(corral_tensor *const *v)
{
    return corral_sqrt(v[0]);
}
static corral_tensor *plain_clamp(corral_tensor *const *v)
{
    return corral_clamp(v[0], -1.0, 1.0);
}
static corral_tensor *l1_of_equal(corral_tensor *const *v)
{
    return corral_scale(corral_smooth_l1_loss(v[0], corral_detach(v[0]), 0.0), 2.0);
}
static corral_tensor *tie(corral_tensor *const *v)
{
    return corral_minimum(v[0], corral_mul(v[0], corral_constant(v[0]->tape, v[0]->dtype, 1.0)));
}
static corral_tensor *unselected_infinity(corral_tensor *const *v)
{
    // The side that is left out has an infinite slope.
    return corral_maximum(corral_scale(v[0], 3.0),
                          corral_sub(corral_ln(v[0]), corral_constant(v[0]->tape, v[0]->dtype, 1.0)));
}

static void kinks(void)
{
    expect_gradient(plain_sqrt, 2, (const double[]){0.0, 4.0}, (const double[]){0.0, 0.25});
    expect_gradient(use_abs, 3, (const double[]){0.0, -2.0, 3.0}, (const double[]){0.0, -1.0, 1.0});
    expect_gradient(use_relu, 3, (const double[]){0.0, -2.0, 3.0}, (const double[]){0.0, 0.0, 1.0});
    expect_gradient(plain_clamp, 4, (const double[]){-1.0, 1.0, 1.5, -7.0},
                    (const double[]){1.0, 1.0, 0.0, 0.0});
    expect_gradient(l1_of_equal, 2, (const double[]){0.0, 2.0}, (const double[]){0.0, 0.0});
    expect_gradient(use_square, 1, (const double[]){0.0}, (const double[]){0.0});
    // At a tie the whole gradient goes to the first argument: 1, not 2 halves that happen to add up.
    expect_gradient(tie, 1, (const double[]){2.0}, (const double[]){1.0});
    expect_gradient(unselected_infinity, 1, (const double[]){0.0}, (const double[]){3.0});
}

/// Chosen so that a tie shows which argument gets it.
static void ties_go_to_the_first(void)
{
    corral_tape *tape = NULL;
    TEST_OK(corral_tape_create(&tape));
    const double value = 2.0;
    for (int i = 0; i < 2; i++) {
        corral_tape_reset(tape, NULL, NULL);
        corral_tensor *a = corral_variable(tape, CORRAL_F64, 0, NULL, &value);
        corral_tensor *b = corral_variable(tape, CORRAL_F64, 0, NULL, &value);
        TEST_OK(corral_backward(i == 0 ? corral_minimum(a, b) : corral_maximum(a, b)));
        CU_ASSERT_EQUAL(*(double *)a->grad, 1.0);
        CU_ASSERT_EQUAL(*(double *)b->grad, 0.0);
    }
    corral_tape_destroy(tape);
}

static void repeated_indices_accumulate(void)
{
    corral_tape *tape = NULL;
    TEST_OK(corral_tape_create(&tape));
    // Two gathers of the same elements.
    const double x[4] = {1, 2, 3, 4};
    static const int32_t index[] = {1, 1};
    corral_tape_reset(tape, NULL, NULL);
    corral_tensor *v = corral_variable(tape, CORRAL_F64, 2, (const size_t[]){2, 2}, x);
    TEST_OK(corral_backward(corral_sum(corral_add(corral_gather(v, index), corral_gather(v, index)))));
    const double *g = v->grad;
    CU_ASSERT_TRUE(g[0] == 0 && g[1] == 2 && g[2] == 0 && g[3] == 2);
    corral_tape_destroy(tape);
}

static void masked_softmax(void)
{
    corral_tape *tape = NULL;
    TEST_OK(corral_tape_create(&tape));
    const double gone = -INFINITY;
    for (size_t n = 1; n <= 40; n += 13) { // whatever the row's length
        double x[80];
        for (size_t i = 0; i < n; i++) {
            x[i] = gone;
            x[n + i] = i == 0 ? 0.5 : gone;
        }
        corral_tape_reset(tape, NULL, NULL);
        corral_tensor *v = corral_variable(tape, CORRAL_F64, 2, (const size_t[]){2, n}, x);
        corral_tensor *y = corral_log_softmax(v);
        TEST_OK(corral_backward(corral_sum(y)));
        for (size_t i = 0; i < n; i++)
            CU_ASSERT_EQUAL(((double *)y->data)[i], gone);
        CU_ASSERT_EQUAL(((double *)y->data)[n], 0.0);
        for (size_t i = 0; i < 2 * n; i++)
            CU_ASSERT_EQUAL(((double *)v->grad)[i], 0.0);
    }
    corral_tape_destroy(tape);
}

int main(void)
{
    return test_run("gradients", (test_case[]){{"arithmetic broadcasts", arithmetic_broadcasts},
                                               {"one argument", one_argument},
                                               {"two arguments", two_arguments},
                                               {"linear and ppo", linear_and_ppo},
                                               {"f32 follows f64", f32_follows_f64},
                                               {"kinks", kinks},
                                               {"ties go to the first", ties_go_to_the_first},
                                               {"repeated indices accumulate", repeated_indices_accumulate},
                                               {"masked softmax", masked_softmax},
                                               {NULL, NULL}});
}
