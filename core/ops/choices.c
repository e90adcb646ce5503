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

/// Indices may have changed since the recording: each forward checks them.
static bool check_indices(const corral_node *node, const corral_choice *c)
{
    const size_t count = c->each ? c->outer * c->count * c->inner : c->count;
    for (size_t i = 0; i < count; i++) {
        if (c->index[i] >= 0 && (size_t)c->index[i] < c->n) continue;
        corral_tape_fail(node->tensor.tape, CORRAL_ERROR_INVALID,
                         "%s: index %d (the %zu-th) is not below %zu", node->name, c->index[i], i, c->n);
        return false;
    }
    return true;
}

static void choice_forward(corral_node *node)
{
    corral_choice c = *(const corral_choice *)node->kept[0];
    if (!check_indices(node, &c)) return;
    c.from = node->a->data;
    c.to = node->tensor.data;
    corral_shapes_of(node->tensor.dtype)->choose(&c);
}

static void choice_backward(corral_node *node)
{
    corral_choice c = *(const corral_choice *)node->kept[0];
    c.from = node->tensor.grad;
    c.to = corral_tensor_gradient(node->a);
    if (c.to != NULL) corral_shapes_of(node->tensor.dtype)->choose_add(&c);
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
    node->forward = choice_forward;
    node->backward = choice_backward;
    node->kept[0] = kept;
    choice_forward(node);
    return tape->status == CORRAL_OK ? &node->tensor : &tape->empty;
}

corral_tensor *corral_index_select(corral_tensor *x, uint32_t dimension, const int32_t *index, size_t count)
{
    if (!check_choice("index_select", x, dimension)) return &x->tape->empty;
    return record_choice(x, dimension, choice_along(x, dimension, count, index, false));
}

corral_tensor *corral_embedding(corral_tape *tape, uint32_t weight, const int32_t *index, size_t count)
{
    return corral_index_select(corral_parameter(tape, weight), 0, index, count);
}

corral_tensor *corral_gather_along(corral_tensor *x, uint32_t dimension, const int32_t *index, size_t count)
{
    if (!check_choice("gather_along", x, dimension)) return &x->tape->empty;
    return record_choice(x, dimension, choice_along(x, dimension, count, index, true));
}

// --- scatter ----------------------------------------------------------------------------------------------

static void scatter_forward(corral_node *node)
{
    corral_choice c = *(const corral_choice *)node->kept[0];
    if (!check_indices(node, &c)) return;
    memcpy(node->tensor.data, node->a->data,
           corral_tensor_count(node->a) * corral_dtype_size(node->a->dtype));
    c.from = node->b->data;
    c.to = node->tensor.data;
    corral_shapes_of(node->tensor.dtype)->choose_add(&c);
}

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
    corral_node *node = corral_tape_append(tape, x->dtype, x->dimension_count, x->shape, x, source);
    corral_choice *kept = corral_tape_scratch(tape, sizeof *kept);
    if (node == NULL || kept == NULL) return &tape->empty;
    *kept = choice_along(x, dimension, source->shape[dimension], index, true);
    node->forward = scatter_forward;
    node->backward = scatter_backward;
    node->kept[0] = kept;
    scatter_forward(node);
    return tape->status == CORRAL_OK ? &node->tensor : &tape->empty;
}

// --- made of indices --------------------------------------------------------------------------------------

static void one_hot_forward(corral_node *node)
{
    const corral_choice *c = node->kept[0];
    if (!check_indices(node, c)) return;
    corral_shapes_of(node->tensor.dtype)->fill(c->count * c->n, 0.0, node->tensor.data);
    for (size_t i = 0; i < c->count; i++) {
        const size_t at = i * c->n + (size_t)c->index[i];
        if (node->tensor.dtype == CORRAL_F64)
            ((double *)node->tensor.data)[at] = 1.0;
        else
            ((float *)node->tensor.data)[at] = 1.0f;
    }
}

corral_tensor *corral_one_hot(corral_tape *tape, corral_dtype dtype, const int32_t *index, size_t count,
                              size_t n)
{
    if (tape->status != CORRAL_OK) return &tape->empty;
    tape->operation = "one_hot";
    corral_node *node = corral_tape_append(tape, dtype, 2, (const size_t[]){count, n}, NULL, NULL);
    corral_choice *kept = corral_tape_scratch(tape, sizeof *kept);
    if (node == NULL || kept == NULL) return &tape->empty;
    *kept = (corral_choice){.n = n, .count = count, .index = index};
    node->forward = one_hot_forward;
    node->kept[0] = kept;
    one_hot_forward(node);
    return tape->status == CORRAL_OK ? &node->tensor : &tape->empty;
}

/// What a sort keeps: its choice, and the indices of all elements where the choice has fewer.
typedef struct sort_record {
    corral_choice choice;
    int32_t *order; // [rows, n], and one more row that sorting needs
    bool descending;
} sort_record;

static void sort_forward(corral_node *node)
{
    const sort_record *record = node->kept[0];
    const corral_choice *c = &record->choice;
    int32_t *index = corral_unconst(c->index);
    corral_shapes_of(node->tensor.dtype)
        ->sort(c->outer, c->n, record->descending, node->a->data, record->order);
    for (size_t i = 0; i < c->outer * c->count; i++)
        index[i] = record->order[i / c->count * c->n + i % c->count];
    choice_forward(node);
}

/// The first `count` of each sorted row.
static corral_tensor *sorted(const char *name, corral_tensor *x, bool descending, size_t count,
                             const int32_t **out_index)
{
    corral_tape *tape = x->tape;
    const uint32_t last = x->dimension_count - 1;
    const size_t n = x->shape[last], all = corral_tensor_count(x);
    if (n > INT32_MAX)
        return corral_tape_fail(tape, CORRAL_ERROR_INVALID, "%s: %zu elements are too many", name, n);
    size_t shape[CORRAL_MAX_DIMENSIONS];
    memcpy(shape, x->shape, sizeof shape);
    shape[last] = count;
    corral_node *node = corral_tape_append(tape, x->dtype, x->dimension_count, shape, x, NULL);
    sort_record *record = corral_tape_scratch(tape, sizeof *record);
    int32_t *order = corral_tape_scratch(tape, (all + n) * sizeof *order);
    int32_t *index = corral_tape_scratch(tape, (n == 0 ? 0 : all / n * count) * sizeof *index);
    if (tape->status != CORRAL_OK) return &tape->empty;
    *record = (sort_record){choice_along(x, last, count, index, true), order, descending};
    node->forward = sort_forward;
    node->backward = choice_backward;
    node->kept[0] = record;
    if (out_index != NULL) *out_index = index;
    sort_forward(node);
    return &node->tensor;
}

static bool can_sort(const char *name, const corral_tensor *x)
{
    return check_choice(name, x, x->dimension_count == 0 ? 0 : x->dimension_count - 1);
}

corral_tensor *corral_sort(corral_tensor *x, bool descending, const int32_t **out_index)
{
    if (!can_sort("sort", x)) return &x->tape->empty;
    return sorted("sort", x, descending, x->shape[x->dimension_count - 1], out_index);
}

corral_tensor *corral_top_k(corral_tensor *x, size_t count, const int32_t **out_index)
{
    if (!can_sort("top_k", x)) return &x->tape->empty;
    const size_t n = x->shape[x->dimension_count - 1];
    if (count <= n) return sorted("top_k", x, true, count, out_index);
    return corral_tape_fail(x->tape, CORRAL_ERROR_INVALID, "top_k: there are no %zu among %zu elements",
                            count, n);
}
