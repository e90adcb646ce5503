// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "ops/pointwise.h"

corral_node *corral_pointwise_append(const char *name, corral_tensor *x)
{
    if (!corral_tape_ready(x, NULL, name)) return NULL;
    return corral_tape_append(x->tape, x->dtype, x->dimension_count, x->shape, x, NULL);
}

void corral_pointwise_forward(const corral_node *node, corral_unary_loop *loop)
{
    const corral_tensor *x = node->a;
    loop(&(corral_unary_run){
        .count = corral_tensor_count(x), .numbers = node->numbers, .x = x->data, .y = node->tensor.data});
}

void corral_pointwise_backward(const corral_node *node, corral_unary_loop *loop)
{
    const corral_tensor *x = node->a;
    const corral_unary_run run = {
        .count = corral_tensor_count(x),
        .numbers = node->numbers,
        .x = x->data,
        .y = node->tensor.data,
        .y_grad = node->tensor.grad,
        .x_grad = corral_tensor_gradient(node->a),
    };
    if (run.x_grad != NULL) loop(&run);
}

corral_node *corral_pairwise_append(const char *name, corral_tensor *a, corral_tensor *b,
                                    corral_broadcast *out_plan)
{
    if (!corral_tape_ready(a, b, name)) return NULL;
    if (!corral_broadcast_plan(a, b, out_plan)) {
        corral_tape_fail(a->tape, CORRAL_ERROR_INVALID,
                         "%s: the shapes do not broadcast; sizes must be equal or 1, from the right", name);
        return NULL;
    }
    size_t shape[CORRAL_MAX_DIMENSIONS];
    const uint32_t dimension_count = corral_broadcast_shape(a, b, shape);
    return corral_tape_append(a->tape, a->dtype, dimension_count, shape, a, b);
}

void corral_pairwise_walk(const corral_node *node, const corral_broadcast *plan, corral_binary_loop *loop)
{
    const corral_binary_run whole = {.a = node->a->data, .b = node->b->data, .y = node->tensor.data};
    corral_broadcast_walk(plan, &whole, corral_dtype_size(node->tensor.dtype), loop);
}

void corral_pairwise_forward(const corral_node *node, corral_binary_loop *loop)
{
    corral_broadcast plan;
    corral_broadcast_plan(node->a, node->b, &plan); // it did fit when the operation was recorded
    corral_pairwise_walk(node, &plan, loop);
}

void corral_pairwise_backward(const corral_node *node, corral_binary_loop *loop)
{
    corral_broadcast plan;
    corral_broadcast_plan(node->a, node->b, &plan);
    const corral_binary_run whole = {
        .a = node->a->data,
        .b = node->b->data,
        .y_grad = node->tensor.grad,
        .a_grad = corral_tensor_gradient(node->a),
        .b_grad = corral_tensor_gradient(node->b),
    };
    corral_broadcast_walk(&plan, &whole, corral_dtype_size(node->tensor.dtype), loop);
}

corral_tensor *corral_activate(corral_tensor *x, corral_activation activation)
{
    return activation == CORRAL_TANH ? corral_tanh(x) : activation == CORRAL_RELU ? corral_relu(x) : x;
}
