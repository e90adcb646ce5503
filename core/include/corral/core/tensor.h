// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Tensors, and the tape that records what is done to them.
///
/// Define by run: each operation computes at once and appends a node to a tape. Nodes, values and gradients
/// are bump-allocated from the tape's arena; backward walks the nodes in reverse, which is a topological
/// order by construction. A reset forgets everything at once.
///
/// Errors are sticky: the first failed operation (a shape that does not fit, no memory) is remembered with
/// its sentence; later operations on that tape do nothing and return a valid empty tensor, so that thirty
/// operations in a row need one check, corral_tape_status().
///
/// A tape belongs to one thread at a time. Several tapes may read the same parameters at the same time.
#ifndef CORRAL_CORE_TENSOR_H
#define CORRAL_CORE_TENSOR_H

#include "corral/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum corral_dtype {
    CORRAL_F32,
    CORRAL_F64,
    CORRAL_DTYPE_COUNT,
} corral_dtype;

size_t corral_dtype_size(corral_dtype dtype);

enum { CORRAL_MAX_DIMENSIONS = 4 };

typedef struct corral_tape corral_tape;

/// A dense, row-major value on a tape. Read its fields; only operations write them. Valid until the tape's
/// next reset.
typedef struct corral_tensor {
    corral_tape *tape;
    void *data; // [shape]
    void *grad; // [shape] of variables after backward; of results in between it is scratch. NULL: needs none
    corral_dtype dtype;
    uint32_t dimension_count;
    size_t shape[CORRAL_MAX_DIMENSIONS];
    bool requires_grad;
    uint32_t generation; // of the tape's recording
} corral_tensor;

size_t corral_tensor_count(const corral_tensor *tensor);

// --- parameters -------------------------------------------------------------------------------------------

/// Named weights in one flat block, in the order in which they were added. Each entry starts at a multiple of
/// 64 bytes; the padding between them is always zero. Gradients and optimizer state have the same layout.
typedef struct corral_params corral_params;

typedef struct corral_param {
    const char *name; // "actor.0.weight"
    uint32_t dimension_count;
    size_t shape[CORRAL_MAX_DIMENSIONS];
    size_t offset, count; // in elements of the flat block
} corral_param;

CORRAL_MUST_USE corral_status corral_params_create(corral_dtype dtype, corral_params **out_params);
void corral_params_destroy(corral_params *params);

/// Adds an entry and writes its index. Linear weights are [out, in], as in PyTorch; biases are [out].
/// Not after corral_params_seal().
CORRAL_MUST_USE corral_status corral_params_add(corral_params *params, const char *name,
                                                uint32_t dimension_count, const size_t *shape,
                                                uint32_t *out_index);
/// Allocates the block, all zero. The set of entries is fixed from here on.
CORRAL_MUST_USE corral_status corral_params_seal(corral_params *params);

uint32_t corral_params_entry_count(const corral_params *params);
const corral_param *corral_params_entry(const corral_params *params, uint32_t index);
corral_dtype corral_params_dtype(const corral_params *params);
/// The flat block: `corral_params_count()` elements, 64-byte aligned. After writing to it, call refresh.
void *corral_params_data(corral_params *params);
const void *corral_params_data_const(const corral_params *params);
size_t corral_params_count(const corral_params *params);

/// Elements first .. first+count-1 of the flat block.
typedef struct corral_span {
    size_t first, count;
} corral_span;

/// Brings what is derived from the weights (matrices packed for the kernels) up to date. Call after every
/// write to the block and before the next operation that uses it; the optimizers do so themselves.
void corral_params_refresh(corral_params *params);

// --- the tape ---------------------------------------------------------------------------------------------

CORRAL_MUST_USE corral_status corral_tape_create(corral_tape **out_tape);
void corral_tape_destroy(corral_tape *tape);

/// Forgets all tensors and the error, keeps the memory. `params` (may be NULL) are what corral_linear() and
/// corral_parameter() refer to until the next reset; `gradients`, in the layout of `params`, is where
/// backward *adds* their gradients (NULL: parameters need no gradient, as under no_grad).
void corral_tape_reset(corral_tape *tape, const corral_params *params, void *gradients);

/// The first failure since the reset; its sentence is put into corral_last_error() again.
corral_status corral_tape_status(corral_tape *tape);

/// Bytes of arena used by the largest step so far.
size_t corral_tape_peak_bytes(const corral_tape *tape);

/// Runs the recorded operations backwards from a tensor of one element, whose gradient starts as 1.
/// Gradients of parameters are added to the block given at reset; gradients of inputs are in `grad`.
/// A second backward on the same recording fails with a sentence, and so does one after the parameters have
/// changed. autograd.h has more: graphs that are kept, hooks, checkpointing, custom operations, anomalies.
CORRAL_MUST_USE corral_status corral_backward(corral_tensor *loss);

// --- tensors from outside ---------------------------------------------------------------------------------

/// Refers to memory of the caller, which must stay unchanged until the reset. No gradient.
corral_tensor *corral_input(corral_tape *tape, corral_dtype dtype, uint32_t dimension_count,
                            const size_t *shape, const void *data);
/// The same, with a gradient (for checks, and for saliency).
corral_tensor *corral_variable(corral_tape *tape, corral_dtype dtype, uint32_t dimension_count,
                               const size_t *shape, const void *data);
/// An entry of the tape's parameters as a tensor.
corral_tensor *corral_parameter(corral_tape *tape, uint32_t index);
/// One element.
corral_tensor *corral_constant(corral_tape *tape, corral_dtype dtype, double value);
/// The same values, cut off from the graph.
corral_tensor *corral_detach(corral_tensor *x);

#ifdef __cplusplus
}
#endif
#endif
