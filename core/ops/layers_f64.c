// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The layers in f64.

#include "ops/layer_kernels.h"

#include "ops/real_f64.h"

#include "backends/cpu/plain_product.h"

static void product(const corral_product *p)
{
    plain_product(p);
}

#include "ops/real_panels.h"

static void linear_panels(size_t in, size_t out, const float *packed, float *panels)
{
    (void)in, (void)out, (void)packed, (void)panels; // f64 reads the weights as they are
}

static void rows_linear(size_t rows, size_t in, size_t out, const void *x, size_t x_row, const void *weight,
                        const float *packed, const float *panels, const void *bias, void *y, size_t y_row)
{
    (void)packed, (void)panels;
    for (size_t r = 0; r < rows; r++) {
        for (size_t o = 0; o < out; o++) {
            double *to = (double *)y + r * y_row + o, sum = bias == NULL ? *to : ((const double *)bias)[o];
            for (size_t k = 0; k < in; k++)
                sum += ((const double *)x)[r * x_row + k] * ((const double *)weight)[o * in + k];
            *to = sum;
        }
    }
}

#include "ops/real_conv.h"

static void conv(const corral_conv_run *run)
{
    for (size_t i = 0; i < run->rows * run->out_height; i++)
        conv_plain_row(run, i / run->out_height, i % run->out_height);
    double *y = run->y;
    const size_t count = run->rows * run->out_height * run->out_width * run->out;
    if (run->activation == CORRAL_TANH) real_tanh_all(count, y, y);
    for (size_t i = 0; i < count && run->activation == CORRAL_RELU; i++)
        y[i] = y[i] > 0 || y[i] != y[i] ? y[i] : 0;
}

#include "ops/real_recurrent.h"

#include "ops/real_layer_table.h"
