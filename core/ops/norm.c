// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Layer norm and RMS norm as recorded operations.

#include "ops/layer_kernels.h"
#include "tensor/params.h"
#include "tensor/tape.h"

enum { NO_BIAS = UINT32_MAX };

static corral_norm_run run_of(const corral_node *node)
{
    const corral_tape *tape = node->tensor.tape;
    const bool centred = node->bias != NO_BIAS;
    const size_t n = node->tensor.shape[node->tensor.dimension_count - 1];
    return (corral_norm_run){
        .rows = n == 0 ? 0 : corral_tensor_count(&node->tensor) / n,
        .n = n,
        .epsilon = node->numbers[0],
        .centred = centred,
        .x = node->a->data,
        .weight = corral_tape_parameter_data(tape, node->weight),
        .bias = centred ? corral_tape_parameter_data(tape, node->bias) : NULL,
        .y = node->tensor.data,
    };
}

static void norm_forward(corral_node *node)
{
    const corral_norm_run run = run_of(node);
    corral_layers_of(node->tensor.dtype)->norm(&run);
}

static void norm_backward(corral_node *node)
{
    const corral_tape *tape = node->tensor.tape;
    corral_norm_run run = run_of(node);
    run.y_grad = node->tensor.grad;
    run.x_grad = corral_tensor_gradient(node->a);
    run.weight_grad = corral_tape_parameter_gradient(tape, node->weight);
    run.bias_grad = run.centred ? corral_tape_parameter_gradient(tape, node->bias) : NULL;
    if (tape->status == CORRAL_OK) corral_layers_of(node->tensor.dtype)->norm_grad(&run);
}

static bool is_vector(const corral_params *params, uint32_t entry, size_t n)
{
    return entry < params->entry_count && params->entries[entry].dimension_count == 1 &&
           params->entries[entry].shape[0] == n;
}

static corral_tensor *record(const char *name, corral_tensor *x, uint32_t weight, uint32_t bias,
                             double epsilon)
{
    corral_tape *tape = x->tape;
    if (!corral_tape_ready(x, NULL, name)) return &tape->empty;
    const corral_params *params = tape->params;
    const size_t n = x->dimension_count == 0 ? 0 : x->shape[x->dimension_count - 1];
    if (n == 0 || params == NULL || params->dtype != x->dtype || !is_vector(params, weight, n) ||
        (bias != NO_BIAS && !is_vector(params, bias, n)))
        return corral_tape_fail(
            tape, CORRAL_ERROR_INVALID,
            "%s: needs rows of 1 number or more and, of the tape's parameters and of their "
            "dtype, one weight%s for each of the %zu",
            name, bias == NO_BIAS ? "" : " and one bias", n);
    corral_node *node = corral_tape_append(tape, x->dtype, x->dimension_count, x->shape, x, NULL);
    if (node == NULL) return &tape->empty;
    corral_node_uses_parameters(node);
    node->forward = norm_forward;
    node->backward = norm_backward;
    node->weight = weight;
    node->bias = bias;
    node->numbers[0] = epsilon;
    norm_forward(node);
    return &node->tensor;
}

corral_tensor *corral_layer_norm(corral_tensor *x, uint32_t weight, uint32_t bias, double epsilon)
{
    return record("layer_norm", x, weight, bias, epsilon);
}

corral_tensor *corral_rms_norm(corral_tensor *x, uint32_t weight, double epsilon)
{
    return record("rms_norm", x, weight, NO_BIAS, epsilon);
}
