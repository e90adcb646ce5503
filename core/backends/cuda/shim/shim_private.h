// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What the C files of the shim share. The shim belongs to one thread at a time.
#ifndef CORRAL_CUDA_SHIM_PRIVATE_H
#define CORRAL_CUDA_SHIM_PRIVATE_H

#include "device/table.h"

struct shim_place {
    unsigned x, y, z;
};
extern struct shim_place threadIdx, blockIdx, blockDim, gridDim;

/// Does run(argument), or, while the stream is recorded, keeps it with a copy of the `size` bytes.
void shim_submit(corral_stream *stream, void (*run)(const void *argument), const void *argument, size_t size);

void __syncthreads(void);
uint64_t shim_exchange(uint64_t bits, unsigned source);
unsigned shim_lane(void);
void shim_submit_grid(corral_stream *stream, const char *kernel, struct shim_place blocks,
                      struct shim_place threads, bool together, void (*call)(const void *closure),
                      const void *closure, size_t size);
/// Frees the stacks of threads.
void shim_grid_finish(void);

// The sums over groups of the seam.
bool shim_reduce_id(void *out_id);
corral_reduce_group *shim_reduce_create(const void *id, uint32_t rank, uint32_t count);
void shim_reduce_destroy(corral_reduce_group *group);
void shim_all_reduce(corral_reduce_group *group, corral_stream *stream, float *values, size_t count);

/// The matrix product, in plain loops.
void shim_product(const corral_product *product);

#endif
