// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// DLPack: tensors in and out without a copy, as PyTorch, NumPy and JAX hand them to each other. The structs
/// are those of DLPack's version 0.8 (`DLManagedTensor`, what a capsule named "dltensor" holds), under names
/// of our own.
#ifndef CORRAL_CORE_DLPACK_H
#define CORRAL_CORE_DLPACK_H

#include "corral/core/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CORRAL_DL_CPU = 1, CORRAL_DL_INT = 0, CORRAL_DL_UINT = 1, CORRAL_DL_FLOAT = 2, CORRAL_DL_BFLOAT = 4 };

typedef struct corral_dl_tensor {
    void *data;
    struct {
        int32_t type, id;
    } device;
    int32_t dimension_count;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } dtype;
    int64_t *shape;
    int64_t *strides; // in elements; NULL: row-major
    uint64_t byte_offset;
} corral_dl_tensor;

typedef struct corral_dl_managed {
    corral_dl_tensor tensor;
    void *context;
    void (*deleter)(struct corral_dl_managed *self); // of whoever has it last; NULL: nothing to do
} corral_dl_managed;

/// A view of an entry of the parameters, to be read or written by others (then call corral_params_refresh()).
/// The block must outlive it. End it with its deleter.
CORRAL_MUST_USE corral_status corral_dl_export_param(corral_params *params, uint32_t index,
                                                     corral_dl_managed **out_managed);
/// A copy of a tensor's values, which outlives its tape.
CORRAL_MUST_USE corral_status corral_dl_export(const corral_tensor *tensor, corral_dl_managed **out_managed);

/// A tensor of others as an input of the tape: f32 or f64 in this machine's memory. Row-major values are used
/// where they lie, so that they must stay until the reset; others, and f16, bf16 and integers, are copied
/// (these to f32). The caller ends `managed` with its deleter after the reset.
corral_tensor *corral_dl_import(corral_tape *tape, const corral_dl_managed *managed);

#ifdef __cplusplus
}
#endif
#endif
