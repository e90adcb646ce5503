// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Batch norm as a recorded operation, and by its statistics without a tape.

#include "ops/layer_kernels.h"
#include "tensor/params.h"
#include "tensor/tape.h"

#include <math.h>
#include <string.h>

/// What a node keeps: by what its last forward normalised, and the statistics that it moves.
typedef struct batch_norm_record {
    corral_batch_statistics statistics;
    bool learns;
    double *mean, *variance, *inverse, *sums; // [n] each, sums [2, n]
} batch_norm_record;

static size_t width_of(const corral_tensor *x)
{
    return x->dimension_count == 0 ? 0 : x->shape[x->dimension_count - 1];
}

static corral_batch_norm_run run_of(const corral_node *node, const batch_norm_record *record)
{
    const corral_tape *tape = node->tensor.tape;
    const size_t n = width_of(&node->tensor);
    return (corral_batch_norm_run){
        .rows = corral_tensor_count(&node->tensor) / n,
        .n = n,
        .x = node->a->data,
        .weight = corral_tape_parameter_data(tape, node->weight),
        .bias = corral_tape_parameter_data(tape, node->bias),
        .mean = record->mean,
        .inverse = record->inverse,
        .fixed = !record->learns,
        .y = node->tensor.data,
        .sums = record->sums,
    };
}

/// The statistics move by `momentum` towards what these rows say, with the sample's variance, as PyTorch's.
static void move_statistics(const batch_norm_record *record, size_t rows, size_t n)
{
    const corral_batch_statistics *s = &record->statistics;
    const double sample = (double)rows / (double)(rows - 1);
    for (size_t k = 0; k < n; k++) {
        s->mean[k] += s->momentum * (record->mean[k] - s->mean[k]);
        s->variance[k] += s->momentum * (sample * record->variance[k] - s->variance[k]);
    }
}

static void batch_norm_forward(corral_node *node)
{
    const batch_norm_record *record = node->kept[0];
    const corral_batch_norm_run run = run_of(node, record);
    if (run.rows == 0) return;
    if (record->learns) {
        corral_layers_of(node->tensor.dtype)->moments(run.rows, run.n, run.x, record->mean, record->variance);
        move_statistics(record, run.rows, run.n);
    } else {
        memcpy(record->mean, record->statistics.mean, run.n * sizeof *record->mean);
        memcpy(record->variance, record->statistics.variance, run.n * sizeof *record->variance);
    }
    for (size_t k = 0; k < run.n; k++)
        record->inverse[k] = 1.0 / sqrt(record->variance[k] + record->statistics.epsilon);
    corral_layers_of(node->tensor.dtype)->batch_norm(&run);
}

static void batch_norm_backward(corral_node *node)
{
    const corral_tape *tape = node->tensor.tape;
    corral_batch_norm_run run = run_of(node, node->kept[0]);
    run.y_grad = node->tensor.grad;
    run.x_grad = corral_tensor_gradient(node->a);
    run.weight_grad = corral_tape_parameter_gradient(tape, node->weight);
    run.bias_grad = corral_tape_parameter_gradient(tape, node->bias);
    if (tape->status == CORRAL_OK) corral_layers_of(node->tensor.dtype)->batch_norm_grad(&run);
}

static bool is_vector(const corral_params *params, uint32_t entry, size_t n)
{
    return entry < params->entry_count && params->entries[entry].dimension_count == 1 &&
           params->entries[entry].shape[0] == n;
}

static bool check_batch_norm(const corral_tensor *x, uint32_t weight, uint32_t bias, bool learns)
{
    if (!corral_tape_ready(x, NULL, "batch_norm")) return false;
    const corral_params *params = x->tape->params;
    const size_t n = width_of(x), rows = n == 0 ? 0 : corral_tensor_count(x) / n;
    if (n == 0 || params == NULL || params->dtype != x->dtype || !is_vector(params, weight, n) ||
        !is_vector(params, bias, n)) {
        corral_tape_fail(x->tape, CORRAL_ERROR_INVALID,
                         "batch_norm: needs rows of 1 number or more and, of the tape's parameters and of "
                         "their dtype, one weight and one bias for each of the %zu",
                         n);
        return false;
    }
    if (!learns || rows != 1) return true;
    corral_tape_fail(x->tape, CORRAL_ERROR_INVALID,
                     "batch_norm: one row alone has no variance to learn from; hand in two or more");
    return false;
}

/// The record with its memory, in one piece of scratch; NULL after a failure.
static batch_norm_record *make_record(corral_tape *tape, size_t n, const corral_batch_statistics *statistics,
                                      bool learns)
{
    batch_norm_record *record = corral_tape_scratch(tape, sizeof *record);
    double *numbers = corral_tape_scratch(tape, 5 * n * sizeof *numbers);
    if (tape->status != CORRAL_OK) return NULL;
    *record = (batch_norm_record){.statistics = *statistics,
                                  .learns = learns,
                                  .mean = numbers,
                                  .variance = numbers + n,
                                  .inverse = numbers + 2 * n,
                                  .sums = numbers + 3 * n};
    memset(numbers, 0, 5 * n * sizeof *numbers);
    return record;
}

corral_tensor *corral_batch_norm(corral_tensor *x, uint32_t weight, uint32_t bias,
                                 const corral_batch_statistics *statistics, bool learns)
{
    corral_tape *tape = x->tape;
    if (!check_batch_norm(x, weight, bias, learns)) return &tape->empty;
    corral_node *node = corral_tape_append(tape, x->dtype, x->dimension_count, x->shape, x, NULL);
    batch_norm_record *record = make_record(tape, width_of(x), statistics, learns);
    if (node == NULL || record == NULL) return &tape->empty;
    corral_node_uses_parameters(node);
    node->forward = batch_norm_forward;
    node->backward = batch_norm_backward;
    node->weight = weight;
    node->bias = bias;
    node->kept[0] = record;
    batch_norm_forward(node);
    return &node->tensor;
}

void corral_batch_norm_forward(const corral_params *params, uint32_t weight, uint32_t bias,
                               const corral_batch_statistics *statistics, size_t rows, const float *x,
                               float *out)
{
    CORRAL_ASSERT(params->sealed && params->dtype == CORRAL_F32);
    const corral_param *w = corral_params_entry(params, weight), *b = corral_params_entry(params, bias);
    CORRAL_ASSERT(w->count == b->count);
    const size_t n = w->count;
    const float *data = params->data;
    for (size_t k = 0; k < n; k++) { // column by column, so that no memory is needed
        const double inverse = 1.0 / sqrt(statistics->variance[k] + statistics->epsilon);
        for (size_t r = 0; r < rows; r++)
            corral_layers_f32.batch_norm(&(corral_batch_norm_run){.rows = 1,
                                                                  .n = 1,
                                                                  .x = x + r * n + k,
                                                                  .weight = data + w->offset + k,
                                                                  .bias = data + b->offset + k,
                                                                  .mean = statistics->mean + k,
                                                                  .inverse = &inverse,
                                                                  .y = out + r * n + k});
    }
}
