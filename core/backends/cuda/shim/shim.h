// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// CUDA's language for a C++ compiler and a CPU: what the .cu files use of it and no more.
///
/// A kernel is an ordinary function; threadIdx and its like are variables that the launcher sets before it
/// calls it. Threads of a block that meet are coroutines (coroutine.h): a barrier gives up the CPU until all
/// have come. Shared memory is static memory, since one block runs at a time. Arguments are copied when a
/// kernel is launched, so that a recorded launch is played with what it was given.
#ifndef CORRAL_CUDA_SHIM_H
#define CORRAL_CUDA_SHIM_H

#include "device/table.h"

#include <string.h>

#define __global__ static
#define __device__
#define __host__
#define __shared__ static

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_)
    {
    }
};

extern "C" {

struct shim_place {
    unsigned x, y, z;
};
extern struct shim_place threadIdx, blockIdx, blockDim, gridDim;

/// Waits for the whole block; the other for the warp, and returns what its lane `source` brought.
void __syncthreads(void);
uint64_t shim_exchange(uint64_t bits, unsigned source);
unsigned shim_lane(void);

void shim_submit_grid(corral_stream *stream, const char *kernel, struct shim_place blocks,
                      struct shim_place threads, bool together, void (*call)(const void *closure),
                      const void *closure, size_t size);
}

template <class T> T shim_shuffle(T value, unsigned source)
{
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    bits = shim_exchange(bits, source < 32 ? source : shim_lane());
    memcpy(&value, &bits, sizeof value);
    return value;
}

template <class T> T __shfl_down_sync(unsigned, T value, unsigned step)
{
    return shim_shuffle(value, shim_lane() + step);
}

template <class T> T __shfl_xor_sync(unsigned, T value, unsigned mask)
{
    return shim_shuffle(value, shim_lane() ^ mask);
}

template <class KERNEL, class... ARGUMENTS>
void shim_launch(corral_stream *stream, const char *name, dim3 blocks, dim3 threads, bool together,
                 KERNEL kernel, ARGUMENTS... arguments)
{
    const auto closure = [=] { kernel(arguments...); };
    typedef decltype(closure) closure_type;
    const shim_place grid = {blocks.x, blocks.y, blocks.z}, block = {threads.x, threads.y, threads.z};
    shim_submit_grid(
        stream, name, grid, block, together, [](const void *c) { (*static_cast<closure_type *>(c))(); },
        &closure, sizeof closure);
}

#define LAUNCH(kernel, blocks, threads, stream, ...)                                                         \
    shim_launch(stream, #kernel, blocks, threads, false, kernel, __VA_ARGS__)
#define LAUNCH_TOGETHER(kernel, blocks, threads, stream, ...)                                                \
    shim_launch(stream, #kernel, blocks, threads, true, kernel, __VA_ARGS__)

#endif
