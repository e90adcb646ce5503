// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Backward: the nodes from last to first, each adding to the gradients of its inputs.

#include "tensor/params.h"
#include "tensor/tape.h"
#include "tensor/watch.h"

#include <string.h>

static size_t tensor_bytes(const corral_tensor *tensor)
{
    return corral_tensor_count(tensor) * corral_dtype_size(tensor->dtype);
}

void *corral_tensor_gradient_unset(corral_tensor *tensor, bool *out_is_first)
{
    *out_is_first = tensor->requires_grad && tensor->grad == NULL;
    if (*out_is_first) tensor->grad = corral_tape_scratch(tensor->tape, tensor_bytes(tensor));
    return tensor->grad;
}

void *corral_tensor_gradient(corral_tensor *tensor)
{
    bool is_first;
    void *gradient = corral_tensor_gradient_unset(tensor, &is_first);
    if (is_first && gradient != NULL) memset(gradient, 0, tensor_bytes(tensor));
    return gradient;
}

void corral_tensor_hook(corral_tensor *tensor, corral_gradient_hook *run, void *context)
{
    if (!corral_tape_ready(tensor, NULL, "hook")) return;
    corral_node *node = corral_node_of(tensor);
    if (node->name == corral_parameter_name) {
        corral_tape_fail(tensor->tape, CORRAL_ERROR_INVALID,
                         "hook: the gradient of a parameter is whole only after backward; read it then");
        return;
    }
    corral_hook *hook = corral_tape_scratch(tensor->tape, sizeof *hook);
    if (hook == NULL) return;
    *hook = (corral_hook){.run = run, .context = context};
    corral_hook **end = &node->hooks;
    while (*end != NULL)
        end = &(*end)->next;
    *end = hook;
}

// --- checks -----------------------------------------------------------------------------------------------

static corral_status check_tape(corral_tape *tape)
{
    if (tape->ended) {
        return corral_fail(CORRAL_ERROR_INVALID,
                           "backward: it already ran on this recording, and its gradients "
                           "are added; record again, or let the first one retain");
    }
    if (tape->params != NULL && tape->params->version != tape->params_version) {
        return corral_fail(CORRAL_ERROR_INVALID,
                           "backward: the parameters have changed since they were recorded (change %llu, now "
                           "%llu); run backward before the optimizer's step",
                           (unsigned long long)tape->params_version,
                           (unsigned long long)tape->params->version);
    }
    return CORRAL_OK;
}

static corral_status check_start(const corral_tensor *tensor, const corral_backward_options *options)
{
    if (tensor->generation != tensor->tape->generation) {
        return corral_fail(CORRAL_ERROR_INVALID, "backward: the tensor is of a recording that has ended; the "
                                                 "tape's reset ends all its tensors");
    }
    if (options->gradient == NULL && corral_tensor_count(tensor) != 1) {
        return corral_fail(CORRAL_ERROR_INVALID, "backward: the loss has %zu elements; reduce it to one",
                           corral_tensor_count(tensor));
    }
    if (!tensor->requires_grad) {
        return corral_fail(CORRAL_ERROR_INVALID,
                           "backward: the loss depends on nothing that needs a gradient; "
                           "give the tape a gradient block, or use a variable");
    }
    return CORRAL_OK;
}

/// False, with the failure recorded, where an input was written to since.
static bool inputs_are_as_recorded(const corral_node *node)
{
    const corral_tensor *input = NULL;
    uint32_t was = 0;
    if (node->b != NULL && corral_owner_of(node->b)->version != node->b_version) {
        input = node->b;
        was = node->b_version;
    } else if (node->a != NULL && corral_owner_of(node->a)->version != node->a_version) {
        input = node->a;
        was = node->a_version;
    }
    if (input == NULL) return true;
    corral_tape_fail(node->tensor.tape, CORRAL_ERROR_INVALID,
                     "backward of %s: its input, a result of %s, was written to in place after it was read "
                     "(version %u, now %u); edit a copy, or before it is used",
                     node->name, corral_owner_of(input)->name, was, corral_owner_of(input)->version);
    return false;
}

// --- the walk ---------------------------------------------------------------------------------------------

/// Results in between begin anew in a second backward; what leaves have is added to.
static void forget_gradients(corral_tape *tape)
{
    for (corral_node *node = tape->last; node != NULL; node = node->previous) {
        if (node->backward != NULL) node->tensor.grad = NULL;
    }
}

static void start_gradient(corral_tensor *tensor, const void *gradient)
{
    if (corral_tensor_gradient(tensor) == NULL) return;
    if (gradient != NULL) {
        memcpy(tensor->grad, gradient, tensor_bytes(tensor));
    } else if (tensor->dtype == CORRAL_F64) {
        *(double *)tensor->grad = 1.0;
    } else {
        *(float *)tensor->grad = 1.0f;
    }
}

static void step_back(corral_node *node)
{
    for (const corral_hook *hook = node->hooks; hook != NULL; hook = hook->next)
        hook->run(hook->context, &node->tensor, node->tensor.grad);
    if (node->backward == NULL || !inputs_are_as_recorded(node)) return;
    corral_tape *tape = node->tensor.tape;
    tape->operation = node->name;
    node->backward(node);
    if (tape->watch != NULL) corral_watch_gradients(node);
}

void corral_tape_walk_back(corral_tensor *start, const void *gradient)
{
    corral_tape *tape = start->tape;
    start_gradient(start, gradient);
    for (corral_node *node = tape->last; node != NULL && tape->status == CORRAL_OK; node = node->previous) {
        // A variable that the loss does not depend on has a gradient too: zero.
        if (node->backward == NULL) corral_tensor_gradient(&node->tensor);
        if (node->tensor.grad != NULL) step_back(node);
    }
}

corral_status corral_backward_with(corral_tensor *tensor, const corral_backward_options *options)
{
    corral_tape *tape = tensor->tape;
    if (corral_tape_status(tape) != CORRAL_OK) return tape->status;
    corral_status status = check_tape(tape);
    if (status == CORRAL_OK) status = check_start(tensor, options);
    if (status != CORRAL_OK) return status;
    if (tape->ran_backward) forget_gradients(tape);
    tape->ran_backward = true;
    tape->ended = !options->retain;
    if (tape->watch != NULL) tape->watch->backwards = true;
    corral_tape_walk_back(tensor, options->gradient);
    if (tape->watch != NULL) tape->watch->backwards = false;
    return corral_tape_status(tape);
}

corral_status corral_backward(corral_tensor *loss)
{
    return corral_backward_with(loss, &(corral_backward_options){0});
}
