// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The tape: a list of nodes in an arena. autograd.md tells how it works and how to add an operation.

#include "tensor/tape.h"

#include "tensor/params.h"
#include "tensor/watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t round_up(size_t size)
{
    return (size + CORRAL_ARENA_ALIGNMENT - 1) / CORRAL_ARENA_ALIGNMENT * CORRAL_ARENA_ALIGNMENT;
}

size_t corral_tensor_count(const corral_tensor *tensor)
{
    size_t count = 1;
    for (uint32_t i = 0; i < tensor->dimension_count; i++)
        count *= tensor->shape[i];
    return count;
}

corral_status corral_tape_create(corral_tape **out_tape)
{
    corral_tape *tape = calloc(1, sizeof *tape);
    if (tape == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "tape: no memory");
    tape->empty = (corral_tensor){.tape = tape, .data = tape->sentence, .dimension_count = 1};
    *out_tape = tape;
    return CORRAL_OK;
}

void corral_tape_destroy(corral_tape *tape)
{
    if (tape == NULL) return;
    corral_tape_destroy(tape->segment);
    corral_watch_destroy(tape->watch);
    corral_arena_finish(&tape->arena);
    free(tape);
}

void corral_tape_reset(corral_tape *tape, const corral_params *params, void *gradients)
{
    if (tape->watch != NULL) corral_watch_reset(tape);
    corral_arena_reset(&tape->arena);
    tape->last = NULL;
    tape->params = params;
    tape->params_version = params != NULL ? params->version : 0;
    tape->gradients = gradients;
    tape->status = CORRAL_OK;
    tape->empty.generation = ++tape->generation;
    tape->no_grad = tape->ran_backward = tape->ended = false;
    tape->operation = "input";
    tape->autocast = CORRAL_FULL;
    tape->sentence[0] = '\0';
}

bool corral_tape_no_grad(corral_tape *tape, bool on)
{
    const bool before = tape->no_grad;
    tape->no_grad = on;
    return before;
}

corral_status corral_tape_status(corral_tape *tape)
{
    if (tape->watch != NULL) corral_watch_results(tape);
    if (tape->status == CORRAL_OK) return CORRAL_OK;
    return corral_fail(tape->status, "%s", tape->sentence);
}

size_t corral_tape_peak_bytes(const corral_tape *tape)
{
    return tape->arena.high_water > tape->arena.total ? tape->arena.high_water : tape->arena.total;
}

corral_tensor *corral_tape_fail(corral_tape *tape, corral_status status, const char *format, ...)
{
    if (tape->status == CORRAL_OK) {
        tape->status = status;
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(tape->sentence, sizeof tape->sentence, format, arguments);
        va_end(arguments);
    }
    return &tape->empty;
}

static bool of_this_recording(const corral_tensor *tensor, const char *operation)
{
    if (tensor->generation == tensor->tape->generation) return true;
    corral_tape_fail(tensor->tape, CORRAL_ERROR_INVALID,
                     "%s: a tensor is of a recording that has ended; the tape's reset ends all its tensors",
                     operation);
    return false;
}

bool corral_tape_ready(const corral_tensor *a, const corral_tensor *b, const char *operation)
{
    if (a->tape->watch != NULL) corral_watch_results(a->tape); // all before this one have computed
    if (a->tape->status != CORRAL_OK || !of_this_recording(a, operation)) return false;
    a->tape->operation = operation;
    if (b == NULL) return true;
    if (b->tape != a->tape) {
        corral_tape_fail(a->tape, CORRAL_ERROR_INVALID, "%s: the two tensors belong to different tapes",
                         operation);
        return false;
    }
    if (!of_this_recording(b, operation)) return false;
    if (b->dtype != a->dtype) {
        corral_tape_fail(a->tape, CORRAL_ERROR_INVALID, "%s: one tensor is f32, the other f64; use one dtype",
                         operation);
        return false;
    }
    return true;
}

void *corral_tape_scratch(corral_tape *tape, size_t size)
{
    if (tape->status != CORRAL_OK) return NULL;
    void *memory = corral_arena_alloc(&tape->arena, size == 0 ? 1 : size);
    if (memory == NULL) {
        corral_tape_fail(tape, CORRAL_ERROR_NO_MEMORY, "tape: no memory for %zu bytes; use smaller batches",
                         size);
    } else if (tape->watch != NULL) {
        corral_watch_memory(tape, size);
    }
    return memory;
}

/// Bytes of values of this shape; false where they cannot be counted.
static bool value_bytes(corral_dtype dtype, uint32_t dimension_count, const size_t *shape, size_t *out_bytes)
{
    size_t bytes = corral_dtype_size(dtype);
    for (uint32_t i = 0; i < dimension_count; i++) {
        if (__builtin_mul_overflow(bytes, shape[i], &bytes)) return false;
    }
    *out_bytes = bytes;
    return bytes < PTRDIFF_MAX / 2;
}

/// A node with `extra` bytes behind it.
static corral_node *append_node(corral_tape *tape, corral_dtype dtype, uint32_t dimension_count,
                                const size_t *shape, size_t extra)
{
    corral_node *node = corral_tape_scratch(tape, round_up(sizeof *node) + extra);
    if (node == NULL) return NULL;
    *node = (corral_node){.previous = tape->last, .name = tape->operation};
    corral_tensor *tensor = &node->tensor;
    tensor->tape = tape;
    tensor->data = (char *)node + round_up(sizeof *node);
    tensor->dtype = dtype;
    tensor->dimension_count = dimension_count;
    tensor->generation = tape->generation;
    for (uint32_t i = 0; i < dimension_count; i++)
        tensor->shape[i] = shape[i];
    tape->last = node;
    return node;
}

corral_node *corral_tape_append(corral_tape *tape, corral_dtype dtype, uint32_t dimension_count,
                                const size_t *shape, corral_tensor *a, corral_tensor *b)
{
    size_t bytes = 0;
    if (!value_bytes(dtype, dimension_count, shape, &bytes)) {
        corral_tape_fail(tape, CORRAL_ERROR_INVALID, "tape: a result's shape is too large for memory");
        return NULL;
    }
    corral_node *node = append_node(tape, dtype, dimension_count, shape, bytes);
    if (node == NULL) return NULL;
    node->a = a;
    node->b = b;
    if (a != NULL) node->a_version = corral_owner_of(a)->version;
    if (b != NULL) node->b_version = corral_owner_of(b)->version;
    node->tensor.requires_grad =
        !tape->no_grad && ((a != NULL && a->requires_grad) || (b != NULL && b->requires_grad));
    return node;
}

void corral_node_reads(corral_node *node, const corral_tensor *input)
{
    if (input != NULL && input->requires_grad && !node->tensor.tape->no_grad)
        node->tensor.requires_grad = true;
}

void corral_node_uses_parameters(corral_node *node)
{
    const corral_tape *tape = node->tensor.tape;
    if (tape->gradients != NULL && !tape->no_grad) node->tensor.requires_grad = true;
}

void *corral_tensor_edit(corral_tensor *tensor)
{
    if (tensor->tape->status != CORRAL_OK || !of_this_recording(tensor, "edit")) return NULL;
    corral_node *owner = corral_owner_of(tensor);
    if (owner->tensor.data != (char *)owner + round_up(sizeof *owner)) return NULL; // the caller's own memory
    owner->version++;
    return tensor->data;
}

// --- tensors from outside ---------------------------------------------------------------------------------

corral_tensor *corral_tape_refer(corral_tape *tape, corral_dtype dtype, uint32_t dimension_count,
                                 const size_t *shape, const void *data)
{
    if (tape->status != CORRAL_OK) return &tape->empty;
    if (dimension_count > CORRAL_MAX_DIMENSIONS) {
        return corral_tape_fail(tape, CORRAL_ERROR_INVALID, "input: %u dimensions, at most %d are possible",
                                dimension_count, CORRAL_MAX_DIMENSIONS);
    }
    tape->operation = "input";
    corral_node *node = append_node(tape, dtype, dimension_count, shape, 0);
    if (node == NULL) return &tape->empty;
    node->tensor.data = corral_unconst(data);
    return &node->tensor;
}

corral_tensor *corral_input(corral_tape *tape, corral_dtype dtype, uint32_t dimension_count,
                            const size_t *shape, const void *data)
{
    return corral_tape_refer(tape, dtype, dimension_count, shape, data);
}

corral_tensor *corral_variable(corral_tape *tape, corral_dtype dtype, uint32_t dimension_count,
                               const size_t *shape, const void *data)
{
    corral_tensor *tensor = corral_tape_refer(tape, dtype, dimension_count, shape, data);
    if (tape->status == CORRAL_OK) tensor->requires_grad = !tape->no_grad;
    return tensor;
}

const void *corral_tape_parameter_data(const corral_tape *tape, uint32_t index)
{
    const corral_params *params = tape->params;
    return (const char *)params->data + params->entries[index].offset * corral_dtype_size(params->dtype);
}

void *corral_tape_parameter_gradient(const corral_tape *tape, uint32_t index)
{
    if (tape->gradients == NULL) return NULL;
    const corral_params *params = tape->params;
    return (char *)tape->gradients + params->entries[index].offset * corral_dtype_size(params->dtype);
}

const char corral_parameter_name[] = "parameter";

/// Where the blocks are, which a replay may be given elsewhere.
static void parameter_forward(corral_node *node)
{
    node->tensor.data = corral_unconst(corral_tape_parameter_data(node->tensor.tape, node->weight));
    node->tensor.grad = corral_tape_parameter_gradient(node->tensor.tape, node->weight);
}

corral_tensor *corral_parameter(corral_tape *tape, uint32_t index)
{
    if (tape->status != CORRAL_OK) return &tape->empty;
    if (tape->params == NULL || index >= tape->params->entry_count) {
        return corral_tape_fail(tape, CORRAL_ERROR_INVALID,
                                "parameter %u: the tape's parameters have no such entry", index);
    }
    const corral_param *entry = &tape->params->entries[index];
    corral_tensor *tensor =
        corral_tape_refer(tape, tape->params->dtype, entry->dimension_count, entry->shape, NULL);
    if (tape->status != CORRAL_OK) return tensor;
    corral_node *node = corral_node_of(tensor);
    node->name = corral_parameter_name;
    node->weight = index;
    node->forward = parameter_forward;
    parameter_forward(node);
    tensor->requires_grad = tensor->grad != NULL && !tape->no_grad;
    return tensor;
}

corral_tensor *corral_constant(corral_tape *tape, corral_dtype dtype, double value)
{
    if (tape->status != CORRAL_OK) return &tape->empty;
    corral_node *node = append_node(tape, dtype, 0, NULL, sizeof(double));
    if (node == NULL) return &tape->empty;
    if (dtype == CORRAL_F64) {
        *(double *)node->tensor.data = value;
    } else {
        *(float *)node->tensor.data = (float)value;
    }
    return &node->tensor;
}

static void detach_forward(corral_node *node)
{
    node->tensor.data = node->a->data;
}

corral_tensor *corral_detach(corral_tensor *x)
{
    if (!corral_tape_ready(x, NULL, "detach")) return &x->tape->empty;
    corral_tensor *apart = corral_tape_refer(x->tape, x->dtype, x->dimension_count, x->shape, x->data);
    if (x->tape->status != CORRAL_OK) return apart;
    corral_node *node = corral_node_of(apart);
    node->name = "detach";
    node->a = x;
    node->owner = corral_owner_of(x);
    node->forward = detach_forward;
    return apart;
}
