// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The loops of the layers, one table per dtype, as kernels.h.
#ifndef CORRAL_CORE_OPS_LAYER_KERNELS_H
#define CORRAL_CORE_OPS_LAYER_KERNELS_H

#include "backends/cpu/layer_table.h"
#include "corral/core/layers.h"

/// One step of a recurrent layer. The s-th sequence's row of an array with `width` numbers a row begins at
/// s * stride * width: stride is the steps of a sequence, or 1.
typedef struct corral_cell_run {
    size_t sequences, stride, hidden;
    void *gates;                     // forward: the sums, which become the gates. backward: the gates
    const void *sums;                // GRU: W_h h + b_h
    const void *h_before, *c_before; // the state the step began with
    void *h, *c, *tanh_c;
    // backward. Carried gradients are [sequences, hidden], of the state after the step, then before it
    const void *h_grad, *c_grad; // of the results; c_grad may be NULL
    void *h_carry, *c_carry;
    void *gates_grad; // of the sums W_i x + b_i (+ W_h h + b_h for an LSTM); written
    void *sums_grad;  // GRU: of W_h h + b_h; written
} corral_cell_run;

/// A convolution, or a pool (out is channels). The window has out_height x out_width places.
typedef struct corral_conv_run {
    size_t rows, height, width, channels;
    size_t out_height, out_width, out;
    corral_window window;
    const void *x, *weight, *bias; // weight: [out, window height, window width, channels]
    const float *packed;           // of the weight; NULL in f64
    corral_activation activation;
    void *y;
    const void *y_grad;
    void *x_grad, *weight_grad, *bias_grad; // added to; NULL where not wanted
    void *panels;                           // conv_grad's own: room for conv_panels() elements
    int32_t *chosen;                        // max pool: where in its window each result was found
} corral_conv_run;

/// Rows of n numbers, normalised. Gradients are added to; NULL where not wanted.
typedef struct corral_norm_run {
    size_t rows, n;
    double epsilon;
    bool centred; // layer norm; else the mean is left alone, and there is no bias
    const void *x, *weight, *bias;
    void *y;
    const void *y_grad;
    void *x_grad, *weight_grad, *bias_grad;
} corral_norm_run;

/// Columns of a matrix [rows, n], normalised over the rows. Gradients are added to; NULL where not wanted.
typedef struct corral_batch_norm_run {
    size_t rows, n;
    const void *x, *weight, *bias;
    const double *mean, *inverse; // [n]; inverse: 1 / sqrt(variance + epsilon)
    bool fixed;                   // mean and inverse are not made of these rows
    void *y;
    const void *y_grad;
    void *x_grad, *weight_grad, *bias_grad;
    double *sums; // of the gradient: [2, n] of its own
} corral_batch_norm_run;

typedef struct corral_layer_kernels {
    /// h and c of a step: the last ones (s * last_stride rows apart) or zeros where reset[s * stride] is not
    /// 0.
    void (*begin_step)(const corral_cell_run *run, const uint8_t *reset, const void *h_last,
                       const void *c_last, size_t last_stride);
    void (*lstm_cell)(const corral_cell_run *run);
    void (*lstm_cell_grad)(const corral_cell_run *run);
    void (*gru_cell)(const corral_cell_run *run);
    void (*gru_cell_grad)(const corral_cell_run *run);
    void (*product)(const corral_product *product);
    void (*conv)(const corral_conv_run *run);
    size_t (*conv_panels)(const corral_conv_run *run);
    void (*conv_grad)(const corral_conv_run *run); // y_grad is that of the sums before the activation
    void (*norm)(const corral_norm_run *run);
    void (*norm_grad)(const corral_norm_run *run);
    /// Mean and population variance of the columns of x [rows, n], in f64.
    void (*moments)(size_t rows, size_t n, const void *x, double *mean, double *variance);
    void (*batch_norm)(const corral_batch_norm_run *run);
    void (*batch_norm_grad)(const corral_batch_norm_run *run);
    void (*max_pool)(const corral_conv_run *run);
    void (*max_pool_grad)(const corral_conv_run *run);
    void (*avg_pool)(const corral_conv_run *run);
    void (*avg_pool_grad)(const corral_conv_run *run);
    /// `packed`, of a weight [out, in], in panels, of which `panels` has room for the floats of in x out.
    void (*linear_panels)(size_t in, size_t out, const float *packed, float *panels);
    /// y (+)= x W^T for rows that lie x_row and y_row apart: from the bias, or from what is there where
    /// `bias` is NULL. `packed` is NULL in f64. `panels`, where it is not NULL, is read instead.
    void (*rows_linear)(size_t rows, size_t in, size_t out, const void *x, size_t x_row, const void *weight,
                        const float *packed, const float *panels, const void *bias, void *y, size_t y_row);
} corral_layer_kernels;

extern const corral_layer_kernels corral_layers_f32, corral_layers_f64;

static inline const corral_layer_kernels *corral_layers_of(corral_dtype dtype)
{
    return dtype == CORRAL_F64 ? &corral_layers_f64 : &corral_layers_f32;
}

#endif
