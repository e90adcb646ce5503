// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What every .cu file begins with. nvcc compiles them for GPUs; a C++ compiler compiles the same files for
/// the CPU, with shim/shim.h in the place of CUDA's headers. So kernels are launched through two macros:
///
///     LAUNCH(kernel, blocks, threads, stream, ...)            threads that do not speak to each other
///     LAUNCH_TOGETHER(kernel, blocks, threads, stream, ...)   a block's threads meet: barriers, shuffles
///
/// On a GPU they are the same. The shim calls the threads of the first kind one after the other, and fails
/// where one of them waits; those of the second kind are coroutines.
///
/// Sums have a fixed order everywhere: each thread adds its own elements, a warp and then the block fold in a
/// tree, and a block's result goes to its place in memory, where one more kernel adds them up. No atomics.
#ifndef CORRAL_CUDA_KERNEL_H
#define CORRAL_CUDA_KERNEL_H

#include "device/table.h"

#include <float.h>
#include <math.h>

#ifdef __CUDACC__
#include <cuda_runtime.h>
extern "C" void corral_cuda_launched(void); // remembers what went wrong
#define LAUNCH(kernel, blocks, threads, stream, ...)                                                         \
    do {                                                                                                     \
        kernel<<<(blocks), (threads), 0, (cudaStream_t)(stream)>>>(__VA_ARGS__);                             \
        corral_cuda_launched();                                                                              \
    } while (0)
#define LAUNCH_TOGETHER LAUNCH
#else
#include "shim/shim.h"
#endif

enum { WARP = 32, THREADS = 256, ACTIVATION_LINEAR = 0, ACTIVATION_TANH = 1, ACTIVATION_RELU = 2 };

__host__ __device__ static inline uint64_t divide_up(uint64_t count, uint64_t by)
{
    return (count + by - 1) / by;
}

/// Blocks of a launch over `count` elements whose threads go on with a stride: enough for any device, and
/// never more than a grid may have.
static inline unsigned blocks_for(uint64_t count, unsigned per_block)
{
    const uint64_t blocks = divide_up(count, per_block), most = 1u << 16;
    return (unsigned)(blocks == 0 ? 1 : blocks < most ? blocks : most);
}

/// How a block covers rows of `width` elements so that neighbouring threads touch neighbouring memory.
struct tile {
    dim3 threads, blocks;
};

static inline tile tile_rows(uint64_t rows, uint64_t width, unsigned rows_of_block)
{
    unsigned across = 1;
    while (across < width && across < THREADS)
        across *= 2;
    tile t;
    t.threads = dim3(across, THREADS / across, 1);
    const uint64_t down = divide_up(rows, rows_of_block > t.threads.y ? rows_of_block : t.threads.y);
    t.blocks = dim3((unsigned)divide_up(width, across), (unsigned)(down < 65535 ? down : 65535), 1);
    return t;
}

__device__ inline uint64_t thread_index()
{
    return (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

__device__ inline uint64_t thread_stride()
{
    return (uint64_t)gridDim.x * blockDim.x;
}

// --- bf16: the upper half of a float, rounded to the nearest, to even where two are equally near
// ------------

__device__ inline uint16_t to_half_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (x != x) return (uint16_t)(bits >> 16 | 0x40); // stays NaN
    bits += 0x7fff + (bits >> 16 & 1);
    return (uint16_t)(bits >> 16);
}

// --- folding a block
// ----------------------------------------------------------------------------------------

/// Of a warp: complete in its first lane.
__device__ inline double warp_sum(double x)
{
    for (int step = WARP / 2; step > 0; step /= 2)
        x += __shfl_down_sync(0xffffffffu, x, step);
    return x;
}

__device__ inline double warp_largest(double x)
{
    for (int step = WARP / 2; step > 0; step /= 2) {
        const double other = __shfl_down_sync(0xffffffffu, x, step);
        x = other > x ? other : x;
    }
    return x;
}

/// Of all threads of a block of whole warps, at most 1024: the same in each of them. `room` is a double of
/// shared memory per warp.
__device__ inline double block_sum(double x, double *room)
{
    const unsigned thread = threadIdx.x, warps = blockDim.x / WARP;
    x = warp_sum(x);
    __syncthreads(); // whoever still reads `room` of an earlier call
    if (thread % WARP == 0) room[thread / WARP] = x;
    __syncthreads();
    double total = 0;
    for (unsigned i = 0; i < warps; i++)
        total += room[i];
    return total;
}

__device__ inline double block_largest(double x, double *room)
{
    const unsigned thread = threadIdx.x, warps = blockDim.x / WARP;
    x = warp_largest(x);
    __syncthreads();
    if (thread % WARP == 0) room[thread / WARP] = x;
    __syncthreads();
    double largest = room[0];
    for (unsigned i = 1; i < warps; i++)
        largest = room[i] > largest ? room[i] : largest;
    return largest;
}

#endif
