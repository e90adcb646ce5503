// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Private to proto: size and checksum of a file of any size, read in pieces.
#ifndef CORRAL_PROTO_FILE_SUM_H
#define CORRAL_PROTO_FILE_SUM_H

#include "corral/base/status.h"

#include <stdint.h>

typedef struct corral_file_sum {
    uint64_t size;
    uint64_t checksum; // 64-bit XXH3
} corral_file_sum;

/// Sums the regular file `name` in the folder that the descriptor `folder` is open on. A link is refused.
/// `shown` is what messages call the folder. CORRAL_ERROR_NOT_FOUND where there is no such file.
CORRAL_MUST_USE corral_status corral_file_sum_of(int folder, const char *shown, const char *name,
                                                 corral_file_sum *out_sum);

/// The same, and flushes the file to the disk first.
CORRAL_MUST_USE corral_status corral_file_sum_and_sync(int folder, const char *shown, const char *name,
                                                       corral_file_sum *out_sum);

#endif
