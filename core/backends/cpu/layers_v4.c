// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// AVX-512: thirty-two vectors of 16 floats.

#define LANES        16
#define WIDE_ROWS    6
#define WIDE_COLUMNS 4
#define NARROW_ROWS  12
#define KERNELS_NAME "x86-64-v4"
#define LAYER_TABLE  corral_layer_table_v4
#define CELL_TABLE   corral_cell_table_v4

#include "backends/cpu/layer_kernels.h"
