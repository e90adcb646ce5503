// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The fast table, compiled once per instruction set by a file that says which: LANES (floats in a vector),
// WIDE_ROWS x WIDE_COLUMNS (the tile, in vectors) and NARROW_ROWS fit its registers, KERNELS_NAME and
// KERNELS_TABLE name it, NARROW_TABLE may name one of half the width for a few outputs, KERNELS_LEVEL says
// whether it has fused multiply-adds (see backend.h).
//
// GCC's vector extensions, no intrinsics outside vector.h. The files are compiled with -ffp-contract=fast:
// `sum += a * b` is one fused multiply-add.

#include "backends/cpu/tables.h"

#include <stdbool.h>

#include "backends/cpu/vector.h"

/// Columns of the packed form: whole vectors of the longest kind, so that all tables agree.
static size_t padded(size_t count)
{
    return (count + 15) / 16 * 16;
}

#include "backends/cpu/kernel_elements.h"
#include "backends/cpu/kernel_transpose.h"

#include "backends/cpu/kernel_products.h"

static size_t packed_size(size_t out_features, size_t in_features)
{
    return padded(out_features) * in_features;
}

static void pack(size_t out_features, size_t in_features, const float *weight, float *packed)
{
    const size_t width = padded(out_features);
    transpose(out_features, in_features, weight, in_features, packed, width);
    for (size_t i = 0; i < in_features; i++) {
        for (size_t o = out_features; o < width; o++)
            packed[i * width + o] = 0.0f;
    }
}

const corral_backend KERNELS_TABLE = {
    .abi = CORRAL_BACKEND_ABI,
    .size = sizeof(corral_backend),
    .name = KERNELS_NAME,
    .level = KERNELS_LEVEL,
    .packed_size = packed_size,
    .pack = pack,
    .linear = linear,
    .activation_grad = activation_grad,
    .linear_grad_input = linear_grad_input,
    .linear_grad_weight = linear_grad_weight,
    .tanh = apply_tanh,
    .exp = apply_exp,
    .log = apply_log,
    .adam = adam,
    .sum_lanes = sum_lanes,
};
