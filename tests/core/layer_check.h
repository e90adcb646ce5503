// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A layer with parameters, checked in two ways: its gradients in f64 against central differences, of every
/// parameter and every element of its inputs; and its f32 form, values and gradients, against the f64 one.
#ifndef CORRAL_TEST_LAYER_CHECK_H
#define CORRAL_TEST_LAYER_CHECK_H

#include "corral/core/ops.h"
#include "test.h"

enum { LAYER_ENTRIES = 8, LAYER_INPUTS = 4, LAYER_ELEMENTS = 4096 };

typedef struct layer_shape {
    uint32_t dimension_count;
    size_t shape[CORRAL_MAX_DIMENSIONS];
} layer_shape;

typedef struct layer_check {
    const char *name;
    /// From the inputs, with the parameters on their tape, to a result of any shape.
    corral_tensor *(*build)(corral_tensor *const *inputs);
    layer_shape entries[LAYER_ENTRIES];
    uint32_t entry_count;
    layer_shape inputs[LAYER_INPUTS];
    int input_count;
    double tolerance; // of differences
} layer_check;

static size_t layer_count(const layer_shape *shape)
{
    size_t count = 1;
    for (uint32_t i = 0; i < shape->dimension_count; i++)
        count *= shape->shape[i];
    return count;
}

/// One run of the layer: the inputs' values, and what came out.
typedef struct layer_run {
    corral_dtype dtype;
    corral_params *params;
    corral_tape *tape;
    double input[LAYER_INPUTS][LAYER_ELEMENTS];
    double result[LAYER_ELEMENTS], input_grad[LAYER_INPUTS][LAYER_ELEMENTS];
    size_t result_count;
    double *params_grad;
} layer_run;

static double layer_number(size_t i)
{
    return 0.6 * sin(0.3 + 1.7 * (double)i) + 0.2 * cos(0.37 * (double)i);
}

/// f32 runs begin from numbers that f32 can hold, and so do f64 ones.
static double layer_rounded(size_t i)
{
    return (double)(float)layer_number(i);
}

static double layer_get(const void *data, corral_dtype dtype, size_t i)
{
    return dtype == CORRAL_F64 ? ((const double *)data)[i] : (double)((const float *)data)[i];
}

static void layer_set(void *data, corral_dtype dtype, size_t i, double value)
{
    if (dtype == CORRAL_F64)
        ((double *)data)[i] = value;
    else
        ((float *)data)[i] = (float)value;
}

static layer_run *layer_start(const layer_check *check, corral_dtype dtype)
{
    layer_run *run = calloc(1, sizeof *run);
    CU_ASSERT_PTR_NOT_NULL_FATAL(run);
    run->dtype = dtype;
    TEST_OK(corral_params_create(dtype, &run->params));
    for (uint32_t e = 0; e < check->entry_count; e++) {
        uint32_t index;
        char name[24];
        snprintf(name, sizeof name, "entry.%u", e);
        TEST_OK(corral_params_add(run->params, name, check->entries[e].dimension_count,
                                  check->entries[e].shape, &index));
    }
    TEST_OK(corral_params_seal(run->params));
    for (uint32_t e = 0; e < check->entry_count; e++) {
        const corral_param *entry = corral_params_entry(run->params, e);
        for (size_t i = 0; i < entry->count; i++)
            layer_set(corral_params_data(run->params), dtype, entry->offset + i, layer_rounded(31 * e + i));
    }
    corral_params_refresh(run->params);
    for (int v = 0; v < check->input_count; v++) {
        CU_ASSERT_TRUE_FATAL(layer_count(&check->inputs[v]) <= LAYER_ELEMENTS);
        for (size_t i = 0; i < layer_count(&check->inputs[v]); i++)
            run->input[v][i] = layer_rounded(1000 + 97 * (size_t)v + i);
    }
    run->params_grad = calloc(corral_params_count(run->params) + 1, sizeof(double));
    TEST_OK(corral_tape_create(&run->tape));
    return run;
}

static void layer_end(layer_run *run)
{
    corral_tape_destroy(run->tape);
    corral_params_destroy(run->params);
    free(run->params_grad);
    free(run);
}

/// The sum of the result's elements, each with a weight of its own. Without `gradients`, values only.
static double layer_go(const layer_check *check, layer_run *run, bool gradients)
{
    static double weights[LAYER_ELEMENTS];
    static float weights32[LAYER_ELEMENTS], input32[LAYER_INPUTS][LAYER_ELEMENTS];
    const size_t count = corral_params_count(run->params);
    void *block = gradients ? calloc(count + 1, sizeof(double)) : NULL;
    corral_tensor *inputs[LAYER_INPUTS];
    corral_tape_reset(run->tape, run->params, block);
    for (int v = 0; v < check->input_count; v++) {
        for (size_t i = 0; i < layer_count(&check->inputs[v]); i++)
            input32[v][i] = (float)run->input[v][i];
        const void *data = run->dtype == CORRAL_F64 ? (const void *)run->input[v] : input32[v];
        inputs[v] = corral_variable(run->tape, run->dtype, check->inputs[v].dimension_count,
                                    check->inputs[v].shape, data);
    }
    corral_tensor *result = check->build(inputs);
    TEST_OK(corral_tape_status(run->tape));
    run->result_count = corral_tensor_count(result);
    CU_ASSERT_TRUE_FATAL(run->result_count <= LAYER_ELEMENTS);
    double sum = 0.0;
    for (size_t i = 0; i < run->result_count; i++) {
        weights[i] = 0.3 + 0.1 * (double)(i * 7 % 11) - 0.05 * (double)(i % 5);
        weights32[i] = (float)weights[i];
        run->result[i] = layer_get(result->data, run->dtype, i);
        sum += weights[i] * run->result[i];
    }
    const void *weight = run->dtype == CORRAL_F64 ? (const void *)weights : weights32;
    if (gradients) {
        corral_tensor *w =
            corral_input(run->tape, run->dtype, result->dimension_count, result->shape, weight);
        TEST_OK(corral_backward(corral_sum(corral_mul(result, w))));
        for (size_t i = 0; i < count; i++)
            run->params_grad[i] = layer_get(block, run->dtype, i);
        for (int v = 0; v < check->input_count; v++) {
            for (size_t i = 0; i < layer_count(&check->inputs[v]); i++)
                run->input_grad[v][i] = layer_get(inputs[v]->grad, run->dtype, i);
        }
    }
    free(block);
    return sum;
}

static void layer_difference(const layer_check *check, layer_run *run, double *at, double exact,
                             const char *what, size_t i)
{
    const double kept = *at, h = 1e-6 * fmax(1.0, fabs(kept));
    *at = kept + h;
    const double above = layer_go(check, run, false);
    *at = kept - h;
    const double below = layer_go(check, run, false);
    *at = kept;
    const double numeric = (above - below) / (2.0 * h);
    const int close = fabs(numeric - exact) <= check->tolerance * fmax(1.0, fabs(numeric));
    if (!close)
        fprintf(stderr, "%s: %s %zu: gradient %.9g, differences say %.9g\n", check->name, what, i, exact,
                numeric);
    CU_ASSERT_TRUE(close);
}

static void layer_close(const char *name, const char *what, size_t count, const double *exact,
                        const double *found)
{
    double largest = 0.0, worst = 0.0;
    for (size_t i = 0; i < count; i++) {
        largest = fmax(largest, fabs(exact[i]));
        worst = fmax(worst, fabs(exact[i] - found[i]));
    }
    if (!(worst <= 1e-5 * fmax(1e-3, largest)))
        fprintf(stderr, "%s: %s in f32 is %g away from f64, of at most %g\n", name, what, worst, largest);
    CU_ASSERT_TRUE(worst <= 1e-5 * fmax(1e-3, largest));
}

static void run_layer_check(const layer_check *check)
{
    layer_run *run = layer_start(check, CORRAL_F64), *fast = layer_start(check, CORRAL_F32);
    layer_go(check, run, true);
    layer_go(check, fast, true);
    CU_ASSERT_EQUAL_FATAL(run->result_count, fast->result_count);
    layer_close(check->name, "the result", run->result_count, run->result, fast->result);
    for (uint32_t e = 0; e < check->entry_count; e++) {
        const corral_param *a = corral_params_entry(run->params, e),
                           *b = corral_params_entry(fast->params, e);
        layer_close(check->name, a->name, a->count, run->params_grad + a->offset,
                    fast->params_grad + b->offset);
        for (size_t i = 0; i < a->count; i++) {
            double *at = (double *)corral_params_data(run->params) + a->offset + i;
            layer_difference(check, run, at, run->params_grad[a->offset + i], a->name, i);
        }
    }
    for (int v = 0; v < check->input_count; v++) {
        const size_t count = layer_count(&check->inputs[v]);
        layer_close(check->name, "an input's gradient", count, run->input_grad[v], fast->input_grad[v]);
        for (size_t i = 0; i < count; i++)
            layer_difference(check, run, &run->input[v][i], run->input_grad[v][i], "input", i);
    }
    layer_end(run);
    layer_end(fast);
}

#endif
