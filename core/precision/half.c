// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// 16-bit floats, by their bits, so that every machine gives the same ones.
//
//   f32   1 sign, 8 exponent (bias 127), 23 fraction
//   bf16  the upper half of it
//   f16   1 sign, 5 exponent (bias 15), 10 fraction
//
// Rounding is to the nearest, ties to even: add half a unit of what stays, less one where its last bit is 0.

#include "corral/core/precision.h"

#include "ops/kernels.h"
#include "tensor/tape.h"

#include <string.h>

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/// bits / 2^shift, rounded.
static uint32_t shift_rounded(uint32_t bits, unsigned shift)
{
    const uint32_t half = (uint32_t)1 << (shift - 1), odd = bits >> shift & 1;
    return (bits + half - 1 + odd) >> shift;
}

static uint16_t to_bf16(float value)
{
    const uint32_t bits = bits_of(value);
    if ((bits & 0x7FFFFFFF) > 0x7F800000) return (uint16_t)(bits >> 16 | 0x40); // NaN: keep it one
    return (uint16_t)shift_rounded(bits, 16);
}

static uint16_t to_f16(float value)
{
    const uint32_t bits = bits_of(value), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7FFFFFFF;
    if (magnitude > 0x7F800000) return (uint16_t)(sign | 0x7E00);
    if (magnitude >= 0x477FF000) return (uint16_t)(sign | 0x7C00); // 65520 and more round to infinity
    if (magnitude >= 0x38800000) return (uint16_t)(sign | shift_rounded(magnitude - 0x38000000, 13));
    if (magnitude < 0x33000000) return (uint16_t)sign; // below half of the smallest subnormal
    const unsigned shift = 126 - (magnitude >> 23);
    return (uint16_t)(sign | shift_rounded((magnitude & 0x7FFFFF) | 0x800000, shift));
}

static float from_f16(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 0x1F,
                   fraction = half & 0x3FF;
    if (exponent == 0x1F) return float_of(sign | 0x7F800000 | fraction << 13);
    if (exponent > 0) return float_of(sign | (exponent + 112) << 23 | fraction << 13);
    const float small = (float)fraction * 0x1p-24f; // exact
    return sign != 0 ? -small : small;
}

void corral_half_store(corral_half format, size_t count, const float *values, uint16_t *out)
{
    CORRAL_ASSERT(format != CORRAL_FULL);
    for (size_t i = 0; i < count; i++)
        out[i] = format == CORRAL_BF16 ? to_bf16(values[i]) : to_f16(values[i]);
}

void corral_half_load(corral_half format, size_t count, const uint16_t *values, float *out)
{
    CORRAL_ASSERT(format != CORRAL_FULL);
    for (size_t i = 0; i < count; i++)
        out[i] = format == CORRAL_BF16 ? float_of((uint32_t)values[i] << 16) : from_f16(values[i]);
}

void corral_half_round(corral_half format, size_t count, const float *values, float *out)
{
    for (size_t i = 0; i < count; i++) {
        if (format == CORRAL_BF16)
            out[i] = float_of((uint32_t)to_bf16(values[i]) << 16);
        else
            out[i] = format == CORRAL_F16 ? from_f16(to_f16(values[i])) : values[i];
    }
}

// --- on a tape --------------------------------------------------------------------------------------------

static void round_forward(corral_node *node)
{
    corral_half_round((corral_half)node->kind, corral_tensor_count(node->a), node->a->data,
                      node->tensor.data);
}

static void round_backward(corral_node *node)
{
    void *grad = corral_tensor_gradient(node->a);
    if (grad != NULL)
        corral_kernels_of(CORRAL_F32)->add(corral_tensor_count(node->a), node->tensor.grad, grad);
}

corral_tensor *corral_round_to(corral_tensor *x, corral_half format)
{
    if (!corral_tape_ready(x, NULL, "round_to")) return &x->tape->empty;
    if (x->dtype != CORRAL_F32)
        return corral_tape_fail(x->tape, CORRAL_ERROR_UNSUPPORTED, "round_to: takes f32 only");
    corral_node *node = corral_tape_append(x->tape, x->dtype, x->dimension_count, x->shape, x, NULL);
    if (node == NULL) return &x->tape->empty;
    node->kind = format;
    node->forward = round_forward;
    node->backward = round_backward;
    round_forward(node);
    return &node->tensor;
}

corral_half corral_tape_autocast(corral_tape *tape, corral_half format)
{
    const corral_half before = tape->autocast;
    tape->autocast = format;
    return before;
}
