// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The fast table, compiled once per instruction set by a file that says which: LANES (floats in a vector),
// WIDE_ROWS x WIDE_COLUMNS (the tile, in vectors) and NARROW_ROWS fit its registers, KERNELS_NAME and
// KERNELS_TABLE name it, KERNELS_LEVEL says whether it has fused multiply-adds (see backend.h).
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

// A layer with so few outputs is computed as dot products, and packed for them: [out, padded in].
enum { FEW_OUTPUTS = 8 };

#include "backends/cpu/kernel_elements.h"
#include "backends/cpu/kernel_transpose.h"

#include "backends/cpu/kernel_products.h"

static size_t packed_size(size_t out_features, size_t in_features)
{
    if (out_features <= FEW_OUTPUTS) return out_features * padded(in_features);
    return padded(out_features) * in_features;
}

/// The columns count .. width-1 of each row.
static void zero_padding(size_t rows, size_t count, size_t width, float *packed)
{
    for (size_t r = 0; r < rows; r++) {
        for (size_t i = count; i < width; i++)
            packed[r * width + i] = 0.0f;
    }
}

static void pack(size_t out_features, size_t in_features, size_t first_row, size_t row_count,
                 const float *weight, float *packed)
{
    const float *from = weight + first_row * in_features;
    if (out_features <= FEW_OUTPUTS) {
        const size_t width = padded(in_features);
        float *to = packed + first_row * width;
        for (size_t o = 0; o < row_count; o++)
            memcpy(to + o * width, from + o * in_features, in_features * sizeof(float));
        zero_padding(row_count, in_features, width, to);
        return;
    }
    const size_t width = padded(out_features);
    transpose(row_count, in_features, from, in_features, packed + first_row, width);
    if (first_row + row_count == out_features) zero_padding(in_features, out_features, width, packed);
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
