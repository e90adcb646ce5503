// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The portable table: plain C, and the definition of what the faster tables compute.

#include "backends/cpu/tables.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef float real;
#include "backends/cpu/plain_loops.h"

static size_t packed_size(size_t out_features, size_t in_features)
{
    return out_features * in_features; // vectors of one element: nothing to pad
}

static void pack(size_t out_features, size_t in_features, size_t first_row, size_t row_count,
                 const float *weight, float *packed)
{
    for (size_t o = first_row; o < first_row + row_count; o++) {
        for (size_t i = 0; i < in_features; i++)
            packed[i * out_features + o] = weight[o * in_features + i];
    }
}

static void apply_tanh(size_t count, const float *x, float *y)
{
    for (size_t i = 0; i < count; i++)
        y[i] = tanhf(x[i]);
}

static void apply_exp(size_t count, const float *x, float *y)
{
    for (size_t i = 0; i < count; i++)
        y[i] = expf(x[i]);
}

static void apply_log(size_t count, const float *x, float *y)
{
    for (size_t i = 0; i < count; i++)
        y[i] = logf(x[i]);
}

static void linear(size_t rows, size_t in_features, size_t out_features, const float *x, const float *packed,
                   const float *bias, corral_activation activation, float *y)
{
    plain_linear(rows, in_features, out_features, x, packed, 1, out_features, bias, y);
    if (activation == CORRAL_TANH) apply_tanh(rows * out_features, y, y);
    if (activation == CORRAL_RELU) {
        for (size_t i = 0; i < rows * out_features; i++)
            y[i] = y[i] > 0.0f || y[i] != y[i] ? y[i] : 0.0f;
    }
}

/// Numbers below the normal range become 0; see kernel_elements.h.
static float flush_tiny(float x)
{
    return fabsf(x) < FLT_MIN ? 0.0f : x;
}

/// See optim.h. Both moments move by a fraction of the distance to their new sample.
static void adam(size_t count, float *weight, const float *grad, float *first, float *second, float scale,
                 float beta1, float beta2, float step_size, float second_correction_sqrt, float epsilon)
{
    for (size_t i = 0; i < count; i++) {
        const float g = grad[i] * scale;
        first[i] = flush_tiny(first[i] + (1 - beta1) * (g - first[i]));
        second[i] = flush_tiny(second[i] + (1 - beta2) * (g * g - second[i]));
        weight[i] -= step_size * first[i] / (sqrtf(second[i]) / second_correction_sqrt + epsilon);
    }
}

static double sum_lanes(size_t count, size_t lane_count, float *const *lanes, float *total)
{
    double partial[16] = {0};
    for (size_t i = 0; i < count; i++) {
        float sums[CORRAL_BACKEND_LANES];
        for (size_t lane = 0; lane < lane_count; lane++) {
            sums[lane] = lanes[lane][i];
        }
        for (size_t step = 1; step < lane_count; step *= 2) {
            for (size_t lane = 0; lane + step < lane_count; lane += 2 * step)
                sums[lane] += sums[lane + step];
        }
        total[i] = sums[0];
        partial[i % 16] += (double)sums[0] * (double)sums[0];
    }
    for (size_t step = 8; step > 0; step /= 2) {
        for (size_t i = 0; i < step; i++)
            partial[i] += partial[i + step];
    }
    return partial[0];
}

const corral_backend corral_backend_portable = {
    .abi = CORRAL_BACKEND_ABI,
    .size = sizeof(corral_backend),
    .name = "portable",
    .level = 0,
    .packed_size = packed_size,
    .pack = pack,
    .linear = linear,
    .activation_grad = plain_activation_grad,
    .linear_grad_input = plain_linear_grad_input,
    .linear_grad_weight = plain_linear_grad_weight,
    .tanh = apply_tanh,
    .exp = apply_exp,
    .log = apply_log,
    .adam = adam,
    .sum_lanes = sum_lanes,
};
