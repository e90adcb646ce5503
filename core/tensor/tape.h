// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The inside of the tape: what an operation needs to append itself, and to run backwards. See autograd.md.
#ifndef CORRAL_CORE_TENSOR_TAPE_H
#define CORRAL_CORE_TENSOR_TAPE_H

#include "corral/base/arena.h"
#include "corral/core/autograd.h"
#include "corral/core/precision.h"
#include "corral/core/tensor.h"

enum { CORRAL_TAPE_SENTENCE = 256 };

/// One recorded operation: its result, how to run it backwards, and what that needs. The operation's values
/// lie right behind the node.
typedef struct corral_node {
    corral_tensor tensor;
    struct corral_node *previous;               // recorded before this one
    void (*forward)(struct corral_node *node);  // computes the values anew; NULL: cannot be replayed
    void (*backward)(struct corral_node *node); // adds to the gradients of the inputs; NULL for leaves
    corral_tensor *a, *b;                       // inputs; NULL where there is none
    const void *kept[2];                        // memory that backward reads
    double numbers[2];                          // bounds, factors
    const char *name;                           // "linear"
    struct corral_hook *hooks;                  // NULL: none
    struct corral_node *owner;                  // of the values, where they are another's; NULL: this node
    uint32_t version;                           // counts the writes to the values; of an owner
    uint32_t a_version, b_version;              // what the inputs' were when this was recorded
    uint32_t kind;                              // which of several operations with one backward function
    uint32_t weight, bias;                      // parameter entries
} corral_node;

typedef struct corral_hook {
    struct corral_hook *next;
    corral_gradient_hook *run;
    void *context;
} corral_hook;

struct corral_tape_watch; // watch.h

struct corral_tape {
    corral_arena arena;
    corral_node *last;
    const corral_params *params;
    void *gradients;
    corral_status status;
    uint32_t generation;             // counts resets
    uint64_t params_version;         // when the recording began
    corral_half autocast;            // what products round their operands to
    bool no_grad;                    // what is recorded now needs no gradient
    bool ran_backward, ended;        // ended: by a backward that did not retain
    const char *operation;           // whose turn it is
    struct corral_tape_watch *watch; // NULL: nothing is watched
    struct corral_tape *segment;     // where a checkpointed segment is recorded; made on first use
    corral_tensor empty;             // what operations return after a failure
    char sentence[CORRAL_TAPE_SENTENCE];
};

/// Remembers the first failure and returns the empty tensor.
corral_tensor *corral_tape_fail(corral_tape *tape, corral_status status, const char *format, ...)
    CORRAL_PRINTF(3, 4);

/// True when the operation may go on: no earlier failure, both tensors of one tape, one recording and one
/// dtype. `b` may be NULL. `operation` is what messages and reports call it: a string that stays.
bool corral_tape_ready(const corral_tensor *a, const corral_tensor *b, const char *operation);

/// Appends an operation with room for its result; NULL after a failure. It requires a gradient when `a` or
/// `b` do. Set `forward` and call it, or compute at once, in which case it cannot be replayed.
corral_node *corral_tape_append(corral_tape *tape, corral_dtype dtype, uint32_t dimension_count,
                                const size_t *shape, corral_tensor *a, corral_tensor *b);

/// The operation has one more input than `a` and `b`; NULL is none.
void corral_node_reads(corral_node *node, const corral_tensor *input);
/// The operation reads parameters, so that its result requires a gradient where they do.
void corral_node_uses_parameters(corral_node *node);

/// A tensor of values that lie elsewhere. The empty tensor after a failure.
corral_tensor *corral_tape_refer(corral_tape *tape, corral_dtype dtype, uint32_t dimension_count,
                                 const size_t *shape, const void *data);

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

/// What corral_parameter() calls its nodes.
extern const char corral_parameter_name[];

/// The walk of corral_backward_with() alone, without its checks.
void corral_tape_walk_back(corral_tensor *start, const void *gradient);

/// The node whose result a tensor is, and the one that owns its values.
static inline corral_node *corral_node_of(const corral_tensor *tensor)
{
    return (corral_node *)(uintptr_t)tensor;
}

static inline corral_node *corral_owner_of(const corral_tensor *tensor)
{
    corral_node *node = corral_node_of(tensor);
    return node->owner != NULL ? node->owner : node;
}

/// For data that operations only read.
static inline void *corral_unconst(const void *data)
{
    return (void *)(uintptr_t)data;
}

#endif
