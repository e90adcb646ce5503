// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The layers in f32.

#include "ops/layer_kernels.h"

#include "ops/real_f32.h"

static void product(const corral_product *p)
{
    corral_layer_table_cpu()->product(p);
}

// How a matrix with fewer outputs is packed is the backend's own affair; one with more is packed as its
// transpose, in rows of one width.
enum { FEW_OUTPUTS = 16 };

static void few_outputs(size_t rows, size_t in, size_t out, const float *x, size_t x_row, const float *weight,
                        const float *bias, float *y, size_t y_row)
{
    for (size_t r = 0; r < rows; r++) {
        for (size_t o = 0; o < out; o++) {
            float *to = y + r * y_row + o, sum = bias == NULL ? *to : bias[o];
            for (size_t k = 0; k < in; k++)
                sum += x[r * x_row + k] * weight[o * in + k];
            *to = sum;
        }
    }
}

static void rows_linear(size_t rows, size_t in, size_t out, const void *x, size_t x_row, const void *weight,
                        const float *packed, const void *bias, void *y, size_t y_row)
{
    if (out <= FEW_OUTPUTS || in == 0) {
        few_outputs(rows, in, out, x, x_row, weight, bias, y, y_row);
        return;
    }
    product(&(corral_product){.rows = rows,
                              .columns = out,
                              .outer = 1,
                              .inner = in,
                              .a = x,
                              .a_row = x_row,
                              .a_step = 1,
                              .b = packed,
                              .b_step = corral_backend_cpu()->packed_size(out, in) / in,
                              .bias = bias,
                              .c = y,
                              .c_row = y_row});
}

#include "ops/real_layer_table.h"
