// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The end of a minibatch, in three kernels over flat blocks: the squares of the gradient by chunks; one block
// that decides (norm, clipping, loss scale, Adam's corrections, sums of the loss, the next minibatch's
// place); Adam in one pass. Everything that the decision needs and leaves is in the control block, so that
// the host reads nothing between two minibatches.
//
// A norm that is not finite moves nothing: neither weights nor moments nor the step. Where the loss is
// scaled, the scale is halved then, never below 1, and doubled after 2000 steps without.

#include "kernels.h"

enum { STEADY_STEPS = 2000 };

__global__ void squares_kernel(uint64_t count, const float *gradient, double *squares)
{
    __shared__ double room[THREADS / WARP];
    const uint64_t chunks = divide_up(count, CORRAL_DEVICE_CHUNK);
    for (uint64_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
        double sum = 0;
        for (uint64_t k = threadIdx.x; k < CORRAL_DEVICE_CHUNK; k += blockDim.x) {
            const uint64_t i = chunk * CORRAL_DEVICE_CHUNK + k;
            const double g = i < count ? (double)gradient[i] : 0;
            sum += g * g;
        }
        sum = block_sum(sum, room);
        if (threadIdx.x == 0) squares[chunk] = sum;
    }
}

// --- the decision
// --------------------------------------------------------------------------------------------

__device__ inline void move_scale(corral_device_control *c, bool finite)
{
    if (!c->scaling) return;
    if (!finite) {
        c->scale = c->scale > 2 ? c->scale / 2 : 1;
        c->scale_age = 0;
        c->overflows++;
    } else if (++c->scale_age >= STEADY_STEPS) {
        c->scale = c->scale < 16777216 ? c->scale * 2 : c->scale;
        c->scale_age = 0;
    }
}

__device__ inline void count_ppo(corral_device_control *c, double rows)
{
    if (c->minibatches == 0) c->first_largest = c->sums[CORRAL_PPO_SUM_LARGEST];
    for (int k = 0; k < CORRAL_PPO_SUM_LARGEST; k++)
        c->totals[k] += k == CORRAL_PPO_SUM_INFINITE_KL ? c->sums[k] : c->sums[k] / rows;
    c->epoch_kl += c->sums[CORRAL_PPO_SUM_KL];
    c->epoch_rows += rows;
    if (c->stop_kl > 0 && c->sums[CORRAL_PPO_SUM_APPROX_KL] / rows > c->stop_kl) c->stopped = 1;
}

/// The step that the weights take, from the gradient's norm.
__device__ inline void plan_step(const corral_device_step &s, corral_device_control *c, double scale)
{
    const double bound = s.max_norm / (c->norm + 1e-6), clip = s.max_norm > 0 && bound < 1 ? bound : 1;
    c->steps++;
    c->gradient_factor = (float)(clip / scale);
    c->step_size = (float)(c->learning_rate / (1 - pow(s.beta1, (double)c->steps)));
    c->second_correction_sqrt = (float)sqrt(1 - pow(s.beta2, (double)c->steps));
}

__device__ inline void decide(const corral_device_step &s, corral_device_control *c, double squares)
{
    const double rows = (double)s.rows, scale = c->scale;
    c->at += s.rows;
    c->norm = sqrt(squares) / scale;
    c->skip = 1;
    if (c->stopped) return;
    const bool finite = isfinite(c->norm);
    move_scale(c, finite);
    if (!finite) {
        c->skipped++;
        return;
    }
    c->skip = 0;
    plan_step(s, c, scale);
    if (s.kind == CORRAL_DEVICE_SUMS_PPO) {
        count_ppo(c, rows);
    } else {
        for (int k = 0; k < CORRAL_DEVICE_SUMS; k++)
            c->totals[k] += c->sums[k] / rows;
    }
    c->norm_total += c->norm;
    c->minibatches++;
}

__global__ void decide_kernel(corral_device_step s, corral_device_control *control)
{
    __shared__ double room[THREADS / WARP];
    double squares = 0;
    for (uint64_t i = threadIdx.x; i < divide_up(s.count, CORRAL_DEVICE_CHUNK); i += blockDim.x)
        squares += s.squares[i];
    squares = block_sum(squares, room);
    for (int k = 0; k < CORRAL_DEVICE_SUMS; k++) {
        const bool largest = s.kind == CORRAL_DEVICE_SUMS_PPO && k == CORRAL_PPO_SUM_LARGEST;
        double x = 0;
        for (uint64_t i = threadIdx.x; i < s.partial_count; i += blockDim.x) {
            const double part = s.partial[i * CORRAL_DEVICE_SUMS + k];
            x = !largest ? x + part : part > x ? part : x;
        }
        x = largest ? block_largest(x, room) : block_sum(x, room);
        if (threadIdx.x == 0) control->sums[k] = x;
    }
    if (threadIdx.x == 0) decide(s, control, squares);
}

// --- Adam
// ----------------------------------------------------------------------------------------------------

/// Numbers below the normal range become 0, as on the CPU: moments of weights without a gradient end there.
__device__ inline float flush_tiny(float x)
{
    return fabsf(x) < FLT_MIN ? 0.0f : x;
}

__global__ void adam_kernel(corral_device_step s, const corral_device_control *control)
{
    if (control->skip) return;
    const float factor = control->gradient_factor, step_size = control->step_size;
    const float correction = control->second_correction_sqrt, epsilon = (float)s.epsilon;
    const float rest1 = 1 - (float)s.beta1, rest2 = 1 - (float)s.beta2;
    for (uint64_t i = thread_index(); i < s.count; i += thread_stride()) {
        const float g = s.gradient[i] * factor;
        const float first = flush_tiny(s.first[i] + rest1 * (g - s.first[i]));
        const float second = flush_tiny(s.second[i] + rest2 * (g * g - s.second[i]));
        const float weight = s.weight[i] - step_size * first / (sqrtf(second) / correction + epsilon);
        s.first[i] = first;
        s.second[i] = second;
        s.weight[i] = weight;
        if (s.weight_half != NULL) s.weight_half[i] = to_half_bits(weight);
    }
}

static void step(corral_stream *stream, const corral_device_step *s, corral_device_control *control)
{
    const uint64_t chunks = divide_up(s->count, CORRAL_DEVICE_CHUNK);
    if (chunks > 0)
        LAUNCH_TOGETHER(squares_kernel, dim3(blocks_for(chunks, 1)), dim3(THREADS), stream, s->count,
                        s->gradient, s->squares);
    LAUNCH_TOGETHER(decide_kernel, dim3(1), dim3(THREADS), stream, *s, control);
    if (chunks > 0)
        LAUNCH(adam_kernel, dim3(blocks_for(s->count, THREADS)), dim3(THREADS), stream, *s, control);
}

void corral_cuda_fill_step(corral_device_table *table)
{
    table->step = step;
}
