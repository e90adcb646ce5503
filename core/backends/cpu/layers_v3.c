// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// AVX2 and FMA: sixteen vectors of 8 floats.

#define LANES        8
#define WIDE_ROWS    6
#define WIDE_COLUMNS 2
#define NARROW_ROWS  12
#define KERNELS_NAME "x86-64-v3"
#define LAYER_TABLE  corral_layer_table_v3
#define CELL_TABLE   corral_cell_table_v3

#include "backends/cpu/layer_kernels.h"
