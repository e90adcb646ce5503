// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Operations that choose elements by index. A tensor is seen as [outer, n, inner] with n the dimension that
// is chosen along; the gradient of a choice adds to what was chosen, in the order of the result.

#include "ops/shape_kernels.h"
#include "tensor/tape.h"

#include <string.h>

static corral_choice choice_along(const corral_tensor *x, uint32_t dimension, size_t count,
                                  const int32_t *index, bool each)
{
    corral_choice c = {
        .outer = 1, .n = x->shape[dimension], .count = count, .inner = 1, .index = index, .each = each};
    for (uint32_t i = 0; i < dimension; i++)
        c.outer *= x->shape[i];
    for (uint32_t i = dimension + 1; i < x->dimension_count; i++)
        c.inner *= x->shape[i];
    return c;
}

static bool check_choice(const char *name, const corral_tensor *x, uint32_t dimension)
{
    if (!corral_tape_ready(x, NULL, name)) return false;
    if (dimension < x->dimension_count) return true;
    corral_tape_fail(x->tape, CORRAL_ERROR_INVALID, "%s: there is no dimension %u among %u", name, dimension,
                     x->dimension_count);
    return false;
}

static bool check_indices(const char *name, corral_tape *tape, const int32_t *index, size_t count, size_t n)
{
    for (size_t i = 0; i < count; i++) {
        if (index[i] >= 0 && (size_t)index[i] < n) continue;
        corral_tape_fail(tape, CORRAL_ERROR_INVALID, "%s: index %d (the %zu-th) is not below %zu", name,
                         index[i], i, n);
        return false;
    }
    return true;
}

static void choice_backward(corral_node *node)
{
    corral_choice c = *(const corral_choice *)node->kept[0];
    c.from = node->tensor.grad;
    c.to = corral_tensor_gradient(node->a);
    if (c.to != NULL) corral_shapes_of(node->tensor.dtype)->choose_add(&c);
}

/// A copy of the indices in memory of the tape; NULL after a failure.
static const int32_t *keep_indices(corral_tape *tape, const int32_t *index, size_t count)
{
    int32_t *kept = corral_tape_scratch(tape, count * sizeof *kept);
    if (kept != NULL && count > 0) memcpy(kept, index, count * sizeof *kept);
    return kept;
}

static corral_tensor *record_choice(corral_tensor *x, uint32_t dimension, corral_choice c)
{
    corral_tape *tape = x->tape;
    size_t shape[CORRAL_MAX_DIMENSIONS];
    memcpy(shape, x->shape, sizeof shape);
    shape[dimension] = c.count;
    corral_node *node = corral_tape_append(tape, x->dtype, x->dimension_count, shape, x, NULL);
    corral_choice *kept = corral_tape_scratch(tape, sizeof *kept);
    if (node == NULL || kept == NULL) return &tape->empty;
    *kept = c;
    node->backward = choice_backward;
    node->kept[0] = kept;
    c.from = x->data;
    c.to = node->tensor.data;
    corral_shapes_of(x->dtype)->choose(&c);
    return &node->tensor;
}

corral_tensor *corral_index_select(corral_tensor *x, uint32_t dimension, const int32_t *index, size_t count)
{
    if (!check_choice("index_select", x, dimension) ||
        !check_indices("index_select", x->tape, index, count, x->shape[dimension]))
        return &x->tape->empty;
    index = keep_indices(x->tape, index, count);
    return record_choice(x, dimension, choice_along(x, dimension, count, index, false));
}

corral_tensor *corral_embedding(corral_tape *tape, uint32_t weight, const int32_t *index, size_t count)
{
    return corral_index_select(corral_parameter(tape, weight), 0, index, count);
}

corral_tensor *corral_gather_along(corral_tensor *x, uint32_t dimension, const int32_t *index, size_t count)
{
    if (!check_choice("gather_along", x, dimension)) return &x->tape->empty;
    corral_choice c = choice_along(x, dimension, count, index, true);
    const size_t elements = c.outer * c.count * c.inner;
    if (!check_indices("gather_along", x->tape, index, elements, c.n)) return &x->tape->empty;
    c.index = keep_indices(x->tape, index, elements);
    return record_choice(x, dimension, c);
}

// --- scatter ----------------------------------------------------------------------------------------------

static void scatter_backward(corral_node *node)
{
    const corral_shape_kernels *kernels = corral_shapes_of(node->tensor.dtype);
    corral_choice c = *(const corral_choice *)node->kept[0];
    const size_t count = corral_tensor_count(&node->tensor);
    void *x_grad = corral_tensor_gradient(node->a);
    if (x_grad != NULL)
        kernels->move_add(&(corral_move){.shape = {1, 1, 1, count},
                                         .from_step = {0, 0, 0, 1},
                                         .to_step = {0, 0, 0, 1},
                                         .from = node->tensor.grad,
                                         .to = x_grad});
    c.from = node->tensor.grad;
    c.to = corral_tensor_gradient(node->b);
    if (c.to != NULL) kernels->take_add(&c);
}

corral_tensor *corral_scatter_add(corral_tensor *x, uint32_t dimension, const int32_t *index,
                                  corral_tensor *source)
{
    corral_tape *tape = x->tape;
    if (!check_choice("scatter_add", x, dimension) || !corral_tape_ready(x, source, "scatter_add"))
        return &tape->empty;
    bool fits = source->dimension_count == x->dimension_count;
    for (uint32_t i = 0; i < x->dimension_count && fits; i++)
        fits = i == dimension || source->shape[i] == x->shape[i];
    if (!fits)
        return corral_tape_fail(tape, CORRAL_ERROR_INVALID,
                                "scatter_add: the source may differ from x in dimension %u alone", dimension);
    corral_choice c = choice_along(x, dimension, source->shape[dimension], index, true);
    if (!check_indices("scatter_add", tape, index, corral_tensor_count(source), c.n)) return &tape->empty;
    c.index = keep_indices(tape, index, corral_tensor_count(source));
    corral_node *node = corral_tape_append(tape, x->dtype, x->dimension_count, x->shape, x, source);
    corral_choice *kept = corral_tape_scratch(tape, sizeof *kept);
    if (node == NULL || kept == NULL) return &tape->empty;
    *kept = c;
    node->backward = scatter_backward;
    node->kept[0] = kept;
    memcpy(node->tensor.data, x->data, corral_tensor_count(x) * corral_dtype_size(x->dtype));
    c.from = source->data;
    c.to = node->tensor.data;
    corral_shapes_of(x->dtype)->choose_add(&c);
    return &node->tensor;
}

// --- made of indices --------------------------------------------------------------------------------------

corral_tensor *corral_one_hot(corral_tape *tape, corral_dtype dtype, const int32_t *index, size_t count,
                              size_t n)
{
    if (tape->status != CORRAL_OK || !check_indices("one_hot", tape, index, count, n)) return &tape->empty;
    corral_node *node = corral_tape_append(tape, dtype, 2, (const size_t[]){count, n}, NULL, NULL);
    if (node == NULL) return &tape->empty;
    memset(node->tensor.data, 0, count * n * corral_dtype_size(dtype));
    for (size_t i = 0; i < count; i++) {
        const size_t at = i * n + (size_t)index[i];
        if (dtype == CORRAL_F64)
            ((double *)node->tensor.data)[at] = 1.0;
        else
            ((float *)node->tensor.data)[at] = 1.0f;
    }
    return &node->tensor;
}

corral_tensor *corral_sort(corral_tensor *x, bool descending, const int32_t **out_index)
{
    corral_tape *tape = x->tape;
    if (out_index != NULL) *out_index = NULL;
    if (!check_choice("sort", x, x->dimension_count == 0 ? 0 : x->dimension_count - 1)) return &tape->empty;
    const uint32_t last = x->dimension_count - 1;
    const size_t n = x->shape[last], count = corral_tensor_count(x);
    if (n > INT32_MAX)
        return corral_tape_fail(tape, CORRAL_ERROR_INVALID, "sort: %zu elements are too many", n);
    int32_t *index = corral_tape_scratch(tape, (count + n) * sizeof *index);
    if (index == NULL) return &tape->empty;
    corral_shapes_of(x->dtype)->sort(n == 0 ? 0 : count / n, n, descending, x->data, index);
    if (out_index != NULL) *out_index = index;
    return record_choice(x, last, choice_along(x, last, n, index, true));
}

/// The first `count` indices of each row of `n`, in memory of the tape.
static int32_t *first_of_rows(corral_tape *tape, const int32_t *index, size_t rows, size_t n, size_t count)
{
    int32_t *first = corral_tape_scratch(tape, rows * count * sizeof *first);
    for (size_t i = 0; i < rows * count && first != NULL; i++)
        first[i] = index[i / count * n + i % count];
    return first;
}

corral_tensor *corral_top_k(corral_tensor *x, size_t count, const int32_t **out_index)
{
    corral_tape *tape = x->tape;
    const int32_t *index;
    const corral_tensor *sorted = corral_sort(x, true, &index);
    if (out_index != NULL) *out_index = NULL;
    if (tape->status != CORRAL_OK) return &tape->empty;
    const uint32_t last = x->dimension_count - 1;
    const size_t n = x->shape[last];
    if (count > n)
        return corral_tape_fail(tape, CORRAL_ERROR_INVALID, "top_k: there are no %zu among %zu elements",
                                count, n);
    const size_t rows = n == 0 ? 0 : corral_tensor_count(sorted) / n;
    int32_t *first = first_of_rows(tape, index, rows, n, count);
    if (first == NULL) return &tape->empty;
    if (out_index != NULL) *out_index = first;
    return record_choice(x, last, choice_along(x, last, count, first, true));
}
