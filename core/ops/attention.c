// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Batched products, and attention made of them. With C = A B, dA = dC B^T and dB = A^T dC; with C = A B^T,
// dA = dC B and dB = dC^T A. The product reads rows of its right operand, so that B is transposed where its
// columns are wanted.

#include "ops/kernels.h"
#include "ops/layer_kernels.h"
#include "tensor/tape.h"

#include "corral/core/distributions.h"
#include "corral/core/shapes.h"

#include <math.h>
#include <string.h>

/// One product of the batch; `flip` is where its B goes transposed.
typedef struct bmm {
    size_t batch, m, k, n;
    bool transposed; // B is [n, k]
    char *flip;
} bmm;

static const char *matrix(const void *data, size_t index, size_t elements, size_t size)
{
    return (const char *)data + index * elements * size;
}

/// c[rows, columns] += the sum over k of a(row, k) b[k, columns].
static void multiply(corral_dtype dtype, size_t rows, size_t columns, size_t depth, const void *a,
                     size_t a_row, size_t a_step, const void *b, const void *c)
{
    corral_layers_of(dtype)->product(&(corral_product){.rows = rows,
                                                       .columns = columns,
                                                       .outer = 1,
                                                       .inner = depth,
                                                       .a = a,
                                                       .a_row = a_row,
                                                       .a_step = a_step,
                                                       .b = b,
                                                       .b_step = columns,
                                                       .c = corral_unconst(c),
                                                       .c_row = columns});
}

static void bmm_forward(corral_node *node)
{
    const bmm *p = node->kept[0];
    const corral_dtype dtype = node->tensor.dtype;
    const size_t size = corral_dtype_size(dtype);
    memset(node->tensor.data, 0, corral_tensor_count(&node->tensor) * size);
    for (size_t i = 0; i < p->batch; i++) {
        const char *a = matrix(node->a->data, i, p->m * p->k, size),
                   *b = matrix(node->b->data, i, p->k * p->n, size);
        if (p->transposed) corral_kernels_of(dtype)->transpose(p->n, p->k, b, p->flip);
        multiply(dtype, p->m, p->n, p->k, a, p->k, 1, p->transposed ? p->flip : b,
                 matrix(node->tensor.data, i, p->m * p->n, size));
    }
}

static void bmm_backward(corral_node *node)
{
    const bmm *p = node->kept[0];
    const corral_dtype dtype = node->tensor.dtype;
    const size_t size = corral_dtype_size(dtype);
    const void *a_grad = corral_tensor_gradient(node->a), *b_grad = corral_tensor_gradient(node->b);
    for (size_t i = 0; i < p->batch && node->tensor.tape->status == CORRAL_OK; i++) {
        const char *a = matrix(node->a->data, i, p->m * p->k, size),
                   *b = matrix(node->b->data, i, p->k * p->n, size);
        const char *g = matrix(node->tensor.grad, i, p->m * p->n, size);
        if (a_grad != NULL) {
            if (!p->transposed) corral_kernels_of(dtype)->transpose(p->k, p->n, b, p->flip);
            multiply(dtype, p->m, p->k, p->n, g, p->n, 1, p->transposed ? b : p->flip,
                     matrix(a_grad, i, p->m * p->k, size));
        }
        if (b_grad == NULL) continue;
        const char *to = matrix(b_grad, i, p->k * p->n, size);
        if (p->transposed)
            multiply(dtype, p->n, p->k, p->m, g, 1, p->n, a, to);
        else
            multiply(dtype, p->k, p->n, p->m, a, 1, p->k, g, to);
    }
}

corral_tensor *corral_bmm(corral_tensor *a, corral_tensor *b, bool transpose_b)
{
    corral_tape *tape = a->tape;
    if (!corral_tape_ready(a, b, "bmm")) return &tape->empty;
    if (a->dimension_count != 3 || b->dimension_count != 3 || a->shape[0] != b->shape[0] ||
        a->shape[2] != b->shape[transpose_b ? 2 : 1])
        return corral_tape_fail(tape, CORRAL_ERROR_INVALID,
                                "bmm: needs [batch, m, k] and [batch, %s] with the same k",
                                transpose_b ? "n, k" : "k, n");
    const bmm p = {.batch = a->shape[0],
                   .m = a->shape[1],
                   .k = a->shape[2],
                   .n = b->shape[transpose_b ? 1 : 2],
                   .transposed = transpose_b};
    corral_node *node = corral_tape_append(tape, a->dtype, 3, (const size_t[]){p.batch, p.m, p.n}, a, b);
    bmm *kept = corral_tape_scratch(tape, sizeof *kept);
    char *flip = corral_tape_scratch(tape, p.k * p.n * corral_dtype_size(a->dtype));
    if (tape->status != CORRAL_OK) return &tape->empty;
    *kept = p;
    kept->flip = flip;
    node->forward = bmm_forward;
    node->backward = bmm_backward;
    node->kept[0] = kept;
    bmm_forward(node);
    return &node->tensor;
}

corral_tensor *corral_attention(corral_tensor *q, corral_tensor *k, corral_tensor *v, const uint8_t *allowed)
{
    corral_tensor *scores = corral_bmm(q, k, true);
    if (q->tape->status != CORRAL_OK) return &q->tape->empty;
    scores = corral_scale(scores, 1.0 / sqrt((double)q->shape[2]));
    if (allowed != NULL) scores = corral_mask_logits(scores, allowed);
    return corral_bmm(corral_softmax(scores), v, false);
}
