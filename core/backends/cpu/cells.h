// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The table of cells of layer_table.h, compiled once per instruction set by a file that names it: the loops
// of ops/real_recurrent.h, which the compiler turns into vectors.

#include "ops/layer_kernels.h"

#include "ops/real_f32.h"

#include "ops/real_recurrent.h"

extern const corral_cell_table CELL_TABLE;

const corral_cell_table CELL_TABLE = {
    .lstm_cell = lstm_cell,
    .lstm_cell_grad = lstm_cell_grad,
    .gru_cell = gru_cell,
    .gru_cell_grad = gru_cell_grad,
};
