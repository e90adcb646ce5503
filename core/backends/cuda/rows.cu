// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Rows and reductions: sums in a fixed order, log softmax with a warp to each row, sampling, and the mean and
// deviation of a minibatch's advantages.

#include "kernels.h"

// --- a sum over everything
// -----------------------------------------------------------------------------------

__global__ void sum_kernel(uint64_t count, const float *x, double *partial)
{
    __shared__ double room[THREADS / WARP];
    const uint64_t chunks = divide_up(count, CORRAL_DEVICE_CHUNK);
    for (uint64_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
        double sum = 0;
        for (uint64_t k = threadIdx.x; k < CORRAL_DEVICE_CHUNK; k += blockDim.x) {
            const uint64_t i = chunk * CORRAL_DEVICE_CHUNK + k;
            sum += i < count ? (double)x[i] : 0;
        }
        sum = block_sum(sum, room);
        if (threadIdx.x == 0) partial[chunk] = sum;
    }
}

__global__ void sum_partials_kernel(uint64_t count, const double *partial, double *out)
{
    __shared__ double room[THREADS / WARP];
    double sum = 0;
    for (uint64_t i = threadIdx.x; i < count; i += blockDim.x)
        sum += partial[i];
    sum = block_sum(sum, room);
    if (threadIdx.x == 0) *out = sum;
}

static void sum(corral_stream *stream, uint64_t count, const float *x, double *partial, double *out)
{
    const uint64_t chunks = divide_up(count, CORRAL_DEVICE_CHUNK);
    if (chunks > 0)
        LAUNCH_TOGETHER(sum_kernel, dim3(blocks_for(chunks, 1)), dim3(THREADS), stream, count, x, partial);
    LAUNCH_TOGETHER(sum_partials_kernel, dim3(1), dim3(THREADS), stream, chunks, partial, out);
}

// --- log softmax
// ---------------------------------------------------------------------------------------------

/// The fold of a warp, known to all its lanes.
__device__ inline float warp_all_sum(float x)
{
    for (int step = WARP / 2; step > 0; step /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, step);
    return x;
}

__device__ inline float warp_all_largest(float x)
{
    for (int step = WARP / 2; step > 0; step /= 2) {
        const float other = __shfl_xor_sync(0xffffffffu, x, step);
        x = other > x ? other : x;
    }
    return x;
}

/// log p = (x - shift) - log_sum, with the largest element as the shift. A row of nothing but -inf stays so.
__global__ void log_softmax_kernel(uint64_t rows, uint64_t n, const float *x, float *y)
{
    const unsigned lane = threadIdx.x % WARP;
    const uint64_t warps = thread_stride() / WARP;
    for (uint64_t r = thread_index() / WARP; r < rows; r += warps) {
        const float *from = x + r * n;
        float shift = -INFINITY, sum = 0;
        for (uint64_t a = lane; a < n; a += WARP)
            shift = from[a] > shift ? from[a] : shift;
        shift = warp_all_largest(shift);
        if (shift == -INFINITY) shift = 0;
        for (uint64_t a = lane; a < n; a += WARP)
            sum += expf(from[a] - shift);
        sum = warp_all_sum(sum);
        const float log_sum = logf(sum == 0 ? 1 : sum);
        for (uint64_t a = lane; a < n; a += WARP)
            y[r * n + a] = (from[a] - shift) - log_sum;
    }
}

/// dx += dy - p sum(dy); an action of probability zero takes no part.
__global__ void log_softmax_gradient_kernel(uint64_t rows, uint64_t n, const float *y,
                                            const float *y_gradient, float *x_gradient)
{
    const unsigned lane = threadIdx.x % WARP;
    const uint64_t warps = thread_stride() / WARP;
    for (uint64_t r = thread_index() / WARP; r < rows; r += warps) {
        const float *log_prob = y + r * n, *g = y_gradient + r * n;
        float sum = 0;
        for (uint64_t a = lane; a < n; a += WARP)
            sum += log_prob[a] == -INFINITY ? 0 : g[a];
        sum = warp_all_sum(sum);
        for (uint64_t a = lane; a < n; a += WARP)
            if (log_prob[a] != -INFINITY) x_gradient[r * n + a] += g[a] - expf(log_prob[a]) * sum;
    }
}

static void log_softmax(corral_stream *stream, uint64_t rows, uint64_t n, const float *x, float *y)
{
    if (rows > 0 && n > 0)
        LAUNCH_TOGETHER(log_softmax_kernel, dim3(blocks_for(rows * WARP, THREADS)), dim3(THREADS), stream,
                        rows, n, x, y);
}

static void log_softmax_gradient(corral_stream *stream, uint64_t rows, uint64_t n, const float *y,
                                 const float *y_gradient, float *x_gradient)
{
    if (rows > 0 && n > 0)
        LAUNCH_TOGETHER(log_softmax_gradient_kernel, dim3(blocks_for(rows * WARP, THREADS)), dim3(THREADS),
                        stream, rows, n, y, y_gradient, x_gradient);
}

// --- sampling
// ------------------------------------------------------------------------------------------------

// As base/rng.c: the value of a stream is a hash of its key and a counter.
__device__ inline uint64_t mix(uint64_t value)
{
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9u;
    value = (value ^ value >> 27) * 0x94D049BB133111EBu;
    return value ^ value >> 31;
}

__device__ inline float stream_float(uint64_t key, uint64_t counter)
{
    const uint64_t bits = mix(key ^ mix(counter + 0x9E3779B97F4A7C15u));
    return (float)(uint32_t)(bits >> 40) * (1.0f / 16777216.0f);
}

/// As corral_categorical_sample(): the action at which the sum of probabilities first passes the draw.
__global__ void sample_kernel(uint64_t rows, uint64_t n, const float *logits, uint64_t key,
                              const corral_device_control *control, int32_t *action, float *log_prob)
{
    for (uint64_t r = thread_index(); r < rows; r += thread_stride()) {
        const float *x = logits + r * n;
        float shift = -INFINITY, sum = 0;
        for (uint64_t a = 0; a < n; a++)
            shift = x[a] > shift ? x[a] : shift;
        if (shift == -INFINITY) shift = 0;
        for (uint64_t a = 0; a < n; a++)
            sum += expf(x[a] - shift);
        const float log_sum = logf(sum == 0 ? 1 : sum), draw = stream_float(key, control->counter + r);
        float cumulative = 0, chosen_log_prob = n == 0 ? 0 : (x[0] - shift) - log_sum;
        int32_t chosen = 0;
        for (uint64_t a = 0; a < n; a++) {
            const float log_p = (x[a] - shift) - log_sum, p = expf(log_p);
            if (cumulative <= draw && p > 0) {
                chosen = (int32_t)a;
                chosen_log_prob = log_p;
            }
            cumulative += p;
        }
        action[r] = chosen;
        log_prob[r] = chosen_log_prob;
    }
}

static void sample(corral_stream *stream, uint64_t rows, uint64_t actions, const float *logits, uint64_t key,
                   const corral_device_control *control, int32_t *action, float *log_prob)
{
    if (rows > 0)
        LAUNCH(sample_kernel, dim3(blocks_for(rows, THREADS)), dim3(THREADS), stream, rows, actions, logits,
               key, control, action, log_prob);
}

// --- mean and deviation of a minibatch's advantages
// ----------------------------------------------------------

/// A block's rows: how many, their mean, and the sum of squared deviations from it.
__global__ void moments_kernel(uint64_t rows, const uint32_t *order, const float *advantage,
                               const corral_device_control *control, double *partial)
{
    __shared__ double room[THREADS / WARP];
    const uint64_t chunks = divide_up(rows, CORRAL_DEVICE_CHUNK);
    for (uint64_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
        const uint64_t first = chunk * CORRAL_DEVICE_CHUNK;
        const uint64_t end = first + CORRAL_DEVICE_CHUNK < rows ? first + CORRAL_DEVICE_CHUNK : rows;
        double sum = 0, squares = 0;
        for (uint64_t i = first + threadIdx.x; i < end; i += blockDim.x)
            sum += (double)advantage[order[control->at + i]];
        const double count = (double)(end - first), mean = block_sum(sum, room) / count;
        for (uint64_t i = first + threadIdx.x; i < end; i += blockDim.x) {
            const double deviation = (double)advantage[order[control->at + i]] - mean;
            squares += deviation * deviation;
        }
        squares = block_sum(squares, room);
        if (threadIdx.x == 0) {
            partial[3 * chunk] = count;
            partial[3 * chunk + 1] = mean;
            partial[3 * chunk + 2] = squares;
        }
    }
}

/// Merges the blocks in their order (Chan, Golub and LeVeque 1979). A single row has no deviation and is left
/// as it is.
__global__ void merge_moments_kernel(uint64_t chunks, const double *partial, corral_device_control *control)
{
    double count = 0, mean = 0, squares = 0;
    for (uint64_t i = 0; i < chunks; i++) {
        const double added = partial[3 * i], shift = partial[3 * i + 1] - mean, total = count + added;
        mean += shift * added / total;
        squares += partial[3 * i + 2] + shift * shift * count * added / total;
        count = total;
    }
    const bool wanted = control->normalize_advantage && count > 1;
    control->advantage_mean = wanted ? mean : 0;
    control->advantage_scale = wanted ? 1.0 / (sqrt(squares / (count - 1)) + 1e-8) : 1;
}

static void advantage_moments(corral_stream *stream, uint64_t rows, const uint32_t *order,
                              const float *advantage, double *partial, corral_device_control *control)
{
    const uint64_t chunks = divide_up(rows, CORRAL_DEVICE_CHUNK);
    if (chunks > 0)
        LAUNCH_TOGETHER(moments_kernel, dim3(blocks_for(chunks, 1)), dim3(THREADS), stream, rows, order,
                        advantage, control, partial);
    LAUNCH(merge_moments_kernel, dim3(1), dim3(1), stream, chunks, partial, control);
}

void corral_cuda_fill_rows(corral_device_table *table)
{
    table->sum = sum;
    table->log_softmax = log_softmax;
    table->log_softmax_gradient = log_softmax_gradient;
    table->sample = sample;
    table->advantage_moments = advantage_moments;
}
