// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The layers in f32.

#include "ops/layer_kernels.h"

#include "ops/real_f32.h"

static void product(const corral_product *p)
{
    corral_layer_table_cpu()->product(p);
}

#include "ops/real_panels.h"

// How a matrix with fewer outputs is packed is the backend's own affair; one with more is packed as its
// transpose, in rows of one width.
enum { FEW_OUTPUTS = 8 };

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

static void linear_panels(size_t in, size_t out, const float *packed, float *panels)
{
    if (out <= FEW_OUTPUTS || in == 0) return;
    to_panels(in, out, packed, corral_backend_cpu()->packed_size(out, in) / in, panels);
}

static void rows_linear(size_t rows, size_t in, size_t out, const void *x, size_t x_row, const void *weight,
                        const float *packed, const float *panels, const void *bias, void *y, size_t y_row)
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
                              .b = panels != NULL ? panels : packed,
                              .b_step = panels != NULL ? CORRAL_PANEL
                                                       : corral_backend_cpu()->packed_size(out, in) / in,
                              .b_panel = panels != NULL ? in * CORRAL_PANEL : 0,
                              .bias = bias,
                              .c = y,
                              .c_row = y_row});
}

#include "ops/real_conv.h"

/// `count` places from `ox` on, which all see the columns `columns` of the window, with the weight packed in
/// rows of `width`.
static void conv_product(const corral_conv_run *run, size_t row, size_t oy, size_t ox, size_t count,
                         range rows, range columns, size_t width)
{
    const corral_window *w = &run->window;
    const size_t c = run->channels, before = rows.first * w->width + columns.first;
    // Nothing of the window may lie inside: the sum is the bias alone, and there is no pixel to point to.
    const bool sees = rows.first < rows.end && columns.first < columns.end;
    product(&(corral_product){
        .rows = count,
        .columns = run->out,
        .outer = sees ? rows.end - rows.first : 0,
        .inner = sees ? (columns.end - columns.first) * c : 0,
        .a = sees ? pixel(run, run->x, row, oy * w->stride + rows.first - w->padding,
                          ox * w->stride + columns.first - w->padding)
                  : (const float *)run->x,
        .a_row = w->stride * c,
        .a_outer = run->width * c,
        .a_step = 1,
        .b = (const float *)(const void *)run->packed + before * c * width,
        .b_outer = w->width * c * width,
        .b_step = width,
        .bias = run->bias,
        .c = (float *)run->y + place_at(run, row, oy, ox),
        .c_row = run->out,
    });
}

/// One row of places: those that see the whole width of the window together, the others one by one.
static void conv_product_row(const corral_conv_run *run, size_t row, size_t oy, size_t width)
{
    const corral_window *w = &run->window;
    const range rows = inside_window(oy, w->stride, w->padding, w->height, run->height);
    size_t ox = 0;
    while (ox < run->out_width) {
        const range columns = inside_window(ox, w->stride, w->padding, w->width, run->width);
        size_t count = 1;
        if (columns.first == 0 && columns.end == w->width) {
            const size_t last = (run->width + w->padding - w->width) / w->stride;
            count = (last < run->out_width ? last + 1 : run->out_width) - ox;
        }
        conv_product(run, row, oy, ox, count, rows, columns, width);
        ox += count;
    }
}

static void activate_in_place(size_t count, corral_activation activation, float *y)
{
    if (activation == CORRAL_TANH) real_tanh_all(count, y, y);
    if (activation == CORRAL_RELU) corral_layer_table_cpu()->relu(count, y);
}

/// The activation follows row by row of places, while they are in the cache.
static void conv(const corral_conv_run *run)
{
    const size_t in = run->window.height * run->window.width * run->channels;
    const bool few = run->out <= FEW_OUTPUTS || in == 0;
    const size_t width = few ? 0 : corral_backend_cpu()->packed_size(run->out, in) / in;
    for (size_t i = 0; i < run->rows * run->out_height; i++) {
        const size_t row = i / run->out_height, oy = i % run->out_height;
        if (few)
            conv_plain_row(run, row, oy);
        else
            conv_product_row(run, row, oy, width);
        activate_in_place(run->out_width * run->out, run->activation,
                          (float *)run->y + place_at(run, row, oy, 0));
    }
}

// The cells are compiled for each instruction set.
#define CELL(name)                                                                                           \
    static void name(const corral_cell_run *run)                                                             \
    {                                                                                                        \
        corral_layer_table_cpu()->cells->name(run);                                                          \
    }
CELL(lstm_cell)
CELL(lstm_cell_grad)
CELL(gru_cell)
CELL(gru_cell_grad)
#undef CELL

#include "ops/real_layer_table.h"
