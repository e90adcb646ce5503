// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The table of layer_table.h, compiled once per instruction set by a file that says which, with the constants
// of kernels.h.

#include "backends/cpu/layer_table.h"

#include <stdbool.h>

#include "backends/cpu/vector.h"

#include "backends/cpu/kernel_strided.h"

extern const corral_cell_table CELL_TABLE;

const corral_layer_table LAYER_TABLE = {
    .name = KERNELS_NAME,
    .product = product_strided,
    .cells = &CELL_TABLE,
};
