// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The layers' table of one dtype. The including file has product and rows_linear.

#include "ops/real_recurrent.h"

const corral_layer_kernels OF_DTYPE(corral_layers) = {
    .begin_step = begin_step,
    .lstm_cell = lstm_cell,
    .lstm_cell_grad = lstm_cell_grad,
    .gru_cell = gru_cell,
    .gru_cell_grad = gru_cell_grad,
    .product = product,
    .rows_linear = rows_linear,
};
