// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Element-wise operations of one and of two tensors; broadcast.h says how two shapes go together.

#include "ops/broadcast.h"
#include "ops/kernels.h"
#include "tensor/tape.h"

static void binary_forward(corral_node *node)
{
    corral_broadcast plan;
    corral_broadcast_plan(node->a, node->b, &plan); // it did fit when the operation was recorded
    const corral_dtype dtype = node->tensor.dtype;
    const corral_binary_run whole = {.a = node->a->data, .b = node->b->data, .y = node->tensor.data};
    corral_broadcast_walk(&plan, &whole, corral_dtype_size(dtype),
                          corral_kernels_of(dtype)->binary[node->kind]);
}

static void binary_backward(corral_node *node)
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
    const corral_dtype dtype = node->tensor.dtype;
    corral_broadcast_walk(&plan, &whole, corral_dtype_size(dtype),
                          corral_kernels_of(dtype)->binary_grad[node->kind]);
}

static corral_tensor *binary(corral_binary kind, const char *name, corral_tensor *a, corral_tensor *b)
{
    if (!corral_tape_ready(a, b, name)) return &a->tape->empty;
    corral_broadcast plan;
    if (!corral_broadcast_plan(a, b, &plan)) {
        return corral_tape_fail(a->tape, CORRAL_ERROR_INVALID,
                                "%s: the shapes do not broadcast; sizes must be equal or 1, from the right",
                                name);
    }
    size_t shape[CORRAL_MAX_DIMENSIONS];
    const uint32_t dimension_count = corral_broadcast_shape(a, b, shape);
    corral_node *node = corral_tape_append(a->tape, a->dtype, dimension_count, shape, a, b);
    if (node == NULL) return &a->tape->empty;
    node->kind = kind;
    node->forward = binary_forward;
    node->backward = binary_backward;
    const corral_binary_run whole = {.a = a->data, .b = b->data, .y = node->tensor.data};
    corral_broadcast_walk(&plan, &whole, corral_dtype_size(a->dtype),
                          corral_kernels_of(a->dtype)->binary[kind]);
    return &node->tensor;
}

corral_tensor *corral_add(corral_tensor *a, corral_tensor *b)
{
    return binary(CORRAL_BINARY_ADD, "add", a, b);
}

corral_tensor *corral_sub(corral_tensor *a, corral_tensor *b)
{
    return binary(CORRAL_BINARY_SUB, "sub", a, b);
}

corral_tensor *corral_mul(corral_tensor *a, corral_tensor *b)
{
    return binary(CORRAL_BINARY_MUL, "mul", a, b);
}

corral_tensor *corral_div(corral_tensor *a, corral_tensor *b)
{
    return binary(CORRAL_BINARY_DIV, "div", a, b);
}

corral_tensor *corral_minimum(corral_tensor *a, corral_tensor *b)
{
    return binary(CORRAL_BINARY_MINIMUM, "minimum", a, b);
}

corral_tensor *corral_maximum(corral_tensor *a, corral_tensor *b)
{
    return binary(CORRAL_BINARY_MAXIMUM, "maximum", a, b);
}

// --- one tensor
// ---------------------------------------------------------------------------------------------

static void unary_forward(corral_node *node)
{
    const corral_tensor *x = node->a;
    const corral_unary_run run = {
        .count = corral_tensor_count(x), .numbers = node->numbers, .x = x->data, .y = node->tensor.data};
    corral_kernels_of(x->dtype)->unary[node->kind](&run);
}

static void unary_backward(corral_node *node)
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
    if (run.x_grad != NULL) corral_kernels_of(x->dtype)->unary_grad[node->kind](&run);
}

static corral_tensor *unary(corral_unary kind, const char *name, corral_tensor *x, double first,
                            double second)
{
    if (!corral_tape_ready(x, NULL, name)) return &x->tape->empty;
    corral_node *node = corral_tape_append(x->tape, x->dtype, x->dimension_count, x->shape, x, NULL);
    if (node == NULL) return &x->tape->empty;
    node->kind = kind;
    node->forward = unary_forward;
    node->backward = unary_backward;
    node->numbers[0] = first;
    node->numbers[1] = second;
    unary_forward(node);
    return &node->tensor;
}

corral_tensor *corral_neg(corral_tensor *x)
{
    return unary(CORRAL_UNARY_SCALE, "neg", x, -1.0, 0.0);
}

corral_tensor *corral_scale(corral_tensor *x, double factor)
{
    return unary(CORRAL_UNARY_SCALE, "scale", x, factor, 0.0);
}

corral_tensor *corral_exp(corral_tensor *x)
{
    return unary(CORRAL_UNARY_EXP, "exp", x, 0.0, 0.0);
}

corral_tensor *corral_ln(corral_tensor *x)
{
    return unary(CORRAL_UNARY_LOG, "ln", x, 0.0, 0.0);
}

corral_tensor *corral_tanh(corral_tensor *x)
{
    return unary(CORRAL_UNARY_TANH, "tanh", x, 0.0, 0.0);
}

corral_tensor *corral_sigmoid(corral_tensor *x)
{
    return unary(CORRAL_UNARY_SIGMOID, "sigmoid", x, 0.0, 0.0);
}

corral_tensor *corral_relu(corral_tensor *x)
{
    return unary(CORRAL_UNARY_RELU, "relu", x, 0.0, 0.0);
}

corral_tensor *corral_square(corral_tensor *x)
{
    return unary(CORRAL_UNARY_SQUARE, "square", x, 0.0, 0.0);
}

corral_tensor *corral_sqrt(corral_tensor *x)
{
    return unary(CORRAL_UNARY_SQRT, "sqrt", x, 0.0, 0.0);
}

corral_tensor *corral_abs(corral_tensor *x)
{
    return unary(CORRAL_UNARY_ABS, "abs", x, 0.0, 0.0);
}

corral_tensor *corral_clamp(corral_tensor *x, double low, double high)
{
    if (!(low <= high)) {
        return corral_tape_fail(x->tape, CORRAL_ERROR_INVALID,
                                "clamp: the low bound %g is not below the high one %g", low, high);
    }
    return unary(CORRAL_UNARY_CLAMP, "clamp", x, low, high);
}

// --- losses made of these
// -----------------------------------------------------------------------------------

/// Losses do not broadcast: [n, 1] against [n] would silently become [n, n].
static corral_tensor *difference(const char *name, corral_tensor *x, corral_tensor *y)
{
    if (!corral_tape_ready(x, y, name)) return &x->tape->empty;
    bool same = x->dimension_count == y->dimension_count;
    for (uint32_t i = 0; same && i < x->dimension_count; i++)
        same = x->shape[i] == y->shape[i];
    if (same) return corral_sub(x, y);
    return corral_tape_fail(x->tape, CORRAL_ERROR_INVALID, "%s: the two shapes differ; reshape one of them",
                            name);
}

corral_tensor *corral_mse_loss(corral_tensor *x, corral_tensor *y)
{
    return corral_mean(corral_square(difference("mse_loss", x, y)));
}

corral_tensor *corral_smooth_l1_loss(corral_tensor *x, corral_tensor *y, double beta)
{
    if (!(beta >= 0.0)) {
        return corral_tape_fail(x->tape, CORRAL_ERROR_INVALID, "smooth_l1_loss: beta %g is below 0", beta);
    }
    return corral_mean(
        unary(CORRAL_UNARY_SMOOTH_L1, "smooth_l1_loss", difference("smooth_l1_loss", x, y), beta, 0.0));
}
