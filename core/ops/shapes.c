// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Operations that move elements. Each is one strided copy (corral_move) into its result, and backward the
// same walk the other way, which adds. The innermost dimensions come last, leading ones are of one element.

#include "ops/shape_kernels.h"
#include "tensor/tape.h"

#include <string.h>

enum { DIMENSIONS = CORRAL_MAX_DIMENSIONS };

/// A tensor's shape and steps brought to four dimensions.
typedef struct layout {
    size_t shape[DIMENSIONS], step[DIMENSIONS];
} layout;

static layout layout_of(uint32_t dimension_count, const size_t *shape)
{
    layout l;
    size_t step = 1;
    for (size_t i = DIMENSIONS; i-- > 0;) {
        const size_t missing = DIMENSIONS - dimension_count;
        l.shape[i] = i < missing ? 1 : shape[i - missing];
        l.step[i] = step;
        step *= l.shape[i];
    }
    return l;
}

/// The walk of a node, kept for backward: there `to` is the gradient of the input that `from` was.
typedef struct moved {
    corral_move move;
    size_t first; // of the input's elements that are moved: an offset
} moved;

static void add_back(const corral_node *node, corral_tensor *input, const moved *kept)
{
    char *grad = corral_tensor_gradient(input);
    if (grad == NULL) return;
    corral_move back = kept->move;
    memcpy(back.from_step, kept->move.to_step, sizeof back.from_step);
    memcpy(back.to_step, kept->move.from_step, sizeof back.to_step);
    back.from = node->tensor.grad;
    back.to = grad + kept->first * corral_dtype_size(input->dtype);
    corral_shapes_of(input->dtype)->move_add(&back);
}

static void move_forward(corral_node *node)
{
    const moved *kept = node->kept[0];
    corral_move move = kept->move;
    move.from = (const char *)node->a->data + kept->first * corral_dtype_size(node->a->dtype);
    move.to = node->tensor.data;
    corral_shapes_of(node->a->dtype)->move(&move);
}

static void move_backward(corral_node *node)
{
    add_back(node, node->a, node->kept[0]);
}

/// A result of `shape` that `move` fills, with `first` the offset of the input's elements that it begins at.
static corral_tensor *record_move(corral_tensor *x, uint32_t dimension_count, const size_t *shape,
                                  corral_move move, size_t first)
{
    corral_tape *tape = x->tape;
    corral_node *node = corral_tape_append(tape, x->dtype, dimension_count, shape, x, NULL);
    moved *kept = corral_tape_scratch(tape, sizeof *kept);
    if (node == NULL || kept == NULL) return &tape->empty;
    *kept = (moved){move, first};
    node->forward = move_forward;
    node->backward = move_backward;
    node->kept[0] = kept;
    move_forward(node);
    return &node->tensor;
}

static bool has_dimension(const char *name, const corral_tensor *x, uint32_t dimension)
{
    if (!corral_tape_ready(x, NULL, name)) return false;
    if (dimension < x->dimension_count) return true;
    corral_tape_fail(x->tape, CORRAL_ERROR_INVALID, "%s: there is no dimension %u among %u", name, dimension,
                     x->dimension_count);
    return false;
}

/// Where dimension `dimension` of a tensor is among four.
static size_t among_four(const corral_tensor *x, uint32_t dimension)
{
    return DIMENSIONS - x->dimension_count + dimension;
}

// --- views ------------------------------------------------------------------------------------------------

corral_tensor *corral_permute(corral_tensor *x, const uint32_t *order)
{
    corral_tape *tape = x->tape;
    if (!corral_tape_ready(x, NULL, "permute")) return &tape->empty;
    const uint32_t count = x->dimension_count;
    uint32_t seen = 0;
    for (uint32_t i = 0; i < count; i++)
        seen |= order[i] < count ? 1u << order[i] : 0;
    if (seen != (1u << count) - 1)
        return corral_tape_fail(tape, CORRAL_ERROR_INVALID,
                                "permute: the order must name each of the %u dimensions once", count);
    const layout from = layout_of(count, x->shape);
    size_t shape[DIMENSIONS];
    for (uint32_t i = 0; i < count; i++)
        shape[i] = x->shape[order[i]];
    const layout to = layout_of(count, shape);
    corral_move move = {0};
    memcpy(move.shape, to.shape, sizeof move.shape);
    memcpy(move.to_step, to.step, sizeof move.to_step);
    for (uint32_t i = 0; i < count; i++)
        move.from_step[DIMENSIONS - count + i] = from.step[DIMENSIONS - count + order[i]];
    return record_move(x, count, shape, move, 0);
}

corral_tensor *corral_expand(corral_tensor *x, uint32_t dimension_count, const size_t *shape)
{
    corral_tape *tape = x->tape;
    if (!corral_tape_ready(x, NULL, "expand")) return &tape->empty;
    bool fits = dimension_count <= DIMENSIONS && dimension_count >= x->dimension_count;
    const layout from = layout_of(x->dimension_count, x->shape);
    const layout to = layout_of(fits ? dimension_count : 0, shape);
    corral_move move = {0};
    for (size_t i = 0; i < DIMENSIONS && fits; i++) {
        fits = from.shape[i] == to.shape[i] || from.shape[i] == 1;
        move.from_step[i] = from.shape[i] == 1 ? 0 : from.step[i];
    }
    if (!fits)
        return corral_tape_fail(tape, CORRAL_ERROR_INVALID,
                                "expand: only dimensions of one element can be repeated, up to %d dimensions",
                                DIMENSIONS);
    memcpy(move.shape, to.shape, sizeof move.shape);
    memcpy(move.to_step, to.step, sizeof move.to_step);
    return record_move(x, dimension_count, shape, move, 0);
}

corral_tensor *corral_slice(corral_tensor *x, uint32_t dimension, size_t first, size_t count)
{
    if (!has_dimension("slice", x, dimension)) return &x->tape->empty;
    const size_t size = x->shape[dimension];
    if (first > size || count > size - first)
        return corral_tape_fail(x->tape, CORRAL_ERROR_INVALID,
                                "slice: elements %zu to %zu are not all among the %zu of dimension %u", first,
                                first + count, size, dimension);
    const layout from = layout_of(x->dimension_count, x->shape);
    size_t shape[DIMENSIONS];
    memcpy(shape, x->shape, sizeof shape);
    shape[dimension] = count;
    const layout to = layout_of(x->dimension_count, shape);
    corral_move move = {0};
    memcpy(move.shape, to.shape, sizeof move.shape);
    memcpy(move.to_step, to.step, sizeof move.to_step);
    memcpy(move.from_step, from.step, sizeof move.from_step);
    return record_move(x, x->dimension_count, shape, move, first * from.step[among_four(x, dimension)]);
}

void corral_split(corral_tensor *x, uint32_t dimension, size_t part_count, const size_t *sizes,
                  corral_tensor **out_parts)
{
    size_t first = 0;
    for (size_t i = 0; i < part_count; i++) {
        out_parts[i] = corral_slice(x, dimension, first, sizes[i]);
        first += sizes[i];
    }
    if (!corral_tape_ready(x, NULL, "split") ||
        (dimension < x->dimension_count && first == x->shape[dimension]))
        return;
    corral_tape_fail(x->tape, CORRAL_ERROR_INVALID,
                     "split: the parts hold %zu elements, dimension %u has %zu", first, dimension,
                     x->shape[dimension]);
}

corral_tensor *corral_squeeze(corral_tensor *x, uint32_t dimension)
{
    if (!has_dimension("squeeze", x, dimension)) return &x->tape->empty;
    if (x->shape[dimension] != 1)
        return corral_tape_fail(x->tape, CORRAL_ERROR_INVALID,
                                "squeeze: dimension %u has %zu elements, not one", dimension,
                                x->shape[dimension]);
    size_t shape[DIMENSIONS];
    for (uint32_t i = 0, to = 0; i < x->dimension_count; i++) {
        if (i != dimension) shape[to++] = x->shape[i];
    }
    return corral_reshape(x, x->dimension_count - 1, shape);
}

corral_tensor *corral_unsqueeze(corral_tensor *x, uint32_t dimension)
{
    if (!corral_tape_ready(x, NULL, "unsqueeze")) return &x->tape->empty;
    if (dimension > x->dimension_count || x->dimension_count >= DIMENSIONS)
        return corral_tape_fail(x->tape, CORRAL_ERROR_INVALID,
                                "unsqueeze: there is no place %u for one more of %u dimensions", dimension,
                                x->dimension_count);
    size_t shape[DIMENSIONS];
    for (uint32_t i = 0; i <= x->dimension_count; i++)
        shape[i] = i < dimension ? x->shape[i] : i == dimension ? 1 : x->shape[i - 1];
    return corral_reshape(x, x->dimension_count + 1, shape);
}

// --- several tensors, or room around one ------------------------------------------------------------------

/// The walk that puts `x` into `node`'s result, from element `first` of `dimension` on.
static moved walk_into(const corral_node *node, const corral_tensor *x, uint32_t dimension, size_t first)
{
    const layout from = layout_of(x->dimension_count, x->shape);
    const layout to = layout_of(node->tensor.dimension_count, node->tensor.shape);
    corral_move move = {0};
    memcpy(move.shape, from.shape, sizeof move.shape);
    memcpy(move.from_step, from.step, sizeof move.from_step);
    memcpy(move.to_step, to.step, sizeof move.to_step);
    return (moved){move, first * to.step[among_four(x, dimension)]};
}

static void move_into(const corral_node *node, const corral_tensor *x, const moved *kept)
{
    corral_move move = kept->move;
    move.from = x->data;
    move.to = (char *)node->tensor.data + kept->first * corral_dtype_size(x->dtype);
    corral_shapes_of(x->dtype)->move(&move);
}

/// `kept->first` is an offset into the result here.
static void add_part_back(const corral_node *node, corral_tensor *input, const moved *kept)
{
    void *grad = corral_tensor_gradient(input);
    if (grad == NULL) return;
    corral_move back = kept->move;
    memcpy(back.from_step, kept->move.to_step, sizeof back.from_step);
    memcpy(back.to_step, kept->move.from_step, sizeof back.to_step);
    back.from = (const char *)node->tensor.grad + kept->first * corral_dtype_size(input->dtype);
    back.to = grad;
    corral_shapes_of(input->dtype)->move_add(&back);
}

/// The parts of a concatenation.
typedef struct parts {
    size_t count;
    corral_tensor **tensors;
    moved *moves;
} parts;

static void cat_forward(corral_node *node)
{
    const parts *p = node->kept[0];
    for (size_t i = 0; i < p->count; i++)
        move_into(node, p->tensors[i], &p->moves[i]);
}

static void cat_backward(corral_node *node)
{
    const parts *p = node->kept[0];
    for (size_t i = 0; i < p->count; i++)
        add_part_back(node, p->tensors[i], &p->moves[i]);
}

/// The shape of the concatenation; false, with the failure recorded, where the parts do not fit.
static bool cat_shape(size_t count, corral_tensor *const *tensors, uint32_t dimension, size_t *out_shape)
{
    const corral_tensor *x = tensors[0];
    if (!has_dimension("cat", x, dimension)) return false;
    memcpy(out_shape, x->shape, DIMENSIONS * sizeof *out_shape);
    out_shape[dimension] = 0;
    for (size_t i = 0; i < count; i++) {
        const corral_tensor *t = tensors[i];
        if (!corral_tape_ready(x, t, "cat")) return false;
        bool same = t->dimension_count == x->dimension_count;
        for (uint32_t d = 0; d < x->dimension_count && same; d++)
            same = d == dimension || t->shape[d] == x->shape[d];
        if (!same) {
            corral_tape_fail(x->tape, CORRAL_ERROR_INVALID,
                             "cat: tensor %zu differs from the first in more than dimension %u", i,
                             dimension);
            return false;
        }
        out_shape[dimension] += t->shape[dimension];
    }
    return true;
}

corral_tensor *corral_cat(size_t tensor_count, corral_tensor *const *tensors, uint32_t dimension)
{
    CORRAL_ASSERT(tensor_count > 0);
    const corral_tensor *x = tensors[0];
    corral_tape *tape = x->tape;
    size_t shape[DIMENSIONS];
    if (!cat_shape(tensor_count, tensors, dimension, shape)) return &tape->empty;
    corral_node *node = corral_tape_append(tape, x->dtype, x->dimension_count, shape, tensors[0],
                                           tensor_count > 1 ? tensors[1] : NULL);
    parts *p = corral_tape_scratch(tape, sizeof *p);
    corral_tensor **kept = corral_tape_scratch(tape, tensor_count * sizeof(corral_tensor *));
    moved *moves = corral_tape_scratch(tape, tensor_count * sizeof *moves);
    if (tape->status != CORRAL_OK) return &tape->empty;
    *p = (parts){tensor_count, kept, moves};
    node->forward = cat_forward;
    node->backward = cat_backward;
    node->kept[0] = p;
    size_t first = 0;
    for (size_t i = 0; i < tensor_count; i++) {
        kept[i] = tensors[i];
        corral_node_reads(node, tensors[i]);
        moves[i] = walk_into(node, tensors[i], dimension, first);
        first += tensors[i]->shape[dimension];
    }
    cat_forward(node);
    return &node->tensor;
}

corral_tensor *corral_stack(size_t tensor_count, corral_tensor *const *tensors, uint32_t dimension)
{
    CORRAL_ASSERT(tensor_count > 0);
    corral_tape *tape = tensors[0]->tape;
    corral_tensor **rows = corral_tape_scratch(tape, tensor_count * sizeof(corral_tensor *));
    for (size_t i = 0; i < tensor_count && rows != NULL; i++)
        rows[i] = corral_unsqueeze(tensors[i], dimension);
    return tape->status == CORRAL_OK ? corral_cat(tensor_count, rows, dimension) : &tape->empty;
}

static void pad_forward(corral_node *node)
{
    corral_shapes_of(node->tensor.dtype)
        ->fill(corral_tensor_count(&node->tensor), node->numbers[0], node->tensor.data);
    move_into(node, node->a, node->kept[0]);
}

static void pad_backward(corral_node *node)
{
    add_part_back(node, node->a, node->kept[0]);
}

corral_tensor *corral_pad(corral_tensor *x, uint32_t dimension, size_t before, size_t after, double value)
{
    corral_tape *tape = x->tape;
    if (!has_dimension("pad", x, dimension)) return &tape->empty;
    size_t shape[DIMENSIONS];
    memcpy(shape, x->shape, sizeof shape);
    if (__builtin_add_overflow(shape[dimension], before, &shape[dimension]) ||
        __builtin_add_overflow(shape[dimension], after, &shape[dimension]))
        return corral_tape_fail(tape, CORRAL_ERROR_INVALID, "pad: the result is too large for memory");
    corral_node *node = corral_tape_append(tape, x->dtype, x->dimension_count, shape, x, NULL);
    moved *kept = corral_tape_scratch(tape, sizeof *kept);
    if (node == NULL || kept == NULL) return &tape->empty;
    *kept = walk_into(node, x, dimension, before);
    node->forward = pad_forward;
    node->backward = pad_backward;
    node->kept[0] = kept;
    node->numbers[0] = value;
    pad_forward(node);
    return &node->tensor;
}
