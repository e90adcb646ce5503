// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What the C files of the plug-in share.
#ifndef CORRAL_CUDA_SEAM_H
#define CORRAL_CUDA_SEAM_H

#include "device/table.h"

#include <cuda_runtime_api.h>

/// Remembers the first failure since the library was opened; wait() tells it. `what` was being done.
void corral_cuda_note(cudaError_t error, const char *what);
void corral_cuda_note_text(const char *what, const char *why);
const char *corral_cuda_failure(void); // NULL: none

/// Opens the first of `names` (ended by NULL) that there is: beside CUDA's other libraries as the loader
/// finds them. NULL, and a note, where there is none.
void *corral_cuda_open_library(const char *const *names);

// products.c
void corral_cuda_product(corral_stream *stream, const corral_product *product);
// reduce.c
bool corral_cuda_reduce_id(void *out_id);
corral_reduce_group *corral_cuda_reduce_create(const void *id, uint32_t rank, uint32_t count);
void corral_cuda_reduce_destroy(corral_reduce_group *group);
void corral_cuda_all_reduce(corral_reduce_group *group, corral_stream *stream, float *values, size_t count);

#endif
