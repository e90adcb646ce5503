// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "corral/base/file.h"

#include <xxhash.h>

uint64_t corral_checksum(const void *bytes, size_t size)
{
    return XXH3_64bits(bytes, size);
}
