// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Operations that reduce or choose: sum, mean, log softmax, gather; and the ones that only rearrange.

#include "ops/kernels.h"
#include "tensor/tape.h"

#include <string.h>

// --- over everything
// ----------------------------------------------------------------------------------------

static void sum_forward(corral_node *node)
{
    corral_kernels_of(node->a->dtype)
        ->sum(corral_tensor_count(node->a), node->a->data, node->numbers[0], node->tensor.data);
}

static void sum_backward(corral_node *node)
{
    void *grad = corral_tensor_gradient(node->a);
    if (grad == NULL) return;
    corral_kernels_of(node->a->dtype)
        ->sum_grad(corral_tensor_count(node->a), node->tensor.grad, node->numbers[0], grad);
}

static corral_tensor *scaled_sum(const char *name, corral_tensor *x, double factor)
{
    if (!corral_tape_ready(x, NULL, name)) return &x->tape->empty;
    corral_node *node = corral_tape_append(x->tape, x->dtype, 0, NULL, x, NULL);
    if (node == NULL) return &x->tape->empty;
    node->forward = sum_forward;
    node->backward = sum_backward;
    node->numbers[0] = factor;
    sum_forward(node);
    return &node->tensor;
}

corral_tensor *corral_sum(corral_tensor *x)
{
    return scaled_sum("sum", x, 1.0);
}

corral_tensor *corral_mean(corral_tensor *x)
{
    const size_t count = corral_tensor_count(x);
    return scaled_sum("mean", x, count == 0 ? 0.0 : 1.0 / (double)count);
}

// --- over the last dimension
// --------------------------------------------------------------------------------

/// A tensor as rows of its last dimension. The elements are counted over the others, so that a last dimension
/// of 0 keeps its rows.
typedef struct as_rows {
    size_t rows, n;
} as_rows;

static as_rows rows_of(const corral_tensor *x)
{
    as_rows shape = {.rows = 1, .n = x->shape[x->dimension_count - 1]};
    for (uint32_t i = 0; i + 1 < x->dimension_count; i++)
        shape.rows *= x->shape[i];
    return shape;
}

/// False, with the failure recorded, for a tensor of one number.
static bool has_last(const corral_tensor *x, const char *name)
{
    if (!corral_tape_ready(x, NULL, name)) return false;
    if (x->dimension_count > 0) return true;
    corral_tape_fail(x->tape, CORRAL_ERROR_INVALID, "%s: a single number has no last dimension", name);
    return false;
}

static void sum_last_forward(corral_node *node)
{
    const as_rows shape = rows_of(node->a);
    corral_kernels_of(node->a->dtype)->sum_rows(shape.rows, shape.n, node->a->data, node->tensor.data);
}

static void sum_last_backward(corral_node *node)
{
    void *grad = corral_tensor_gradient(node->a);
    const as_rows shape = rows_of(node->a);
    if (grad == NULL) return;
    corral_kernels_of(node->a->dtype)->sum_rows_grad(shape.rows, shape.n, node->tensor.grad, grad);
}

corral_tensor *corral_sum_last(corral_tensor *x)
{
    if (!has_last(x, "sum_last")) return &x->tape->empty;
    corral_node *node = corral_tape_append(x->tape, x->dtype, x->dimension_count - 1, x->shape, x, NULL);
    if (node == NULL) return &x->tape->empty;
    node->forward = sum_last_forward;
    node->backward = sum_last_backward;
    sum_last_forward(node);
    return &node->tensor;
}

static void log_softmax_forward(corral_node *node)
{
    const as_rows shape = rows_of(node->a);
    corral_kernels_of(node->a->dtype)->log_softmax(shape.rows, shape.n, node->a->data, node->tensor.data);
}

static void log_softmax_backward(corral_node *node)
{
    void *grad = corral_tensor_gradient(node->a);
    const as_rows shape = rows_of(node->a);
    if (grad == NULL) return;
    corral_kernels_of(node->a->dtype)
        ->log_softmax_grad(shape.rows, shape.n, node->tensor.data, node->tensor.grad, grad);
}

corral_tensor *corral_log_softmax(corral_tensor *x)
{
    if (!has_last(x, "log_softmax")) return &x->tape->empty;
    corral_node *node = corral_tape_append(x->tape, x->dtype, x->dimension_count, x->shape, x, NULL);
    if (node == NULL) return &x->tape->empty;
    node->forward = log_softmax_forward;
    node->backward = log_softmax_backward;
    log_softmax_forward(node);
    return &node->tensor;
}

static void gather_forward(corral_node *node)
{
    const corral_tensor *x = node->a;
    const int32_t *index = node->kept[0];
    for (size_t r = 0; r < x->shape[0]; r++) {
        if (index[r] >= 0 && (size_t)index[r] < x->shape[1]) continue;
        corral_tape_fail(x->tape, CORRAL_ERROR_INVALID, "gather: index %d of row %zu is not below %zu",
                         index[r], r, x->shape[1]);
        return;
    }
    corral_kernels_of(x->dtype)->gather(x->shape[0], x->shape[1], x->data, node->kept[0], node->tensor.data);
}

static void gather_backward(corral_node *node)
{
    void *grad = corral_tensor_gradient(node->a);
    if (grad == NULL) return;
    corral_kernels_of(node->a->dtype)
        ->gather_grad(node->a->shape[0], node->a->shape[1], node->kept[0], node->tensor.grad, grad);
}

corral_tensor *corral_gather(corral_tensor *x, const int32_t *index)
{
    if (!corral_tape_ready(x, NULL, "gather")) return &x->tape->empty;
    if (x->dimension_count != 2) {
        return corral_tape_fail(x->tape, CORRAL_ERROR_INVALID, "gather: needs [rows, n], got %u dimensions",
                                x->dimension_count);
    }
    corral_node *node = corral_tape_append(x->tape, x->dtype, 1, x->shape, x, NULL);
    if (node == NULL) return &x->tape->empty;
    node->forward = gather_forward;
    node->backward = gather_backward;
    node->kept[0] = index;
    gather_forward(node);
    return x->tape->status == CORRAL_OK ? &node->tensor : &x->tape->empty;
}

// --- the same elements in another order
// ---------------------------------------------------------------------

static void reshape_forward(corral_node *node)
{
    memcpy(node->tensor.data, node->a->data,
           corral_tensor_count(node->a) * corral_dtype_size(node->a->dtype));
}

static void reshape_backward(corral_node *node)
{
    void *grad = corral_tensor_gradient(node->a);
    if (grad == NULL) return;
    corral_kernels_of(node->a->dtype)->add(corral_tensor_count(node->a), node->tensor.grad, grad);
}

corral_tensor *corral_reshape(corral_tensor *x, uint32_t dimension_count, const size_t *shape)
{
    if (!corral_tape_ready(x, NULL, "reshape")) return &x->tape->empty;
    size_t count = 1;
    bool fits = dimension_count <= CORRAL_MAX_DIMENSIONS;
    for (uint32_t i = 0; fits && i < dimension_count; i++)
        fits = !__builtin_mul_overflow(count, shape[i], &count);
    if (!fits || count != corral_tensor_count(x)) {
        return corral_tape_fail(x->tape, CORRAL_ERROR_INVALID,
                                "reshape: the new shape does not hold the %zu elements",
                                corral_tensor_count(x));
    }
    corral_node *node = corral_tape_append(x->tape, x->dtype, dimension_count, shape, x, NULL);
    if (node == NULL) return &x->tape->empty;
    node->forward = reshape_forward;
    node->backward = reshape_backward;
    reshape_forward(node);
    return &node->tensor;
}

static void transpose_forward(corral_node *node)
{
    const corral_tensor *x = node->a;
    corral_kernels_of(x->dtype)->transpose(x->shape[0], x->shape[1], x->data, node->tensor.data);
}

static void transpose_backward(corral_node *node)
{
    void *grad = corral_tensor_gradient(node->a);
    if (grad == NULL) return;
    const corral_kernels *kernels = corral_kernels_of(node->a->dtype);
    const size_t count = corral_tensor_count(node->a);
    void *back = corral_tape_scratch(node->tensor.tape, count * corral_dtype_size(node->a->dtype));
    if (back == NULL) return;
    kernels->transpose(node->tensor.shape[0], node->tensor.shape[1], node->tensor.grad, back);
    kernels->add(count, back, grad);
}

corral_tensor *corral_transpose(corral_tensor *x)
{
    if (!corral_tape_ready(x, NULL, "transpose")) return &x->tape->empty;
    if (x->dimension_count != 2) {
        return corral_tape_fail(x->tape, CORRAL_ERROR_INVALID, "transpose: needs two dimensions, got %u",
                                x->dimension_count);
    }
    corral_node *node =
        corral_tape_append(x->tape, x->dtype, 2, (const size_t[]){x->shape[1], x->shape[0]}, x, NULL);
    if (node == NULL) return &x->tape->empty;
    node->forward = transpose_forward;
    node->backward = transpose_backward;
    transpose_forward(node);
    return &node->tensor;
}
