// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The table of layer_table.h, compiled once per instruction set by a file that says which, with the constants
// of kernels.h.

#include "backends/cpu/layer_table.h"

#include <stdbool.h>

#include "backends/cpu/vector.h"

#include "backends/cpu/kernel_strided.h"

static void relu(size_t count, float *y)
{
    for (size_t i = 0; i < count; i += LANES) {
        const size_t last = count - i < LANES ? count - i : LANES;
        const vec x = load_partial(y + i, last);
        store_partial(y + i, pick((x > 0) | (x != x), x, (vec){0}), last);
    }
}

extern const corral_cell_table CELL_TABLE;

const corral_layer_table LAYER_TABLE = {
    .name = KERNELS_NAME,
    .product = product_strided,
    .relu = relu,
    .cells = &CELL_TABLE,
};
