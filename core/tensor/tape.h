// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The inside of the tape: what an operation needs to append itself, and to run backwards. See autograd.md.
#ifndef CORRAL_CORE_TENSOR_TAPE_H
#define CORRAL_CORE_TENSOR_TAPE_H

#include "corral/base/arena.h"
#include "corral/core/tensor.h"

enum { CORRAL_TAPE_SENTENCE = 256 };

/// One recorded operation: its result, how to run it backwards, and what that needs. The operation's values
/// lie right behind the node.
typedef struct corral_node {
    corral_tensor tensor;
    struct corral_node *previous;               // recorded before this one
    void (*backward)(struct corral_node *node); // adds to the gradients of the inputs; NULL for leaves
    corral_tensor *a, *b;                       // inputs; NULL where there is none
    const void *kept[2];                        // memory that backward reads
    double numbers[2];                          // bounds, factors
    uint32_t kind;                              // which of several operations with one backward function
    uint32_t weight, bias;                      // parameter entries
} corral_node;

struct corral_tape {
    corral_arena arena;
    corral_node *last;
    const corral_params *params;
    void *gradients;
    size_t peak_bytes;
    corral_status status;
    bool ran_backward;
    corral_tensor empty; // what operations return after a failure
    char sentence[CORRAL_TAPE_SENTENCE];
};

/// Remembers the first failure and returns the empty tensor.
corral_tensor *corral_tape_fail(corral_tape *tape, corral_status status, const char *format, ...)
    CORRAL_PRINTF(3, 4);

/// True when the operation may go on: no earlier failure, both tensors of one tape and one dtype. `b` may be
/// NULL.
bool corral_tape_ready(const corral_tensor *a, const corral_tensor *b, const char *operation);

/// Appends an operation with room for its result; NULL after a failure. It requires a gradient when `a` or
/// `b` do.
corral_node *corral_tape_append(corral_tape *tape, corral_dtype dtype, uint32_t dimension_count,
                                const size_t *shape, corral_tensor *a, corral_tensor *b);

/// Scratch that lives until the reset, 64-byte aligned; NULL after a failure.
void *corral_tape_scratch(corral_tape *tape, size_t size);

/// Where to add the gradient of `tensor`: zeroed on first use. NULL when it needs none (or there is no
/// memory).
void *corral_tensor_gradient(corral_tensor *tensor);

/// The same, but not zeroed where `*out_is_first` says that nothing was added yet: then all of it must be
/// written.
void *corral_tensor_gradient_unset(corral_tensor *tensor, bool *out_is_first);

/// Where the gradient of a parameter entry is added; NULL when parameters need none.
void *corral_tape_parameter_gradient(const corral_tape *tape, uint32_t index);

/// The weights of a parameter entry.
const void *corral_tape_parameter_data(const corral_tape *tape, uint32_t index);

/// For data that operations only read.
static inline void *corral_unconst(const void *data)
{
    return (void *)(uintptr_t)data;
}

#endif
