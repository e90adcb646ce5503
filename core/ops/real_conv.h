// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Convolution in `real`, as products without copies. With channels last, what a window covers in one row of
// the image is one run of numbers, and windows that are neighbours along the row begin stride * channels
// apart. So the results of one row of places are the rows of one product: a (place, k) is a strided view of
// the image, with k over the rows of the window (outer) and the run in each (inner), and b is the transposed
// weight. Chains run over (window row, window column, channel) ascending, whatever the batch is.
//
// Backward, per image: the weight's gradient has k over all places (outer: rows of places, inner: places of a
// row); the image's gradient is dy W, for each row of places and each row of the window, in groups of columns
// of the window as wide as the stride, so that the places' runs do not overlap.
//
// A window that reaches over the edge covers less: the ranges of rows and columns that lie inside the image
// are worked out, and the same products run over those alone.

/// first .. end-1.
typedef struct range {
    size_t first, end;
} range;

/// The offsets within the window, at place `place`, that lie inside an image of `length`.
static range inside_window(size_t place, size_t stride, size_t padding, size_t size, size_t length)
{
    const size_t start = place * stride; // of the window, in an image with its padding
    range r = {padding > start ? padding - start : 0, size};
    if (start + size > length + padding) r.end = length + padding > start ? length + padding - start : 0;
    if (r.first > r.end) r.first = r.end;
    return r;
}

/// The places at which offset `offset` of the window lies inside an image of `length`.
static range inside_places(size_t offset, size_t stride, size_t padding, size_t places, size_t length)
{
    range r = {offset >= padding ? 0 : (padding - offset + stride - 1) / stride, 0};
    if (length + padding > offset) r.end = (length + padding - offset - 1) / stride + 1;
    if (r.end > places) r.end = places;
    if (r.first > r.end) r.first = r.end;
    return r;
}

static const real *pixel(const corral_conv_run *run, const void *image, size_t row, size_t y, size_t x)
{
    return (const real *)image + ((row * run->height + y) * run->width + x) * run->channels;
}

static size_t place_at(const corral_conv_run *run, size_t row, size_t y, size_t x)
{
    return ((row * run->out_height + y) * run->out_width + x) * run->out;
}

/// One result after the other: what a convolution is.
static void conv_plain_row(const corral_conv_run *run, size_t row, size_t oy)
{
    const corral_window *w = &run->window;
    const range rows = inside_window(oy, w->stride, w->padding, w->height, run->height);
    for (size_t ox = 0; ox < run->out_width; ox++) {
        const range columns = inside_window(ox, w->stride, w->padding, w->width, run->width);
        for (size_t o = 0; o < run->out; o++) {
            real sum = ((const real *)run->bias)[o];
            for (size_t ky = rows.first; ky < rows.end; ky++) {
                const real *weight = (const real *)run->weight +
                                     ((o * w->height + ky) * w->width + columns.first) * run->channels;
                const real *x = pixel(run, run->x, row, oy * w->stride + ky - w->padding,
                                      ox * w->stride + columns.first - w->padding);
                for (size_t k = 0; k < (columns.end - columns.first) * run->channels; k++)
                    sum += x[k] * weight[k];
            }
            ((real *)run->y)[place_at(run, row, oy, ox) + o] = sum;
        }
    }
}

// --- backward ---------------------------------------------------------------------------------------------

/// dW of one image, for the columns `kx` .. `kx + group - 1` of row `ky` of the window.
static void conv_weight_group(const corral_conv_run *run, size_t row, size_t ky, size_t kx, size_t group)
{
    const corral_window *w = &run->window;
    const size_t c = run->channels, matrix = w->height * w->width * c;
    const range ys = inside_places(ky, w->stride, w->padding, run->out_height, run->height);
    const range xs = inside_places(kx, w->stride, w->padding, run->out_width, run->width);
    if (ys.first == ys.end || xs.first == xs.end) return;
    product(&(corral_product){
        .rows = run->out,
        .columns = group * c,
        .outer = ys.end - ys.first,
        .inner = xs.end - xs.first,
        .a = (const real *)run->y_grad + place_at(run, row, ys.first, xs.first),
        .a_row = 1,
        .a_outer = run->out_width * run->out,
        .a_step = run->out,
        .b = pixel(run, run->x, row, ys.first * w->stride + ky - w->padding,
                   xs.first * w->stride + kx - w->padding),
        .b_outer = w->stride * run->width * c,
        .b_step = w->stride * c,
        .c = (real *)run->weight_grad + (ky * w->width + kx) * c,
        .c_row = matrix,
    });
}

/// dx of one image, for one row of places and the same columns, of which `panels` holds the weights.
static void conv_input_group(const corral_conv_run *run, size_t row, size_t oy, size_t ky, size_t kx,
                             size_t group, const real *panels)
{
    const corral_window *w = &run->window;
    const size_t c = run->channels;
    const range xs = inside_places(kx, w->stride, w->padding, run->out_width, run->width);
    if (xs.first == xs.end) return;
    product(&(corral_product){
        .rows = xs.end - xs.first,
        .columns = group * c,
        .outer = 1,
        .inner = run->out,
        .a = (const real *)run->y_grad + place_at(run, row, oy, xs.first),
        .a_row = run->out,
        .a_step = 1,
        .b = panels,
        .b_step = CORRAL_PANEL,
        .b_panel = run->out * CORRAL_PANEL,
        .c = (real *)(uintptr_t)pixel(run, run->x_grad, row, oy * w->stride + ky - w->padding,
                                      xs.first * w->stride + kx - w->padding),
        .c_row = w->stride * c,
    });
}

/// How many columns of the window from `kx` on go together: with padding, each has a range of its own.
static size_t group_of(const corral_conv_run *run, size_t kx, size_t most)
{
    const size_t rest = run->window.width - kx;
    return run->window.padding > 0 ? 1 : rest < most ? rest : most;
}

/// The weights of one group in panels, [out, group * channels]; how many elements they take.
static size_t group_panels(const corral_conv_run *run, size_t group)
{
    return panels_count(run->out, group * run->channels);
}

static size_t conv_panels(const corral_conv_run *run)
{
    size_t count = 0;
    for (size_t kx = 0, group; kx < run->window.width; kx += group) {
        group = group_of(run, kx, run->window.stride);
        count += group_panels(run, group);
    }
    return run->window.height * count;
}

/// All groups' weights, in the order in which the gradient walks over them.
static void fill_panels(const corral_conv_run *run)
{
    const corral_window *w = &run->window;
    real *to = run->panels;
    for (size_t ky = 0; ky < w->height; ky++) {
        for (size_t kx = 0, group; kx < w->width; kx += group) {
            group = group_of(run, kx, w->stride);
            to_panels(run->out, group * run->channels,
                      (const real *)run->weight + (ky * w->width + kx) * run->channels,
                      w->height * w->width * run->channels, to);
            to += group_panels(run, group);
        }
    }
}

static void conv_input_grad(const corral_conv_run *run, size_t row)
{
    const corral_window *w = &run->window;
    const size_t row_panels = conv_panels(run) / w->height;
    for (size_t oy = 0; oy < run->out_height; oy++) {
        const range rows = inside_window(oy, w->stride, w->padding, w->height, run->height);
        for (size_t ky = rows.first; ky < rows.end; ky++) {
            const real *panels = (const real *)run->panels + ky * row_panels;
            for (size_t kx = 0, group; kx < w->width; kx += group) {
                group = group_of(run, kx, w->stride);
                conv_input_group(run, row, oy, ky, kx, group, panels);
                panels += group_panels(run, group);
            }
        }
    }
}

static void conv_weight_grad(const corral_conv_run *run, size_t row)
{
    const corral_window *w = &run->window;
    for (size_t ky = 0; ky < w->height; ky++) {
        for (size_t kx = 0, group; kx < w->width; kx += group) {
            group = group_of(run, kx, w->width);
            conv_weight_group(run, row, ky, kx, group);
        }
    }
}

static void conv_bias_grad(const corral_conv_run *run, size_t row)
{
    const real *g = (const real *)run->y_grad + place_at(run, row, 0, 0);
    real *to = run->bias_grad;
    for (size_t i = 0; i < run->out_height * run->out_width; i++) {
        for (size_t o = 0; o < run->out; o++)
            to[o] += g[i * run->out + o];
    }
}

static void conv_grad(const corral_conv_run *run)
{
    if (run->x_grad != NULL) fill_panels(run);
    for (size_t row = 0; row < run->rows; row++) {
        if (run->weight_grad != NULL) conv_weight_grad(run, row);
        if (run->bias_grad != NULL) conv_bias_grad(run, row);
        if (run->x_grad != NULL) conv_input_grad(run, row);
    }
}
