// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What the engine itself may see of a parameter block: the packed forms of its matrices.
#ifndef CORRAL_CORE_TENSOR_PARAMS_H
#define CORRAL_CORE_TENSOR_PARAMS_H

#include "corral/core/tensor.h"

struct corral_params {
    corral_dtype dtype;
    bool sealed;
    uint32_t entry_count, capacity;
    corral_param *entries;
    size_t count;     // elements of the flat block, padding included
    void *data;       // [count]
    uint64_t version; // counts the changes of the data

    // f32 matrices are kept packed beside their plain form; see corral_backend.pack.
    size_t *packed_offsets; // [entry_count], in floats; unused for vectors
    float *packed;
};

/// The packed form of a matrix. Only for f32 entries of two dimensions.
const float *corral_params_packed(const corral_params *params, uint32_t index);

/// Whether the entry has a packed form.
bool corral_params_is_packed(const corral_params *params, uint32_t index);

/// Refreshes the packed form of some rows of such an entry alone, so that the work can be spread over
/// threads. [any thread, different rows]
void corral_params_refresh_rows(corral_params *params, uint32_t index, size_t first_row, size_t row_count);

#endif
