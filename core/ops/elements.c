// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The functions of elements.h as recorded operations.

#include "ops/element_kernels.h"
#include "ops/pointwise.h"

#include "corral/core/shapes.h"

// --- one tensor -------------------------------------------------------------------------------------------

static void function_forward(corral_node *node)
{
    corral_pointwise_forward(node, corral_elements_of(node->tensor.dtype)->function[node->kind]);
}

static void function_backward(corral_node *node)
{
    corral_pointwise_backward(node, corral_elements_of(node->tensor.dtype)->function_grad[node->kind]);
}

static corral_tensor *function(corral_function kind, const char *name, corral_tensor *x, double number)
{
    corral_node *node = corral_pointwise_append(name, x);
    if (node == NULL) return &x->tape->empty;
    node->kind = kind;
    node->numbers[0] = number;
    node->forward = function_forward;
    node->backward = function_backward;
    if (corral_elements_of(x->dtype)->function_grad[kind] == NULL) node->tensor.requires_grad = false;
    function_forward(node);
    return &node->tensor;
}

#define FUNCTION(name, NAME)                                                                                 \
    corral_tensor *corral_##name(corral_tensor *x)                                                           \
    {                                                                                                        \
        return function(CORRAL_FUNCTION_##NAME, #name, x, 0.0);                                              \
    }
FUNCTION(log1p, LOG1P)
FUNCTION(expm1, EXPM1)
FUNCTION(sin, SIN)
FUNCTION(cos, COS)
FUNCTION(atanh, ATANH)
FUNCTION(erf, ERF)
FUNCTION(sign, SIGN)
FUNCTION(floor, FLOOR)
FUNCTION(gelu, GELU)
FUNCTION(gelu_tanh, GELU_TANH)
FUNCTION(silu, SILU)
FUNCTION(softplus, SOFTPLUS)
FUNCTION(log_sigmoid, LOG_SIGMOID)
#undef FUNCTION

corral_tensor *corral_pow(corral_tensor *x, double exponent)
{
    return function(CORRAL_FUNCTION_POW, "pow", x, exponent);
}

corral_tensor *corral_reciprocal(corral_tensor *x)
{
    return function(CORRAL_FUNCTION_POW, "reciprocal", x, -1.0);
}

corral_tensor *corral_rsqrt(corral_tensor *x)
{
    return function(CORRAL_FUNCTION_POW, "rsqrt", x, -0.5);
}

corral_tensor *corral_leaky_relu(corral_tensor *x, double slope)
{
    return function(CORRAL_FUNCTION_LEAKY_RELU, "leaky_relu", x, slope);
}

corral_tensor *corral_elu(corral_tensor *x, double alpha)
{
    return function(CORRAL_FUNCTION_ELU, "elu", x, alpha);
}

// --- two tensors ------------------------------------------------------------------------------------------

static void pairing_forward(corral_node *node)
{
    corral_pairwise_forward(node, corral_elements_of(node->tensor.dtype)->pairing[node->kind]);
}

static void power_backward(corral_node *node)
{
    corral_pairwise_backward(node, corral_elements_of(node->tensor.dtype)->power_grad);
}

static corral_tensor *pairing(corral_pairing kind, const char *name, corral_tensor *a, corral_tensor *b)
{
    corral_broadcast plan;
    corral_node *node = corral_pairwise_append(name, a, b, &plan);
    if (node == NULL) return &a->tape->empty;
    node->kind = kind;
    node->forward = pairing_forward;
    node->backward = power_backward;
    if (kind != CORRAL_PAIRING_POWER) node->tensor.requires_grad = false;
    corral_pairwise_walk(node, &plan, corral_elements_of(a->dtype)->pairing[kind]);
    return &node->tensor;
}

#define PAIRING(name, NAME)                                                                                  \
    corral_tensor *corral_##name(corral_tensor *a, corral_tensor *b)                                         \
    {                                                                                                        \
        return pairing(CORRAL_PAIRING_##NAME, #name, a, b);                                                  \
    }
PAIRING(power, POWER)
PAIRING(greater, GREATER)
PAIRING(greater_equal, GREATER_EQUAL)
PAIRING(less, LESS)
PAIRING(less_equal, LESS_EQUAL)
PAIRING(equal, EQUAL)
PAIRING(not_equal, NOT_EQUAL)
#undef PAIRING

// --- choosing ---------------------------------------------------------------------------------------------

static void where_forward(corral_node *node)
{
    const corral_tensor *condition = node->kept[0];
    corral_elements_of(node->tensor.dtype)
        ->where(corral_tensor_count(condition), condition->data, node->a->data, node->b->data,
                node->tensor.data);
}

static void where_backward(corral_node *node)
{
    const corral_element_kernels *kernels = corral_elements_of(node->tensor.dtype);
    const corral_tensor *condition = node->kept[0];
    const size_t count = corral_tensor_count(&node->tensor);
    void *yes_grad = corral_tensor_gradient(node->a), *no_grad = corral_tensor_gradient(node->b);
    if (yes_grad != NULL) kernels->where_grad(count, condition->data, true, node->tensor.grad, yes_grad);
    if (no_grad != NULL) kernels->where_grad(count, condition->data, false, node->tensor.grad, no_grad);
}

/// `x` repeated to the shape of both; the empty tensor after a failure.
static corral_tensor *expand_like(corral_tensor *x, const corral_tensor *other)
{
    corral_broadcast plan;
    size_t shape[CORRAL_MAX_DIMENSIONS];
    if (!corral_tape_ready(x, other, "where")) return &x->tape->empty;
    if (!corral_broadcast_plan(x, other, &plan))
        return corral_tape_fail(
            x->tape, CORRAL_ERROR_INVALID,
            "where: the shapes do not broadcast; sizes must be equal or 1, from the right");
    return corral_expand(x, corral_broadcast_shape(x, other, shape), shape);
}

corral_tensor *corral_where(corral_tensor *condition, corral_tensor *yes, corral_tensor *no)
{
    corral_tape *tape = condition->tape;
    condition = expand_like(expand_like(condition, yes), no); // of the common shape
    yes = expand_like(yes, condition);
    no = expand_like(no, condition);
    if (!corral_tape_ready(condition, yes, "where") || !corral_tape_ready(yes, no, "where"))
        return &tape->empty;
    corral_node *node = corral_tape_append(tape, yes->dtype, yes->dimension_count, yes->shape, yes, no);
    if (node == NULL) return &tape->empty;
    node->forward = where_forward;
    node->backward = where_backward;
    node->kept[0] = condition;
    where_forward(node);
    return &node->tensor;
}

// --- dropout ----------------------------------------------------------------------------------------------

/// What a dropout keeps. The counter is the caller's, so that a replay drops what is due then.
typedef struct dropout_record {
    double p;
    uint64_t key;
    const uint64_t *counter;
    uint64_t used; // by the last forward
} dropout_record;

static corral_dropout_run dropout_run(const corral_node *node, const dropout_record *record)
{
    return (corral_dropout_run){.count = corral_tensor_count(&node->tensor),
                                .p = record->p,
                                .key = record->key,
                                .counter = record->used,
                                .from = node->a->data,
                                .to = node->tensor.data};
}

static void dropout_forward(corral_node *node)
{
    dropout_record *record = corral_unconst(node->kept[0]);
    record->used = *record->counter;
    const corral_dropout_run run = dropout_run(node, record);
    corral_elements_of(node->tensor.dtype)->dropout(&run);
}

static void dropout_backward(corral_node *node)
{
    corral_dropout_run run = dropout_run(node, node->kept[0]);
    run.from = node->tensor.grad;
    run.to = corral_tensor_gradient(node->a);
    if (run.to != NULL) corral_elements_of(node->tensor.dtype)->dropout_grad(&run);
}

corral_tensor *corral_dropout(corral_tensor *x, double p, uint64_t stream_key, const uint64_t *counter)
{
    corral_tape *tape = x->tape;
    if (!corral_tape_ready(x, NULL, "dropout")) return &tape->empty;
    if (!(p >= 0.0 && p <= 1.0))
        return corral_tape_fail(tape, CORRAL_ERROR_INVALID, "dropout: %g is no probability", p);
    corral_node *node = corral_tape_append(tape, x->dtype, x->dimension_count, x->shape, x, NULL);
    dropout_record *record = corral_tape_scratch(tape, sizeof *record);
    if (node == NULL || record == NULL) return &tape->empty;
    *record = (dropout_record){.p = p, .key = stream_key, .counter = counter};
    node->forward = dropout_forward;
    node->backward = dropout_backward;
    node->kept[0] = record;
    dropout_forward(node);
    return &node->tensor;
}
