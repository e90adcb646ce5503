// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Element-wise operations of one and of two tensors. Two tensors broadcast as in NumPy: shapes are aligned at
// the right, and a dimension of one element is repeated. The walk goes over the outer dimensions and hands
// runs of the innermost one to the kernels, with step 0 where it is repeated.

#include "ops/kernels.h"
#include "tensor/tape.h"

enum { DIMENSIONS = CORRAL_MAX_DIMENSIONS };

/// Both shapes brought to four dimensions. Steps are in elements; 0 where a dimension is repeated.
typedef struct broadcast_plan {
    size_t shape[DIMENSIONS];
    size_t a_step[DIMENSIONS], b_step[DIMENSIONS];
} broadcast_plan;

/// The size of dimension `i` of DIMENSIONS, counted as if leading ones were written out.
static size_t dimension(const corral_tensor *tensor, size_t i)
{
    const size_t missing = DIMENSIONS - tensor->dimension_count;
    return i < missing ? 1 : tensor->shape[i - missing];
}

static void fill_steps(const corral_tensor *tensor, size_t *steps)
{
    size_t step = 1;
    for (size_t i = DIMENSIONS; i-- > 0;) {
        steps[i] = dimension(tensor, i) == 1 ? 0 : step;
        step *= dimension(tensor, i);
    }
}

/// Tensors of one shape are one long run; so is a tensor with a single number.
static void flatten(broadcast_plan *plan, const corral_tensor *a, const corral_tensor *b, size_t count)
{
    const size_t a_count = corral_tensor_count(a), b_count = corral_tensor_count(b);
    if ((a_count != count && a_count != 1) || (b_count != count && b_count != 1)) return;
    *plan = (broadcast_plan){.shape = {1, 1, 1, count}};
    plan->a_step[DIMENSIONS - 1] = a_count == count ? 1 : 0;
    plan->b_step[DIMENSIONS - 1] = b_count == count ? 1 : 0;
}

/// False where the shapes do not fit.
static bool plan_broadcast(const corral_tensor *a, const corral_tensor *b, broadcast_plan *out_plan)
{
    size_t count = 1;
    for (size_t i = 0; i < DIMENSIONS; i++) {
        const size_t a_size = dimension(a, i), b_size = dimension(b, i);
        if (a_size != b_size && a_size != 1 && b_size != 1) return false;
        out_plan->shape[i] = a_size == 1 ? b_size : a_size;
        count *= out_plan->shape[i];
    }
    fill_steps(a, out_plan->a_step);
    fill_steps(b, out_plan->b_step);
    flatten(out_plan, a, b, count);
    return true;
}

static const void *at_const(const void *base, size_t element, size_t size)
{
    return base == NULL ? NULL : (const char *)base + element * size;
}

static void *at(void *base, size_t element, size_t size)
{
    return base == NULL ? NULL : (char *)base + element * size;
}

/// Calls `kernel` for each run of the innermost dimension. `whole` points to the tensors' first elements.
static void walk(const broadcast_plan *plan, const corral_binary_run *whole, size_t size,
                 void (*kernel)(const corral_binary_run *))
{
    const size_t *n = plan->shape, *sa = plan->a_step, *sb = plan->b_step;
    size_t done = 0;
    for (size_t i = 0; i < n[0] * n[1] * n[2]; i++) {
        const size_t i0 = i / (n[1] * n[2]), i1 = i / n[2] % n[1], i2 = i % n[2];
        const size_t a = i0 * sa[0] + i1 * sa[1] + i2 * sa[2], b = i0 * sb[0] + i1 * sb[1] + i2 * sb[2];
        const corral_binary_run run = {
            .count = n[3],
            .a_step = sa[3],
            .b_step = sb[3],
            .a = at_const(whole->a, a, size),
            .b = at_const(whole->b, b, size),
            .y = at(whole->y, done, size),
            .y_grad = at_const(whole->y_grad, done, size),
            .a_grad = at(whole->a_grad, a, size),
            .b_grad = at(whole->b_grad, b, size),
        };
        kernel(&run);
        done += n[3];
    }
}

static void binary_backward(corral_node *node)
{
    broadcast_plan plan;
    plan_broadcast(node->a, node->b, &plan); // it did fit when the operation was recorded
    const corral_binary_run whole = {
        .a = node->a->data,
        .b = node->b->data,
        .y_grad = node->tensor.grad,
        .a_grad = corral_tensor_gradient(node->a),
        .b_grad = corral_tensor_gradient(node->b),
    };
    const corral_dtype dtype = node->tensor.dtype;
    walk(&plan, &whole, corral_dtype_size(dtype), corral_kernels_of(dtype)->binary_grad[node->kind]);
}

static corral_tensor *binary(corral_binary kind, const char *name, corral_tensor *a, corral_tensor *b)
{
    if (!corral_tape_ready(a, b, name)) return &a->tape->empty;
    broadcast_plan plan;
    if (!plan_broadcast(a, b, &plan)) {
        return corral_tape_fail(a->tape, CORRAL_ERROR_INVALID,
                                "%s: the shapes do not broadcast; sizes must be equal or 1, from the right",
                                name);
    }
    const uint32_t dimension_count =
        a->dimension_count > b->dimension_count ? a->dimension_count : b->dimension_count;
    size_t shape[DIMENSIONS];
    for (uint32_t i = 0; i < dimension_count; i++) {
        const size_t from = DIMENSIONS - dimension_count + i;
        shape[i] = dimension(a, from) == 1 ? dimension(b, from) : dimension(a, from);
    }
    corral_node *node = corral_tape_append(a->tape, a->dtype, dimension_count, shape, a, b);
    if (node == NULL) return &a->tape->empty;
    node->kind = kind;
    node->backward = binary_backward;
    const corral_binary_run whole = {.a = a->data, .b = b->data, .y = node->tensor.data};
    walk(&plan, &whole, corral_dtype_size(a->dtype), corral_kernels_of(a->dtype)->binary[kind]);
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
    node->backward = unary_backward;
    node->numbers[0] = first;
    node->numbers[1] = second;
    const corral_unary_run run = {
        .count = corral_tensor_count(x), .numbers = node->numbers, .x = x->data, .y = node->tensor.data};
    corral_kernels_of(x->dtype)->unary[kind](&run);
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
