// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The layers' table of one dtype. The including file has product, rows_linear, conv and the cells.

#include "ops/real_steps.h"

#include "ops/real_pool.h"

#include "ops/real_norm.h"

#include "ops/real_batch_norm.h"

const corral_layer_kernels OF_DTYPE(corral_layers) = {
    .begin_step = begin_step,
    .lstm_cell = lstm_cell,
    .lstm_cell_grad = lstm_cell_grad,
    .gru_cell = gru_cell,
    .gru_cell_grad = gru_cell_grad,
    .product = product,
    .conv = conv,
    .conv_panels = conv_panels,
    .conv_grad = conv_grad,
    .norm = norm,
    .norm_grad = norm_grad,
    .moments = moments,
    .batch_norm = batch_norm,
    .batch_norm_grad = batch_norm_grad,
    .max_pool = max_pool,
    .max_pool_grad = max_pool_grad,
    .avg_pool = avg_pool,
    .avg_pool_grad = avg_pool_grad,
    .linear_panels = linear_panels,
    .rows_linear = rows_linear,
};
