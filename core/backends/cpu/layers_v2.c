// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// SSE4.2: sixteen vectors of 4 floats, no fused multiply-add.

#define LANES        4
#define WIDE_ROWS    6
#define WIDE_COLUMNS 2
#define NARROW_ROWS  8
#define KERNELS_NAME "x86-64-v2"
#define LAYER_TABLE  corral_layer_table_v2
#define CELL_TABLE   corral_cell_table_v2

#include "backends/cpu/layer_kernels.h"
