// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Tensors in a file, in the safetensors format: u64 length, a JSON table, the data.
///
/// Reading trusts nothing: every offset, shape and length is checked against the file's size, the data must
/// be covered without holes or overlaps, duplicate names are refused. Writing is atomic and aligned to 64.
#ifndef CORRAL_BASE_SAFETENSORS_H
#define CORRAL_BASE_SAFETENSORS_H

#include "corral/base/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CORRAL_SAFETENSORS_DIMENSIONS = 8 };

typedef enum corral_stored_type {
    CORRAL_STORED_F32,
    CORRAL_STORED_F64,
    CORRAL_STORED_I64,
    CORRAL_STORED_I32,
    CORRAL_STORED_U8,
} corral_stored_type;

typedef struct corral_stored_tensor {
    const char *name;
    corral_stored_type type;
    uint32_t dimension_count;
    uint64_t shape[CORRAL_SAFETENSORS_DIMENSIONS];
    const void *data; // row-major, little endian
    size_t size;      // bytes
} corral_stored_tensor;

/// A file in memory.
typedef struct corral_safetensors corral_safetensors;

CORRAL_MUST_USE corral_status corral_safetensors_read(const char *path, corral_safetensors **out_file);
/// From memory, which is copied. `name` is what messages call it.
CORRAL_MUST_USE corral_status corral_safetensors_parse(const char *name, const void *bytes, size_t size,
                                                       corral_safetensors **out_file);
size_t corral_safetensors_count(const corral_safetensors *file);
/// Valid while the file is. In the file's order.
const corral_stored_tensor *corral_safetensors_at(const corral_safetensors *file, size_t index);
/// NULL when there is none of this name.
const corral_stored_tensor *corral_safetensors_find(const corral_safetensors *file, const char *name);
/// A value of `__metadata__`, or NULL.
const char *corral_safetensors_metadata(const corral_safetensors *file, const char *key);
void corral_safetensors_destroy(corral_safetensors *file);

/// `metadata` is key, value, key, value, ..., NULL; or NULL for none. The same input gives the same bytes.
CORRAL_MUST_USE corral_status corral_safetensors_write(const char *path, const corral_stored_tensor *tensors,
                                                       size_t count, const char *const *metadata);

#ifdef __cplusplus
}
#endif
#endif
