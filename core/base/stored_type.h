// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Private to core/base: what reading and writing of safetensors files share.
#ifndef CORRAL_BASE_STORED_TYPE_H
#define CORRAL_BASE_STORED_TYPE_H

#include "corral/base/safetensors.h"

#include <stdbool.h>

enum { CORRAL_STORED_TYPE_COUNT = CORRAL_STORED_U8 + 1 };

typedef struct corral_stored_type_info {
    const char *name; // in the file
    size_t size;      // bytes of an element
} corral_stored_type_info;

extern const corral_stored_type_info corral_stored_types[CORRAL_STORED_TYPE_COUNT];

/// The bytes that a tensor of this type and shape takes. False when they do not fit 64 bits.
bool corral_stored_size(corral_stored_type type, const uint64_t *shape, uint32_t dimension_count,
                        uint64_t *out_size);

/// Sorts `names` and gives the first that is there twice, or NULL.
const char *corral_repeated_name(const char **names, size_t count);

#endif
