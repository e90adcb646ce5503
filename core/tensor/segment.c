// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Operations whose inside is somebody else's: checkpointed segments and custom operations. Both take any
// number of inputs, so that their node keeps a list.
//
// A segment runs on a tape of its own, which every segment of a tape shares: forward without gradients, and
// only the result is copied out; in backward once more, with the inputs as variables, and then back through
// that tape, which adds to the parameters' gradients by itself.

#include "ops/kernels.h"
#include "tensor/params.h"
#include "tensor/tape.h"
#include "tensor/watch.h"

#include <string.h>

enum { INPUTS_MAX = 16 };

typedef struct input_list {
    corral_segment *run;
    const corral_custom_operation *operation;
    void *context;
    size_t count;
    corral_tensor *inputs[];
} input_list;

/// Checks the inputs, and keeps them on the tape; NULL after a failure.
static input_list *keep_inputs(corral_tape *tape, const char *name, corral_tensor *const *inputs,
                               size_t count)
{
    if (count == 0 || count > INPUTS_MAX || inputs[0]->tape != tape) {
        corral_tape_fail(tape, CORRAL_ERROR_INVALID, "%s: takes 1 to %d inputs of its own tape", name,
                         INPUTS_MAX);
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        if (!corral_tape_ready(inputs[0], inputs[i], name)) return NULL;
    }
    input_list *list = corral_tape_scratch(tape, sizeof *list + count * sizeof list->inputs[0]);
    if (list == NULL) return NULL;
    *list = (input_list){.count = count};
    memcpy(list->inputs, inputs, count * sizeof list->inputs[0]);
    return list;
}

/// The node of a list's result.
static corral_node *append(const char *name, const input_list *list, uint32_t dimension_count,
                           const size_t *shape)
{
    corral_tape *tape = list->inputs[0]->tape;
    tape->operation = name;
    corral_node *node = corral_tape_append(tape, list->inputs[0]->dtype, dimension_count, shape, NULL, NULL);
    if (node == NULL) return NULL;
    node->kept[0] = list;
    for (size_t i = 0; i < list->count; i++)
        corral_node_reads(node, list->inputs[i]);
    return node;
}

// --- checkpoints ------------------------------------------------------------------------------------------

/// Records the segment of `list`; the inputs go to `variables`. The result, or NULL after a failure.
static corral_tensor *record(const input_list *list, void *gradients, corral_tensor **variables)
{
    corral_tape *tape = list->inputs[0]->tape, *inside = tape->segment;
    corral_tape_reset(inside, tape->params, gradients);
    corral_tape_no_grad(inside, gradients == NULL && variables == NULL);
    corral_tensor *own[INPUTS_MAX];
    if (variables == NULL) variables = own;
    for (size_t i = 0; i < list->count; i++) {
        const corral_tensor *x = list->inputs[i];
        variables[i] = (x->requires_grad ? corral_variable : corral_input)(
            inside, x->dtype, x->dimension_count, x->shape, x->data);
    }
    corral_tensor *result = list->run(list->context, inside, variables, list->count);
    if (corral_tape_status(inside) == CORRAL_OK && result->tape == inside) return result;
    corral_tape_fail(
        tape, inside->status != CORRAL_OK ? inside->status : CORRAL_ERROR_INVALID, "checkpoint: %s",
        inside->status != CORRAL_OK ? inside->sentence : "its result is not of the segment's tape");
    return NULL;
}

static size_t bytes_of(const corral_tensor *tensor)
{
    return corral_tensor_count(tensor) * corral_dtype_size(tensor->dtype);
}

static void checkpoint_forward(corral_node *node)
{
    const corral_tensor *result = record(node->kept[0], NULL, NULL);
    if (result != NULL) memcpy(node->tensor.data, result->data, bytes_of(&node->tensor));
}

static void checkpoint_backward(corral_node *node)
{
    const input_list *list = node->kept[0];
    corral_tape *tape = node->tensor.tape;
    corral_tensor *variables[INPUTS_MAX];
    corral_tensor *result = record(list, tape->gradients, variables);
    if (result == NULL || !result->requires_grad) return;
    if (corral_backward_with(result, &(corral_backward_options){.gradient = node->tensor.grad}) !=
        CORRAL_OK) {
        corral_tape_fail(tape, CORRAL_ERROR_INVALID, "checkpoint: %s", corral_last_error());
        return;
    }
    for (size_t i = 0; i < list->count; i++) {
        void *grad = corral_tensor_gradient(list->inputs[i]);
        if (grad == NULL || variables[i]->grad == NULL) continue;
        corral_kernels_of(variables[i]->dtype)
            ->add(corral_tensor_count(variables[i]), variables[i]->grad, grad);
    }
}

static bool make_segment_tape(corral_tape *tape)
{
    if (tape->segment == NULL && corral_tape_create(&tape->segment) != CORRAL_OK) {
        corral_tape_fail(tape, CORRAL_ERROR_NO_MEMORY, "checkpoint: no memory for a tape");
        return false;
    }
    const bool anomaly = tape->watch != NULL && tape->watch->anomaly;
    if (corral_tape_set_anomaly(tape->segment, anomaly) == CORRAL_OK) return true;
    corral_tape_fail(tape, CORRAL_ERROR_NO_MEMORY, "checkpoint: no memory to watch a tape");
    return false;
}

corral_tensor *corral_checkpoint(corral_tape *tape, corral_segment *run, void *context,
                                 corral_tensor *const *inputs, size_t input_count)
{
    input_list *list = keep_inputs(tape, "checkpoint", inputs, input_count);
    if (list == NULL || !make_segment_tape(tape)) return &tape->empty;
    list->run = run;
    list->context = context;
    const corral_tensor *result = record(list, NULL, NULL);
    if (result == NULL) return &tape->empty;
    corral_node *node = append("checkpoint", list, result->dimension_count, result->shape);
    if (node == NULL) return &tape->empty;
    corral_node_uses_parameters(node);
    node->forward = checkpoint_forward;
    node->backward = checkpoint_backward;
    memcpy(node->tensor.data, result->data, bytes_of(&node->tensor));
    return &node->tensor;
}

// --- custom operations ------------------------------------------------------------------------------------

static void failed(const corral_node *node, const char *where, corral_status status)
{
    corral_tape_fail(node->tensor.tape, status, "%s%s: %s", node->name, where, corral_last_error());
}

static void custom_forward(corral_node *node)
{
    const input_list *list = node->kept[0];
    const corral_status status =
        list->operation->forward(list->context, (const corral_tensor *const *)list->inputs, &node->tensor);
    if (status != CORRAL_OK) failed(node, "", status);
}

static void custom_backward(corral_node *node)
{
    const input_list *list = node->kept[0];
    void *gradients[INPUTS_MAX] = {0};
    for (size_t i = 0; i < list->count; i++)
        gradients[i] = corral_tensor_gradient(list->inputs[i]);
    if (node->tensor.tape->status != CORRAL_OK) return;
    const corral_status status =
        list->operation->backward(list->context, (const corral_tensor *const *)list->inputs, &node->tensor,
                                  node->tensor.grad, gradients);
    if (status != CORRAL_OK) failed(node, ": backward", status);
}

corral_tensor *corral_custom(corral_tape *tape, const corral_custom_operation *operation, void *context,
                             corral_tensor *const *inputs, size_t input_count, uint32_t dimension_count,
                             const size_t *shape)
{
    if (dimension_count > CORRAL_MAX_DIMENSIONS) {
        return corral_tape_fail(tape, CORRAL_ERROR_INVALID, "%s: %u dimensions, at most %d are possible",
                                operation->name, dimension_count, CORRAL_MAX_DIMENSIONS);
    }
    input_list *list = keep_inputs(tape, operation->name, inputs, input_count);
    if (list == NULL) return &tape->empty;
    list->operation = operation;
    list->context = context;
    corral_node *node = append(operation->name, list, dimension_count, shape);
    if (node == NULL) return &tape->empty;
    if (operation->backward == NULL) node->tensor.requires_grad = false;
    node->forward = custom_forward;
    node->backward = operation->backward != NULL ? custom_backward : NULL;
    custom_forward(node);
    return tape->status == CORRAL_OK ? &node->tensor : &tape->empty;
}
