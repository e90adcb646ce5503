// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// What a tape can do beside one backward: no_grad, kept graphs, accumulation, hooks, checkpoints, custom
// operations; and what it says about writes in place, parameters that changed, tensors of an ended recording,
// and NaN.

#include "corral/core/autograd.h"
#include "small_network.h"

static corral_tape *tape;

static const float numbers[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

static corral_tensor *vector(void)
{
    return corral_variable(tape, CORRAL_F32, 1, (const size_t[]){3}, numbers);
}

static float gradient_at(const corral_tensor *tensor, size_t i)
{
    return ((const float *)tensor->grad)[i];
}

// --- gradients, or none -----------------------------------------------------------------------------------

static void no_grad_is_a_constant(void)
{
    corral_tape_reset(tape, NULL, NULL);
    corral_tensor *x = vector();
    CU_ASSERT_FALSE(corral_tape_no_grad(tape, true));
    corral_tensor *y = corral_square(x);
    CU_ASSERT_FALSE(y->requires_grad);
    CU_ASSERT_TRUE(corral_tape_no_grad(tape, false));
    TEST_OK(corral_backward(corral_sum(corral_mul(x, y))));
    for (size_t i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(gradient_at(x, i), numbers[i] * numbers[i]); // as if the square were an input
    corral_tape_no_grad(tape, true);
    corral_tape_reset(tape, NULL, NULL);
    CU_ASSERT_TRUE(vector()->requires_grad);
}

static void no_grad_spares_parameters(void)
{
    static small_network n;
    static float gradients[4096];
    small_network_start(&n);
    CU_ASSERT_TRUE_FATAL(corral_params_count(n.params) <= 4096);
    corral_tape_reset(tape, n.params, gradients);
    corral_tensor *x = corral_input(tape, CORRAL_F32, 2, (const size_t[]){2, NET_IN}, n.observation);
    corral_tape_no_grad(tape, true);
    corral_tensor *target = small_network_apply(x, 0);
    CU_ASSERT_FALSE(target->requires_grad || corral_parameter(tape, 0)->requires_grad);
    TEST_FAILS(corral_backward(corral_sum(target)), CORRAL_ERROR_INVALID, "depends on nothing");
    small_network_finish(&n);
}

static void graphs_are_kept_on_demand(void)
{
    corral_tape_reset(tape, NULL, NULL);
    corral_tensor *x = vector(), *h = corral_tanh(corral_square(x)), *sum = corral_sum(h);
    TEST_OK(corral_backward_with(sum, &(corral_backward_options){.retain = true}));
    float once[3];
    memcpy(once, x->grad, sizeof once);
    TEST_OK(corral_backward_with(corral_sum(corral_square(h)), &(corral_backward_options){.retain = true}));
    memcpy(x->grad, once, sizeof once);
    TEST_OK(corral_backward(sum));
    for (size_t i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(gradient_at(x, i),
                        2 * once[i]); // the same once more, and nothing left of h's gradients
    TEST_FAILS(corral_backward(sum), CORRAL_ERROR_INVALID, "already ran");
}

static void backward_starts_with_any_gradient(void)
{
    static const float weights[3] = {1, -2, 0.5f};
    corral_tape_reset(tape, NULL, NULL);
    corral_tensor *x = vector();
    TEST_OK(corral_backward_with(corral_square(x), &(corral_backward_options){.gradient = weights}));
    for (size_t i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(gradient_at(x, i), 2 * numbers[i] * weights[i]);
}

/// Two halves of a batch, one after the other, add up in one block.
static void gradients_accumulate_over_recordings(void)
{
    static small_network n;
    static float whole[4096], halves[4096];
    small_network_start(&n);
    const corral_params *params = n.params;
    for (int half = 0; half < 3; half++) {
        const size_t first = half == 2 ? 4 : 0, rows = half == 0 ? 8 : 4;
        corral_tape_reset(tape, params, half == 0 ? whole : halves);
        corral_tensor *x =
            corral_input(tape, CORRAL_F32, 2, (const size_t[]){rows, NET_IN}, n.observation + first * NET_IN);
        TEST_OK(corral_backward(corral_sum(corral_square(small_network_apply(x, 0)))));
    }
    for (size_t i = 0; i < corral_params_count(params); i++)
        CU_ASSERT_DOUBLE_EQUAL(whole[i], halves[i], 1e-5);
    small_network_finish(&n);
}

static int hook_calls;

static void halve(void *context, const corral_tensor *tensor, void *gradient)
{
    float *g = gradient;
    hook_calls++;
    for (size_t i = 0; i < corral_tensor_count(tensor); i++)
        g[i] = (g[i] + *(const float *)context) / 2;
}

static void hooks_see_whole_gradients(void)
{
    float add = 2.0f, none = 0.0f;
    hook_calls = 0;
    corral_tape_reset(tape, NULL, NULL);
    corral_tensor *x = vector(), *h = corral_scale(x, 3), *unreached = corral_scale(x, 5);
    corral_tensor_hook(h, halve, &add);
    corral_tensor_hook(h, halve, &none);
    corral_tensor_hook(x, halve, &none);
    corral_tensor_hook(unreached, halve, &none);
    TEST_OK(corral_backward(corral_add(corral_sum(h), corral_sum(corral_scale(h, 5)))));
    CU_ASSERT_EQUAL(hook_calls, 3);
    CU_ASSERT_EQUAL(gradient_at(x, 1), ((1.0f + 5.0f + 2.0f) / 2 + 0.0f) / 2 * 3 / 2);

    static small_network n;
    static float gradients[4096];
    small_network_start(&n);
    corral_tape_reset(tape, n.params, gradients);
    corral_tensor_hook(corral_parameter(tape, 0), halve, &none);
    TEST_FAILS(corral_tape_status(tape), CORRAL_ERROR_INVALID, "hook: the gradient of a parameter");
    small_network_finish(&n);
}

// --- checkpoints ------------------------------------------------------------------------------------------

static int segment_runs;

static corral_tensor *network(void *context, corral_tape *on, corral_tensor *const *inputs, size_t count)
{
    (void)on;
    CU_ASSERT_EQUAL(count, 2);
    segment_runs++;
    return corral_mul(small_network_apply(inputs[0], *(const uint32_t *)context), inputs[1]);
}

static corral_tensor *nested(void *context, corral_tape *on, corral_tensor *const *inputs, size_t count)
{
    return corral_tanh(corral_checkpoint(on, network, context, inputs, count));
}

static void run_segment(small_network *n, int depth, float *gradients, float *input_gradient)
{
    static uint32_t first = 0;
    corral_tape_reset(tape, n->params, gradients);
    corral_tensor *x = corral_variable(tape, CORRAL_F32, 2, (const size_t[]){8, NET_IN}, n->observation);
    corral_tensor *inputs[2] = {corral_tanh(x),
                                corral_input(tape, CORRAL_F32, 1, (const size_t[]){NET_ACTIONS}, numbers)};
    corral_tensor *y = depth == 0   ? corral_tanh(network(&first, tape, inputs, 2))
                       : depth == 1 ? corral_tanh(corral_checkpoint(tape, network, &first, inputs, 2))
                                    : corral_checkpoint(tape, nested, &first, inputs, 2);
    TEST_OK(corral_backward(corral_sum(corral_square(y))));
    memcpy(input_gradient, x->grad, 8 * NET_IN * sizeof *input_gradient);
}

static void checkpoints_change_no_bit(void)
{
    static small_network n;
    static float gradients[3][4096], input_gradients[3][8 * NET_IN];
    small_network_start(&n);
    for (int depth = 0; depth < 3; depth++) {
        segment_runs = 0;
        run_segment(&n, depth, gradients[depth], input_gradients[depth]);
        CU_ASSERT_EQUAL(segment_runs, depth + 1);
    }
    for (int depth = 1; depth < 3; depth++) {
        CU_ASSERT_EQUAL(memcmp(gradients[0], gradients[depth], sizeof gradients[0]), 0);
        CU_ASSERT_EQUAL(memcmp(input_gradients[0], input_gradients[depth], sizeof input_gradients[0]), 0);
    }
    small_network_finish(&n);
}

static corral_tensor *wide(void *context, corral_tape *on, corral_tensor *const *inputs, size_t count)
{
    (void)context;
    (void)on;
    (void)count;
    corral_tensor *x = inputs[0];
    for (int i = 0; i < 10; i++)
        x = corral_tanh(x);
    return corral_sum_last(x);
}

static size_t peak_of(bool checkpointed)
{
    static float data[16 * 256];
    corral_tape *fresh = NULL;
    TEST_OK(corral_tape_create(&fresh));
    corral_tape_reset(fresh, NULL, NULL);
    corral_tensor *x = corral_variable(fresh, CORRAL_F32, 2, (const size_t[]){16, 256}, data), *sum = NULL;
    for (int i = 0; i < 8; i++) {
        corral_tensor *y =
            checkpointed ? corral_checkpoint(fresh, wide, NULL, &x, 1) : wide(NULL, fresh, &x, 1);
        sum = sum == NULL ? y : corral_add(sum, y);
    }
    TEST_OK(corral_backward(corral_sum(sum)));
    const size_t peak = corral_tape_peak_bytes(fresh);
    corral_tape_destroy(fresh);
    return peak;
}

static void checkpoints_save_memory(void)
{
    CU_ASSERT_TRUE(4 * peak_of(true) < peak_of(false));
}

static corral_tensor *misfit(void *context, corral_tape *on, corral_tensor *const *inputs, size_t count)
{
    (void)context;
    (void)count;
    return corral_add(inputs[0], corral_input(on, CORRAL_F32, 1, (const size_t[]){2}, numbers));
}

static corral_tensor *foreign(void *context, corral_tape *on, corral_tensor *const *inputs, size_t count)
{
    (void)on;
    (void)inputs;
    (void)count;
    return context;
}

static void failures_inside_come_out(void)
{
    corral_tape_reset(tape, NULL, NULL);
    corral_tensor *x = vector();
    corral_checkpoint(tape, misfit, NULL, &x, 1);
    TEST_FAILS(corral_tape_status(tape), CORRAL_ERROR_INVALID,
               "checkpoint: add: the shapes do not broadcast");
    corral_tape_reset(tape, NULL, NULL);
    x = vector();
    corral_checkpoint(tape, foreign, x, &x, 1);
    TEST_FAILS(corral_tape_status(tape), CORRAL_ERROR_INVALID,
               "checkpoint: its result is not of the segment's");
    corral_tape_reset(tape, NULL, NULL);
    corral_checkpoint(tape, wide, NULL, NULL, 0);
    TEST_FAILS(corral_tape_status(tape), CORRAL_ERROR_INVALID, "checkpoint: takes 1 to");
}

// --- custom operations ------------------------------------------------------------------------------------

static corral_status cube(void *context, const corral_tensor *const *inputs, const corral_tensor *out)
{
    const float *x = inputs[0]->data;
    if (x[0] == *(const float *)context)
        return corral_fail(CORRAL_ERROR_INVALID, "%g is too much", (double)x[0]);
    for (size_t i = 0; i < 3; i++)
        ((float *)out->data)[i] = x[i] * x[i] * x[i] + ((const float *)inputs[1]->data)[i];
    return CORRAL_OK;
}

static corral_status cube_back(void *context, const corral_tensor *const *inputs, const corral_tensor *out,
                               const void *out_gradient, void *const *gradients)
{
    (void)context;
    (void)out;
    const float *x = inputs[0]->data, *g = out_gradient;
    for (size_t i = 0; i < 3; i++)
        ((float *)gradients[0])[i] += 3 * x[i] * x[i] * g[i];
    CU_ASSERT_PTR_NULL(gradients[1]);
    return CORRAL_OK;
}

static void operations_from_outside(void)
{
    static const corral_custom_operation operation = {"cube", cube, cube_back};
    static const corral_custom_operation forward_alone = {"cube", cube, NULL};
    float limit = -1;
    corral_tape_reset(tape, NULL, NULL);
    corral_tensor *x = vector(), *shift = corral_input(tape, CORRAL_F32, 1, (const size_t[]){3}, numbers);
    corral_tensor *y = corral_custom(tape, &operation, &limit, (corral_tensor *[]){x, shift}, 2, 1, x->shape);
    corral_tensor *apart =
        corral_custom(tape, &forward_alone, &limit, (corral_tensor *[]){x, shift}, 2, 1, x->shape);
    CU_ASSERT_FALSE(apart->requires_grad);
    TEST_OK(corral_backward(corral_sum(corral_mul(y, apart))));
    for (size_t i = 0; i < 3; i++) {
        const float v = numbers[i];
        CU_ASSERT_EQUAL(gradient_at(x, i), 3 * v * v * (v * v * v + v));
    }
    limit = 1;
    corral_tape_reset(tape, NULL, NULL);
    x = vector();
    corral_custom(tape, &operation, &limit, (corral_tensor *[]){x, x}, 2, 1, x->shape);
    TEST_FAILS(corral_tape_status(tape), CORRAL_ERROR_INVALID, "cube: 1 is too much");
}

// --- versions and lifetimes -------------------------------------------------------------------------------

static void writes_in_place_are_noticed(void)
{
    corral_tape_reset(tape, NULL, NULL);
    corral_tensor *x = vector(), *h = corral_scale(x, 2), *y = corral_sum(corral_square(h));
    CU_ASSERT_PTR_NULL(corral_tensor_edit(x));              // the caller's own
    ((float *)corral_tensor_edit(corral_detach(h)))[0] = 7; // by a detour
    TEST_FAILS(corral_backward(y), CORRAL_ERROR_INVALID,
               "backward of square: its input, a result of scale, was written to in place");

    corral_tape_reset(tape, NULL, NULL);
    x = vector();
    h = corral_scale(x, 2);
    ((float *)corral_tensor_edit(h))[0] = 7; // before anybody reads it
    TEST_OK(corral_backward(corral_sum(corral_square(h))));
    CU_ASSERT_EQUAL(gradient_at(x, 0), 2 * 7 * 2);
}

static void changed_parameters_are_noticed(void)
{
    static small_network n;
    small_network_start(&n);
    corral_tape_reset(tape, n.params, corral_optimizer_lane(n.optimizer, 0));
    corral_tensor *x = corral_input(tape, CORRAL_F32, 2, (const size_t[]){2, NET_IN}, n.observation);
    corral_tensor *loss = corral_sum(small_network_apply(x, 0));
    TEST_OK(corral_optimizer_step(n.optimizer, 1, 1e-3, NULL, NULL));
    TEST_FAILS(corral_backward(loss), CORRAL_ERROR_INVALID, "the parameters have changed since");
    small_network_finish(&n);
}

static void ended_tensors_are_noticed(void)
{
    TEST_OK(corral_tape_set_anomaly(tape, true));
    corral_tape_reset(tape, NULL, NULL);
    corral_tensor *old = corral_square(vector());
    corral_tape_reset(tape, NULL, NULL);
    corral_add(vector(), old);
    TEST_FAILS(corral_tape_status(tape), CORRAL_ERROR_INVALID,
               "add: a tensor is of a recording that has ended");
    corral_tape_reset(tape, NULL, NULL);
    old = corral_sum(vector());
    corral_tape_reset(tape, NULL, NULL);
    TEST_FAILS(corral_backward(old), CORRAL_ERROR_INVALID, "is of a recording that has ended");
    TEST_OK(corral_tape_set_anomaly(tape, false));
    corral_tape_reset(tape, NULL, NULL);
}

// --- watching ---------------------------------------------------------------------------------------------

static void the_first_nan_is_named(void)
{
    static const float below[3] = {1, -1, 2};
    TEST_OK(corral_tape_set_anomaly(tape, true));
    corral_tape_reset(tape, NULL, NULL);
    corral_tensor *x = corral_variable(tape, CORRAL_F32, 1, (const size_t[]){3}, below);
    corral_tensor *loss = corral_sum(corral_exp(corral_sqrt(x)));
    TEST_FAILS(corral_backward(loss), CORRAL_ERROR_NOT_FINITE,
               "anomaly: sqrt gave the first NaN, as element 1 of the 3 of its result");

    corral_tape_reset(tape, NULL, NULL);
    const float bad[3] = {1, 2, NAN};
    corral_square(corral_input(tape, CORRAL_F32, 1, (const size_t[]){3}, bad));
    TEST_FAILS(corral_tape_status(tape), CORRAL_ERROR_NOT_FINITE, "input gave the first NaN, as element 2");

    // Infinities are finite work until they meet: 0 * inf is backward's doing here.
    corral_tape_reset(tape, NULL, NULL);
    const float large[1] = {INFINITY}, zero[1] = {0};
    corral_tensor *z = corral_variable(tape, CORRAL_F32, 1, (const size_t[]){1}, zero);
    corral_tensor *w = corral_input(tape, CORRAL_F32, 1, (const size_t[]){1}, large);
    corral_tensor *quotient = corral_div(z, w); // 0
    TEST_OK(corral_tape_status(tape));
    TEST_FAILS(corral_backward_with(corral_mul(corral_scale(quotient, 0), w), &(corral_backward_options){0}),
               CORRAL_ERROR_NOT_FINITE, "anomaly: mul gave the first NaN");
    TEST_OK(corral_tape_set_anomaly(tape, false));
    corral_tape_reset(tape, NULL, NULL);
}

static void spoil(void *context, const corral_tensor *tensor, void *gradient)
{
    (void)context;
    (void)tensor;
    *(float *)gradient = INFINITY;
}

static void nan_of_backward_is_named(void)
{
    static const float zeros[1] = {0};
    TEST_OK(corral_tape_set_anomaly(tape, true));
    corral_tape_reset(tape, NULL, NULL);
    corral_tensor *x = corral_variable(tape, CORRAL_F32, 1, (const size_t[]){1}, numbers);
    corral_tensor *zero = corral_input(tape, CORRAL_F32, 1, (const size_t[]){1}, zeros);
    corral_tensor *h = corral_mul(x, zero);
    corral_tensor_hook(h, spoil, NULL);
    TEST_FAILS(corral_backward(corral_sum(h)), CORRAL_ERROR_NOT_FINITE,
               "anomaly: backward of mul gave the first NaN, in element 0 of the 1 of the gradient of input");
    TEST_OK(corral_tape_set_anomaly(tape, false));
    corral_tape_reset(tape, NULL, NULL);
}

static const corral_tape_use *find_use(const corral_tape_use *rows, size_t count, const char *site,
                                       const char *operation)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(rows[i].site, site) == 0 && strcmp(rows[i].operation, operation) == 0) return &rows[i];
    }
    return NULL;
}

static void memory_is_reported_by_site(void)
{
    static float data[1024];
    corral_tape_use rows[16];
    TEST_OK(corral_tape_set_report(tape, true));
    for (size_t elements = 1024; elements > 0; elements = elements == 1024 ? 16 : 0) {
        corral_tape_reset(tape, NULL, NULL);
        corral_tensor *x = corral_variable(tape, CORRAL_F32, 1, &elements, data);
        corral_tape_site(tape, "encoder");
        corral_tensor *h = corral_tanh(corral_tanh(x));
        corral_tape_site(tape, "head");
        TEST_OK(corral_backward(corral_sum(corral_square(h))));
    }
    corral_tape_reset(tape, NULL, NULL);
    const size_t count = corral_tape_report(tape, rows, 16);
    CU_ASSERT_TRUE_FATAL(count >= 4 && count <= 16);
    const corral_tape_use *encoder = find_use(rows, count, "encoder", "tanh"),
                          *head = find_use(rows, count, "head", "square"),
                          *backward = find_use(rows, count, "backward", "tanh");
    CU_ASSERT_TRUE_FATAL(encoder != NULL && head != NULL && backward != NULL);
    CU_ASSERT_EQUAL(encoder->count, 2);
    CU_ASSERT_TRUE(encoder->bytes >= 2 * sizeof data && encoder->bytes < 2 * sizeof data + 1024);
    CU_ASSERT_TRUE(head->bytes >= sizeof data && backward->bytes >= 2 * sizeof data);
    for (size_t i = 1; i < count; i++)
        CU_ASSERT_TRUE(rows[i - 1].bytes >= rows[i].bytes);
    CU_ASSERT_EQUAL(corral_tape_report(tape, NULL, 0), count);
    TEST_OK(corral_tape_set_report(tape, false));
}

int main(void)
{
    if (corral_tape_create(&tape) != CORRAL_OK) return 2;
    const int result = test_run(
        "autograd", (test_case[]){{"no_grad is a constant", no_grad_is_a_constant},
                                  {"no_grad spares parameters", no_grad_spares_parameters},
                                  {"graphs are kept on demand", graphs_are_kept_on_demand},
                                  {"backward starts with any gradient", backward_starts_with_any_gradient},
                                  {"gradients accumulate", gradients_accumulate_over_recordings},
                                  {"hooks see whole gradients", hooks_see_whole_gradients},
                                  {"checkpoints change no bit", checkpoints_change_no_bit},
                                  {"checkpoints save memory", checkpoints_save_memory},
                                  {"failures inside come out", failures_inside_come_out},
                                  {"operations from outside", operations_from_outside},
                                  {"writes in place are noticed", writes_in_place_are_noticed},
                                  {"changed parameters are noticed", changed_parameters_are_noticed},
                                  {"ended tensors are noticed", ended_tensors_are_noticed},
                                  {"the first NaN is named", the_first_nan_is_named},
                                  {"NaN of backward is named", nan_of_backward_is_named},
                                  {"memory is reported by site", memory_is_reported_by_site},
                                  {NULL, NULL}});
    corral_tape_destroy(tape);
    return result;
}
