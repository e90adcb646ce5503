// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Pools in `real`: each place's window is reduced, channel by channel.

/// Calls `visit` for each pixel of each window: the element of the result, that of the image, and which pixel
/// of the window it is. Both elements are of channel 0.
static inline void each_pooled(const corral_conv_run *run,
                               void (*visit)(const corral_conv_run *run, size_t to, size_t from,
                                             size_t which))
{
    const corral_window *w = &run->window;
    for (size_t row = 0; row < run->rows; row++) {
        for (size_t oy = 0; oy < run->out_height; oy++) {
            for (size_t ox = 0; ox < run->out_width; ox++) {
                const size_t to = place_at(run, row, oy, ox);
                for (size_t k = 0; k < w->height * w->width; k++) {
                    const size_t y = oy * w->stride + k / w->width, x = ox * w->stride + k % w->width;
                    visit(run, to, ((row * run->height + y) * run->width + x) * run->channels, k);
                }
            }
        }
    }
}

/// NaN is larger than anything.
static void take_larger(const corral_conv_run *run, size_t to, size_t from, size_t which)
{
    real *y = (real *)run->y + to;
    const real *x = (const real *)run->x + from;
    for (size_t c = 0; c < run->channels; c++) {
        if (which > 0 && !(x[c] > y[c]) && !(x[c] != x[c] && y[c] == y[c])) continue;
        y[c] = x[c];
        run->chosen[to + c] = (int32_t)which;
    }
}

static void max_pool(const corral_conv_run *run)
{
    each_pooled(run, take_larger);
}

static void give_to_chosen(const corral_conv_run *run, size_t to, size_t from, size_t which)
{
    for (size_t c = 0; c < run->channels; c++) {
        if (run->chosen[to + c] == (int32_t)which)
            ((real *)run->x_grad)[from + c] += ((const real *)run->y_grad)[to + c];
    }
}

static void max_pool_grad(const corral_conv_run *run)
{
    each_pooled(run, give_to_chosen);
}

static real window_share(const corral_conv_run *run)
{
    return 1 / (real)(run->window.height * run->window.width);
}

static void take_share(const corral_conv_run *run, size_t to, size_t from, size_t which)
{
    const real share = window_share(run);
    for (size_t c = 0; c < run->channels; c++) {
        real *y = (real *)run->y + to + c;
        *y = (which == 0 ? 0 : *y) + share * ((const real *)run->x)[from + c];
    }
}

static void avg_pool(const corral_conv_run *run)
{
    each_pooled(run, take_share);
}

static void give_share(const corral_conv_run *run, size_t to, size_t from, size_t which)
{
    (void)which;
    const real share = window_share(run);
    for (size_t c = 0; c < run->channels; c++)
        ((real *)run->x_grad)[from + c] += share * ((const real *)run->y_grad)[to + c];
}

static void avg_pool_grad(const corral_conv_run *run)
{
    each_pooled(run, give_share);
}
