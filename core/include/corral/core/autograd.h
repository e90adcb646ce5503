// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What one may do with a tape beside recording and one backward: switch gradients off, keep the graph, hook
/// into backward, trade memory for time, add operations from outside, and watch over a recording.
#ifndef CORRAL_CORE_AUTOGRAD_H
#define CORRAL_CORE_AUTOGRAD_H

#include "corral/core/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

// --- what has a gradient ----------------------------------------------------------------------------------

/// From here to the next call (or the reset, which switches it off): what is recorded needs no gradient,
/// though its inputs may. Returns what it was, to be put back.
///
///     const bool before = corral_tape_no_grad(tape, true);
///     corral_tensor *target = network(observation);
///     corral_tape_no_grad(tape, before);
bool corral_tape_no_grad(corral_tape *tape, bool on);

/// The values of a tensor, to be written in place. Operations that have read it may need the old values: the
/// backward of such a one fails with a sentence, also where it read them by corral_detach(). NULL for values
/// that are not the tape's: inputs, variables and parameters.
void *corral_tensor_edit(corral_tensor *tensor);

// --- backward ---------------------------------------------------------------------------------------------

typedef struct corral_backward_options {
    const void *gradient; // of the tensor, in its shape; NULL: 1, for a tensor of one element
    bool retain;          // another backward may follow, from this tensor or another one
} corral_backward_options;

/// corral_backward() with more to say. Several backwards add up in variables and parameters; of results in
/// between each begins anew.
CORRAL_MUST_USE corral_status corral_backward_with(corral_tensor *tensor,
                                                   const corral_backward_options *options);

/// Sees the whole gradient of `tensor` [shape] before it goes further back, and may change it.
typedef void corral_gradient_hook(void *context, const corral_tensor *tensor, void *gradient);

/// Hooks run in the order in which they were added, in each backward that reaches the tensor. Not for
/// parameters, whose gradients are whole only after backward. They are gone at the reset.
void corral_tensor_hook(corral_tensor *tensor, corral_gradient_hook *run, void *context);

// --- memory for time --------------------------------------------------------------------------------------

/// Part of a graph: from inputs to one result, all on `tape`.
typedef corral_tensor *corral_segment(void *context, corral_tape *tape, corral_tensor *const *inputs,
                                      size_t input_count);

/// Computes a segment and keeps nothing of it but the result; backward records it again, on memory that all
/// segments of the tape share. Results and gradients are the same, bit for bit, as without. `run` must do the
/// same each time, and `context` and what it reads stay until the reset.
corral_tensor *corral_checkpoint(corral_tape *tape, corral_segment *run, void *context,
                                 corral_tensor *const *inputs, size_t input_count);

// --- operations from outside ------------------------------------------------------------------------------

/// An operation that the library does not have, of one input or more. All tensors are of one dtype. A failure
/// is a sentence of corral_fail(), and becomes the tape's.
typedef struct corral_custom_operation {
    const char *name;
    /// Fills out->data [shape].
    corral_status (*forward)(void *context, const corral_tensor *const *inputs, const corral_tensor *out);
    /// Adds to gradients[i] what input i gets of `out_gradient`; NULL: it needs none. NULL function: no
    /// gradient.
    corral_status (*backward)(void *context, const corral_tensor *const *inputs, const corral_tensor *out,
                              const void *out_gradient, void *const *gradients);
} corral_custom_operation;

/// `operation` and `context` stay until the reset.
corral_tensor *corral_custom(corral_tape *tape, const corral_custom_operation *operation, void *context,
                             corral_tensor *const *inputs, size_t input_count, uint32_t dimension_count,
                             const size_t *shape);

// --- watching ---------------------------------------------------------------------------------------------

/// Anomaly mode: each result and each gradient is searched for NaN, and the tape's failure names the
/// operation that gave the first. It also keeps the tensors of the recording before, so that using one of
/// them is a sentence (without this mode, AddressSanitizer sees it). Slow: for finding mistakes. Switch at a
/// reset.
CORRAL_MUST_USE corral_status corral_tape_set_anomaly(corral_tape *tape, bool on);

/// Where the memory of a step goes. Sites are names of the caller's choice ("encoder"), operations the
/// library's.
typedef struct corral_tape_use {
    const char *site;      // "" where none was named
    const char *operation; // "linear"
    size_t count;          // allocations
    size_t bytes;          // results, gradients and scratch
} corral_tape_use;

/// Counts the memory of each step by site and operation from the next reset on.
CORRAL_MUST_USE corral_status corral_tape_set_report(corral_tape *tape, bool on);
/// What is recorded from here on is of this site: a string that stays. The reset goes back to "".
void corral_tape_site(corral_tape *tape, const char *site);
/// The largest step so far, the largest use first; writes up to `limit` rows and returns how many there are.
size_t corral_tape_report(const corral_tape *tape, corral_tape_use *out_rows, size_t limit);

#ifdef __cplusplus
}
#endif
#endif
