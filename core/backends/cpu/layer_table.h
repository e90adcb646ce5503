// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The CPU's kernels for layers that are more than one product: a table per instruction set, chosen as that
/// of backend.h is, and of its level: each element is one chain of multiply-adds, so that tables of one level
/// give the same bits. f32.
#ifndef CORRAL_CORE_CPU_LAYER_TABLE_H
#define CORRAL_CORE_CPU_LAYER_TABLE_H

#include "corral/core/backend.h"

/// c[m, n] = start + the sum over j < outer and k < inner, k being the faster one, of
///
///     a[m * a_row + j * a_outer + k * a_step] * b[j * b_outer + k * b_step + n]
///
/// The start is bias[n], or what is in c where bias is NULL. a_row or a_step is 1. c overlaps neither
/// operand.
enum { CORRAL_PANEL = 64 };

typedef struct corral_product {
    size_t rows, columns, outer, inner;
    const void *a;
    size_t a_row, a_outer, a_step;
    const void *b;
    size_t b_outer, b_step, b_panel;
    const void *bias; // [columns]
    void *c;
    size_t c_row;
} corral_product;

struct corral_cell_run; // ops/layer_kernels.h

/// The cells of recurrent layers (ops/real_recurrent.h), compiled for an instruction set. No multiply-add is
/// fused, so that all of them give the same bits.
typedef struct corral_cell_table {
    void (*lstm_cell)(const struct corral_cell_run *run);
    void (*lstm_cell_grad)(const struct corral_cell_run *run);
    void (*gru_cell)(const struct corral_cell_run *run);
    void (*gru_cell_grad)(const struct corral_cell_run *run);
} corral_cell_table;

typedef struct corral_layer_table {
    const char *name; // of the table in backend.h that it stands beside
    void (*product)(const corral_product *product);
    /// y > 0 ? y : 0; NaN stays.
    void (*relu)(size_t count, float *y);
    const corral_cell_table *cells;
} corral_layer_table;

/// The one beside corral_backend_cpu(). [any thread]
const corral_layer_table *corral_layer_table_cpu(void);

/// The one beside `backend`, for tests.
const corral_layer_table *corral_layer_table_beside(const corral_backend *backend);

#endif
