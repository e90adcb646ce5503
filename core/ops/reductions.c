// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Reductions over any dimensions. The reduced ones are brought behind the others (a permutation, where they
// are not there already), so that each result is one row; the loops only know rows.

#include "ops/shape_kernels.h"
#include "tensor/tape.h"

#include "corral/core/elements.h"

#include <string.h>

enum { DIMENSIONS = CORRAL_MAX_DIMENSIONS };

/// How a reduction sees its input.
typedef struct plan {
    uint32_t order[DIMENSIONS]; // kept dimensions, then reduced ones
    uint32_t kept_count;
    bool in_order;
    size_t rows, n;
    size_t shape[DIMENSIONS], result[DIMENSIONS]; // of the permuted input; of the result
    uint32_t result_count;
} plan;

static plan plan_of(const corral_tensor *x, uint32_t dimensions, bool keep)
{
    plan p = {.in_order = true, .rows = 1, .n = 1};
    uint32_t at = 0;
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < x->dimension_count; i++) {
            const bool reduced = (dimensions >> i & 1) != 0;
            if (reduced != (pass == 1)) continue;
            p.in_order = p.in_order && at == i;
            p.shape[at] = x->shape[i];
            p.order[at++] = i;
            if (reduced)
                p.n *= x->shape[i];
            else
                p.rows *= x->shape[i];
        }
        if (pass == 0) p.kept_count = at;
    }
    for (uint32_t i = 0; i < x->dimension_count; i++) {
        const bool reduced = (dimensions >> i & 1) != 0;
        if (!reduced || keep) p.result[p.result_count++] = reduced ? 1 : x->shape[i];
    }
    return p;
}

static corral_row_run run_of(const corral_tensor *x, const corral_tensor *y)
{
    const size_t rows = corral_tensor_count(y);
    return (corral_row_run){
        .rows = rows, .n = rows == 0 ? 0 : corral_tensor_count(x) / rows, .x = x->data, .y = y->data};
}

static void reduce_forward(corral_node *node)
{
    const corral_row_run run = run_of(node->a, &node->tensor);
    corral_shapes_of(node->tensor.dtype)->reduce[node->kind](&run);
}

static void reduce_backward(corral_node *node)
{
    corral_row_run run = run_of(node->a, &node->tensor);
    run.y_grad = node->tensor.grad;
    run.x_grad = corral_tensor_gradient(node->a);
    if (run.x_grad != NULL) corral_shapes_of(node->tensor.dtype)->reduce_grad[node->kind](&run);
}

static corral_tensor *reduce(const char *name, corral_reduction kind, corral_tensor *x, uint32_t dimensions,
                             bool keep)
{
    corral_tape *tape = x->tape;
    if (!corral_tape_ready(x, NULL, name)) return &tape->empty;
    const plan p = plan_of(x, dimensions, keep);
    if (p.n == 0 && p.rows > 0 && (kind == CORRAL_REDUCTION_MAX || kind == CORRAL_REDUCTION_MIN))
        return corral_tape_fail(tape, CORRAL_ERROR_INVALID, "%s: of nothing there is none", name);
    if (!p.in_order) x = corral_permute(x, p.order);
    corral_node *node = corral_tape_append(tape, x->dtype, p.result_count, p.result, x, NULL);
    if (node == NULL) return &tape->empty;
    node->kind = kind;
    node->forward = reduce_forward;
    node->backward = reduce_backward;
    reduce_forward(node);
    return &node->tensor;
}

corral_tensor *corral_sum_over(corral_tensor *x, uint32_t dimensions, bool keep)
{
    return reduce("sum_over", CORRAL_REDUCTION_SUM, x, dimensions, keep);
}

corral_tensor *corral_max_over(corral_tensor *x, uint32_t dimensions, bool keep)
{
    return reduce("max_over", CORRAL_REDUCTION_MAX, x, dimensions, keep);
}

corral_tensor *corral_min_over(corral_tensor *x, uint32_t dimensions, bool keep)
{
    return reduce("min_over", CORRAL_REDUCTION_MIN, x, dimensions, keep);
}

corral_tensor *corral_log_sum_exp(corral_tensor *x, uint32_t dimensions, bool keep)
{
    return reduce("log_sum_exp", CORRAL_REDUCTION_LOG_SUM_EXP, x, dimensions, keep);
}

corral_tensor *corral_product_over(corral_tensor *x, uint32_t dimensions, bool keep)
{
    return reduce("product_over", CORRAL_REDUCTION_PRODUCT, x, dimensions, keep);
}

// --- made of sums -----------------------------------------------------------------------------------------

static size_t reduced_count(const corral_tensor *x, uint32_t dimensions)
{
    return plan_of(x, dimensions, false).n;
}

corral_tensor *corral_mean_over(corral_tensor *x, uint32_t dimensions, bool keep)
{
    const size_t n = reduced_count(x, dimensions);
    return corral_scale(reduce("mean_over", CORRAL_REDUCTION_SUM, x, dimensions, keep),
                        n == 0 ? 0.0 : 1.0 / (double)n);
}

corral_tensor *corral_variance(corral_tensor *x, uint32_t dimensions, double correction, bool keep)
{
    const double left = (double)reduced_count(x, dimensions) - correction;
    corral_tensor *distance = corral_sub(x, corral_mean_over(x, dimensions, true));
    return corral_scale(corral_sum_over(corral_square(distance), dimensions, keep),
                        left > 0.0 ? 1.0 / left : 0.0);
}

corral_tensor *corral_deviation(corral_tensor *x, uint32_t dimensions, double correction, bool keep)
{
    return corral_sqrt(corral_variance(x, dimensions, correction, keep));
}

corral_tensor *corral_norm(corral_tensor *x, uint32_t dimensions, bool keep)
{
    return corral_sqrt(corral_sum_over(corral_square(x), dimensions, keep));
}

corral_tensor *corral_softmax(corral_tensor *x)
{
    return corral_exp(corral_log_softmax(x));
}

// --- along the last dimension -----------------------------------------------------------------------------

void corral_argmax(const corral_tensor *x, int32_t *out_index)
{
    if (x->tape->status != CORRAL_OK || x->dimension_count == 0) return;
    const size_t n = x->shape[x->dimension_count - 1], count = corral_tensor_count(x);
    for (size_t first = 0; first < count; first += n) {
        size_t best = 0;
        for (size_t i = 1; i < n; i++) {
            const double a = x->dtype == CORRAL_F64 ? ((const double *)x->data)[first + i]
                                                    : (double)((const float *)x->data)[first + i];
            const double b = x->dtype == CORRAL_F64 ? ((const double *)x->data)[first + best]
                                                    : (double)((const float *)x->data)[first + best];
            if (a > b || (a != a && b == b)) best = i;
        }
        out_index[first / n] = (int32_t)best;
    }
}

static corral_row_run rows_of_last(const corral_tensor *x, const corral_tensor *y)
{
    const size_t n = x->shape[x->dimension_count - 1];
    return (corral_row_run){
        .rows = n == 0 ? 0 : corral_tensor_count(x) / n, .n = n, .x = x->data, .y = y->data};
}

static void cumsum_forward(corral_node *node)
{
    const corral_row_run run = rows_of_last(node->a, &node->tensor);
    corral_shapes_of(node->tensor.dtype)->cumsum(&run);
}

static void cumsum_backward(corral_node *node)
{
    corral_row_run run = rows_of_last(node->a, &node->tensor);
    run.y_grad = node->tensor.grad;
    run.x_grad = corral_tensor_gradient(node->a);
    if (run.x_grad != NULL) corral_shapes_of(node->tensor.dtype)->cumsum_grad(&run);
}

corral_tensor *corral_cumsum(corral_tensor *x)
{
    corral_tape *tape = x->tape;
    if (!corral_tape_ready(x, NULL, "cumsum")) return &tape->empty;
    if (x->dimension_count == 0)
        return corral_tape_fail(tape, CORRAL_ERROR_INVALID, "cumsum: a single number has no last dimension");
    corral_node *node = corral_tape_append(tape, x->dtype, x->dimension_count, x->shape, x, NULL);
    if (node == NULL) return &tape->empty;
    node->forward = cumsum_forward;
    node->backward = cumsum_backward;
    cumsum_forward(node);
    return &node->tensor;
}
