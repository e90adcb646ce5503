// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Element-wise operations of one and of two tensors; pointwise.h has what those of elements.c share.

#include "ops/pointwise.h"

static void binary_forward(corral_node *node)
{
    corral_pairwise_forward(node, corral_kernels_of(node->tensor.dtype)->binary[node->kind]);
}

static void binary_backward(corral_node *node)
{
    corral_pairwise_backward(node, corral_kernels_of(node->tensor.dtype)->binary_grad[node->kind]);
}

static corral_tensor *binary(corral_binary kind, const char *name, corral_tensor *a, corral_tensor *b)
{
    corral_broadcast plan;
    corral_node *node = corral_pairwise_append(name, a, b, &plan);
    if (node == NULL) return &a->tape->empty;
    node->kind = kind;
    node->forward = binary_forward;
    node->backward = binary_backward;
    corral_pairwise_walk(node, &plan, corral_kernels_of(a->dtype)->binary[kind]);
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
    corral_pointwise_forward(node, corral_kernels_of(node->tensor.dtype)->unary[node->kind]);
}

static void unary_backward(corral_node *node)
{
    corral_pointwise_backward(node, corral_kernels_of(node->tensor.dtype)->unary_grad[node->kind]);
}

static corral_tensor *unary(corral_unary kind, const char *name, corral_tensor *x, double first,
                            double second)
{
    corral_node *node = corral_pointwise_append(name, x);
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
