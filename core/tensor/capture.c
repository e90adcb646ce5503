// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// A capture is a recording that is not reset, and its nodes hold all that their kernels need. A replay points
// the input nodes at the new data, takes the arena back to where the recording ended and backward began, and
// calls the nodes' forward and backward functions in the same order as then; gradients and scratch get the
// memory that they had. For that the recording must lie in one chunk of its arena: the first run may only
// warm it up.
//
// Runs of other shapes are recorded on a second tape, and leave the capture as it is.

#include "corral/core/capture.h"

#include "tensor/params.h"
#include "tensor/tape.h"

#include "corral/base/log.h"

#include <stdlib.h>

enum { INPUTS_MAX = 16 };

struct corral_capture {
    corral_segment *record;
    void *context;
    corral_tape *tape, *other;
    bool captured, said, hopeless; // hopeless: an operation cannot be replayed
    size_t input_count, node_count, replays, misses;
    corral_capture_input shapes[INPUTS_MAX]; // those of the capture
    corral_tensor *inputs[INPUTS_MAX];
    corral_node **nodes; // in the order of recording
    corral_tensor *loss;
    const corral_params *params;
    bool with_gradients;
    corral_arena_mark end;
};

corral_status corral_capture_create(corral_segment *record, void *context, corral_capture **out_capture)
{
    corral_capture *capture = calloc(1, sizeof *capture);
    if (capture == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "capture: no memory");
    capture->record = record;
    capture->context = context;
    corral_status status = corral_tape_create(&capture->tape);
    if (status == CORRAL_OK) status = corral_tape_create(&capture->other);
    if (status != CORRAL_OK) {
        corral_capture_destroy(capture);
        return status;
    }
    *out_capture = capture;
    return CORRAL_OK;
}

void corral_capture_destroy(corral_capture *capture)
{
    if (capture == NULL) return;
    corral_tape_destroy(capture->tape);
    corral_tape_destroy(capture->other);
    free(capture->nodes);
    free(capture);
}

size_t corral_capture_replays(const corral_capture *capture)
{
    return capture->replays;
}

size_t corral_capture_misses(const corral_capture *capture)
{
    return capture->misses;
}

// --- recording --------------------------------------------------------------------------------------------

static corral_status record(corral_capture *c, corral_tape *tape, const corral_params *params,
                            void *gradients, const corral_capture_input *inputs, size_t count,
                            corral_tensor **out_inputs, corral_tensor **out_loss)
{
    corral_tape_reset(tape, params, gradients);
    corral_tape_no_grad(tape, gradients == NULL);
    for (size_t i = 0; i < count; i++) {
        out_inputs[i] =
            corral_input(tape, inputs[i].dtype, inputs[i].dimension_count, inputs[i].shape, inputs[i].data);
    }
    corral_tensor *loss = c->record(c->context, tape, out_inputs, count);
    const corral_status status = corral_tape_status(tape);
    if (status != CORRAL_OK) return status;
    if (tape == c->tape) c->end = corral_arena_here(&tape->arena);
    *out_loss = loss;
    return gradients != NULL ? corral_backward(loss) : CORRAL_OK;
}

/// An operation without a forward function, or NULL. Leaves have none and need none.
static const corral_node *find_unreplayable(const corral_tape *tape)
{
    for (const corral_node *node = tape->last; node != NULL; node = node->previous) {
        if (node->forward == NULL && (node->backward != NULL || node->a != NULL || node->b != NULL))
            return node;
    }
    return NULL;
}

static corral_status list_nodes(corral_capture *c)
{
    c->node_count = 0;
    for (const corral_node *node = c->tape->last; node != NULL; node = node->previous)
        c->node_count++;
    c->nodes = malloc((c->node_count + 1) * sizeof *c->nodes);
    if (c->nodes == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "capture: no memory");
    size_t at = c->node_count;
    for (corral_node *node = c->tape->last; node != NULL; node = node->previous)
        c->nodes[--at] = node;
    return CORRAL_OK;
}

static corral_status capture(corral_capture *c, const corral_params *params, void *gradients,
                             const corral_capture_input *inputs, size_t count, corral_tensor **out_loss)
{
    corral_status status = record(c, c->tape, params, gradients, inputs, count, c->inputs, out_loss);
    if (status != CORRAL_OK) return status;
    const corral_node *odd = find_unreplayable(c->tape);
    if (odd != NULL) {
        c->hopeless = true;
        corral_log(CORRAL_LOG_WARNING, "capture: %s cannot be replayed; each run is recorded anew",
                   odd->name);
        return CORRAL_OK;
    }
    if (c->end.chunk != c->tape->arena.chunk) return CORRAL_OK; // still growing: the next run fits
    status = list_nodes(c);
    if (status != CORRAL_OK) return status;
    for (size_t i = 0; i < count; i++)
        c->shapes[i] = inputs[i];
    c->input_count = count;
    c->loss = *out_loss;
    c->params = params;
    c->with_gradients = gradients != NULL;
    c->captured = true;
    return CORRAL_OK;
}

// --- replay -----------------------------------------------------------------------------------------------

static bool same_shape(const corral_capture_input *a, const corral_capture_input *b)
{
    bool same = a->dtype == b->dtype && a->dimension_count == b->dimension_count;
    for (uint32_t i = 0; same && i < a->dimension_count; i++)
        same = a->shape[i] == b->shape[i];
    return same;
}

static bool matches(const corral_capture *c, const corral_params *params, const void *gradients,
                    const corral_capture_input *inputs, size_t count)
{
    bool same = params == c->params && (gradients != NULL) == c->with_gradients && count == c->input_count;
    for (size_t i = 0; same && i < count; i++)
        same = same_shape(&inputs[i], &c->shapes[i]);
    return same;
}

static corral_status replay(corral_capture *c, void *gradients, const corral_capture_input *inputs)
{
    corral_tape *tape = c->tape;
    corral_arena_rewind(&tape->arena, c->end);
    tape->status = CORRAL_OK;
    tape->gradients = gradients;
    for (size_t i = 0; i < c->input_count; i++)
        c->inputs[i]->data = corral_unconst(inputs[i].data);
    for (size_t i = 0; i < c->node_count && tape->status == CORRAL_OK; i++) {
        corral_node *node = c->nodes[i];
        node->tensor.grad = NULL; // a parameter's is set by its forward function
        if (node->forward != NULL) node->forward(node);
    }
    if (gradients == NULL || tape->status != CORRAL_OK) return corral_tape_status(tape);
    corral_tape_walk_back(c->loss, NULL);
    return corral_tape_status(tape);
}

corral_status corral_capture_run(corral_capture *c, const corral_params *params, void *gradients,
                                 const corral_capture_input *inputs, size_t input_count,
                                 const corral_tensor **out_loss)
{
    if (input_count > INPUTS_MAX) {
        return corral_fail(CORRAL_ERROR_INVALID, "capture: %zu inputs, at most %d are possible", input_count,
                           INPUTS_MAX);
    }
    corral_tensor *loss = NULL, *own[INPUTS_MAX];
    corral_status status;
    if (!c->captured && !c->hopeless) {
        status = capture(c, params, gradients, inputs, input_count, &loss);
    } else if (c->captured && matches(c, params, gradients, inputs, input_count)) {
        c->replays++;
        loss = c->loss;
        status = replay(c, gradients, inputs);
    } else {
        c->misses++;
        if (!c->said && !c->hopeless) {
            corral_log(CORRAL_LOG_WARNING,
                       "capture: other shapes or parameters than were captured; such runs are "
                       "recorded anew");
        }
        c->said = true;
        status = record(c, c->other, params, gradients, inputs, input_count, own, &loss);
    }
    if (status == CORRAL_OK) *out_loss = loss;
    return status;
}
