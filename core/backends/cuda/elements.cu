// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Kernels whose elements are computed one by one: what follows a product, conversions, the observation
// filter, the rows of a minibatch. All are bound by memory: each reads and writes its data once.

#include "kernels.h"

// --- bias and activation
// -------------------------------------------------------------------------------------

template <int ACTIVATION> __device__ inline float activate(float x)
{
    if (ACTIVATION == ACTIVATION_TANH) return tanhf(x);
    if (ACTIVATION == ACTIVATION_RELU) return x > 0 || x != x ? x : 0; // NaN must not get lost
    return x;
}

template <int ACTIVATION>
__global__ void bias_activation_kernel(uint64_t rows, uint64_t width, const float *bias, float *y,
                                       corral_bf16 *half)
{
    const uint64_t column = thread_index();
    if (column >= width) return;
    const float b = bias[column];
    for (uint64_t r = (uint64_t)blockIdx.y * blockDim.y + threadIdx.y; r < rows;
         r += (uint64_t)gridDim.y * blockDim.y) {
        const float value = activate<ACTIVATION>(y[r * width + column] + b);
        y[r * width + column] = value;
        if (half != NULL) half[r * width + column] = to_half_bits(value);
    }
}

static void bias_activation(corral_stream *stream, uint64_t rows, uint64_t width, int activation,
                            const float *bias, float *y, corral_bf16 *half)
{
    if (rows == 0 || width == 0) return;
    const tile t = tile_rows(rows, width, 16);
    if (activation == ACTIVATION_TANH)
        LAUNCH(bias_activation_kernel<ACTIVATION_TANH>, t.blocks, t.threads, stream, rows, width, bias, y,
               half);
    else if (activation == ACTIVATION_RELU)
        LAUNCH(bias_activation_kernel<ACTIVATION_RELU>, t.blocks, t.threads, stream, rows, width, bias, y,
               half);
    else
        LAUNCH(bias_activation_kernel<ACTIVATION_LINEAR>, t.blocks, t.threads, stream, rows, width, bias, y,
               half);
}

// --- the way back
// --------------------------------------------------------------------------------------------

template <int ACTIVATION> __device__ inline float slope(float y)
{
    if (ACTIVATION == ACTIVATION_TANH) return 1 - y * y;
    if (ACTIVATION == ACTIVATION_RELU) return y > 0 ? 1 : 0;
    return 1;
}

/// A block takes CORRAL_DEVICE_BIAS_ROWS rows of its columns. Its threads below each other add up every
/// blockDim.y-th row, and then fold in a tree.
template <int ACTIVATION>
__global__ void activation_gradient_kernel(uint64_t rows, uint64_t width, const float *y, float *gradient,
                                           corral_bf16 *half, float *partial)
{
    __shared__ float sums[THREADS];
    const uint64_t column = thread_index(), chunks = divide_up(rows, CORRAL_DEVICE_BIAS_ROWS);
    const unsigned place = threadIdx.y * blockDim.x + threadIdx.x;
    for (uint64_t chunk = blockIdx.y; chunk < chunks; chunk += gridDim.y) {
        const uint64_t first = chunk * CORRAL_DEVICE_BIAS_ROWS;
        const uint64_t end = first + CORRAL_DEVICE_BIAS_ROWS < rows ? first + CORRAL_DEVICE_BIAS_ROWS : rows;
        float sum = 0;
        for (uint64_t r = first + threadIdx.y; r < end && column < width; r += blockDim.y) {
            const uint64_t i = r * width + column;
            // A gradient of exactly 0 stays 0 whatever the slope is.
            const float g = gradient[i] == 0 ? 0 : gradient[i] * slope<ACTIVATION>(y[i]);
            gradient[i] = g;
            if (half != NULL) half[i] = to_half_bits(g);
            sum += g;
        }
        sums[place] = sum;
        __syncthreads();
        for (unsigned step = blockDim.y / 2; step > 0; step /= 2) {
            if (threadIdx.y < step) sums[place] += sums[place + step * blockDim.x];
            __syncthreads();
        }
        if (threadIdx.y == 0 && column < width) partial[chunk * width + column] = sums[place];
        __syncthreads();
    }
}

__global__ void column_sum_kernel(uint64_t chunks, uint64_t width, const float *partial, float *out)
{
    const uint64_t column = thread_index();
    if (column >= width) return;
    float sum = 0;
    for (uint64_t i = 0; i < chunks; i++)
        sum += partial[i * width + column];
    out[column] = sum;
}

static void activation_gradient(corral_stream *stream, uint64_t rows, uint64_t width, int activation,
                                const float *y, float *gradient, corral_bf16 *half, float *partial,
                                float *bias_gradient)
{
    if (width == 0) return;
    const tile t = tile_rows(rows, width, CORRAL_DEVICE_BIAS_ROWS);
    if (rows == 0) {
    } else if (activation == ACTIVATION_TANH)
        LAUNCH_TOGETHER(activation_gradient_kernel<ACTIVATION_TANH>, t.blocks, t.threads, stream, rows, width,
                        y, gradient, half, partial);
    else if (activation == ACTIVATION_RELU)
        LAUNCH_TOGETHER(activation_gradient_kernel<ACTIVATION_RELU>, t.blocks, t.threads, stream, rows, width,
                        y, gradient, half, partial);
    else
        LAUNCH_TOGETHER(activation_gradient_kernel<ACTIVATION_LINEAR>, t.blocks, t.threads, stream, rows,
                        width, y, gradient, half, partial);
    LAUNCH(column_sum_kernel, dim3(blocks_for(width, WARP)), dim3(WARP), stream,
           divide_up(rows, CORRAL_DEVICE_BIAS_ROWS), width, partial, bias_gradient);
}

// --- conversions, and a step from one block towards another
// --------------------------------------------------

__global__ void to_bf16_kernel(uint64_t count, const float *from, corral_bf16 *to)
{
    for (uint64_t i = thread_index(); i < count; i += thread_stride())
        to[i] = to_half_bits(from[i]);
}

static void to_bf16(corral_stream *stream, uint64_t count, const float *from, corral_bf16 *to)
{
    if (count > 0)
        LAUNCH(to_bf16_kernel, dim3(blocks_for(count, THREADS)), dim3(THREADS), stream, count, from, to);
}

__global__ void blend_kernel(uint64_t count, float tau, const float *from, float *to)
{
    for (uint64_t i = thread_index(); i < count; i += thread_stride())
        to[i] = tau == 1 ? from[i] : to[i] + tau * (from[i] - to[i]);
}

static void blend(corral_stream *stream, uint64_t count, float tau, const float *from, float *to)
{
    if (count > 0)
        LAUNCH(blend_kernel, dim3(blocks_for(count, THREADS)), dim3(THREADS), stream, count, tau, from, to);
}

// --- the observation filter
// ----------------------------------------------------------------------------------

/// In f64, as policy's filter: the same bits.
__global__ void filter_kernel(uint64_t rows, uint64_t width, const float *x, const double *mean,
                              const double *inverse, double clip, float *out)
{
    const uint64_t column = thread_index();
    if (column >= width) return;
    const double m = mean[column], f = inverse[column];
    for (uint64_t r = (uint64_t)blockIdx.y * blockDim.y + threadIdx.y; r < rows;
         r += (uint64_t)gridDim.y * blockDim.y) {
        const double value = ((double)x[r * width + column] - m) * f;
        out[r * width + column] = (float)fmin(fmax(value, -clip), clip);
    }
}

static void filter(corral_stream *stream, uint64_t rows, uint64_t width, const float *x, const double *mean,
                   const double *inverse, double clip, float *out)
{
    if (rows == 0 || width == 0) return;
    const tile t = tile_rows(rows, width, 16);
    LAUNCH(filter_kernel, t.blocks, t.threads, stream, rows, width, x, mean, inverse, clip, out);
}

// --- the rows of a minibatch
// ---------------------------------------------------------------------------------

__device__ inline void gather_scalars(const corral_device_gather &g, const corral_device_control *control,
                                      uint64_t row, uint64_t to)
{
    if (g.action != NULL) g.out_action[to] = g.action[row];
    if (g.log_prob != NULL) g.out_log_prob[to] = g.log_prob[row];
    if (g.value != NULL) g.out_value[to] = g.value[row];
    if (g.target != NULL) g.out_target[to] = g.target[row];
    if (g.advantage != NULL)
        g.out_advantage[to] =
            (g.advantage[row] - (float)control->advantage_mean) * (float)control->advantage_scale;
    for (uint64_t a = 0; g.log_probs != NULL && a < g.actions; a++)
        g.out_log_probs[to * g.actions + a] = g.log_probs[row * g.actions + a];
}

__global__ void gather_kernel(corral_device_gather g, const corral_device_control *control)
{
    const uint64_t column = thread_index();
    for (uint64_t r = (uint64_t)blockIdx.y * blockDim.y + threadIdx.y; r < g.rows;
         r += (uint64_t)gridDim.y * blockDim.y) {
        const uint64_t row = g.order[control->at + r];
        if (column == 0) gather_scalars(g, control, row, r);
        if (column >= g.width) continue;
        const float value = g.observation[row * g.width + column];
        if (g.out_observation != NULL) g.out_observation[r * g.width + column] = value;
        if (g.out_observation_half != NULL)
            g.out_observation_half[r * g.width + column] = to_half_bits(value);
    }
}

static void gather(corral_stream *stream, const corral_device_gather *g, const corral_device_control *control)
{
    if (g->rows == 0) return;
    const tile t = tile_rows(g->rows, g->width == 0 ? 1 : g->width, 0);
    LAUNCH(gather_kernel, t.blocks, t.threads, stream, *g, control);
}

void corral_cuda_fill_elements(corral_device_table *table)
{
    table->bias_activation = bias_activation;
    table->activation_gradient = activation_gradient;
    table->to_bf16 = to_bf16;
    table->blend = blend;
    table->filter = filter;
    table->gather = gather;
}
