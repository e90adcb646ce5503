// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The cells of LSTM (Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000) and GRU (Cho
// et al. 2014, with the reset behind the product) in `real`: element-wise, after the products. layers.h has
// the equations. With the gradients dh and dc of a step's results,
//
//     LSTM:  do = dh tanh c, dc += dh o (1 - tanh^2 c), di = dc g, dg = dc i, df = dc c', and c' gets dc f
//     GRU:   dn = dh (1 - z), dz = dh (h' - n), dr = dn (1 - n^2) s_n, and h' gets dh z
//
// where ' marks the state before the step and s the sums W_h h' + b_h; each gate's gradient goes on through
// its sigmoid, y (1 - y), or tanh, 1 - y^2.

/// Where a row's numbers of an array lie.
static inline real *cell_row(const void *array, const corral_cell_run *run, size_t s, size_t width)
{
    return (real *)(uintptr_t)array + s * run->stride * width;
}

static void lstm_cell(const corral_cell_run *run)
{
    const size_t n = run->hidden;
    for (size_t s = 0; s < run->sequences; s++) {
        real *gates = cell_row(run->gates, run, s, 4 * n), *c = cell_row(run->c, run, s, n);
        real *h = cell_row(run->h, run, s, n), *tanh_c = cell_row(run->tanh_c, run, s, n);
        const real *before = cell_row(run->c_before, run, s, n);
        for (size_t u = 0; u < n; u += BLOCK) {
            const size_t count = block_at(n, u);
            real *i = gates + u, *f = i + n, *g = f + n, *o = g + n;
            real_sigmoid_block(count, i, i);
            real_sigmoid_block(count, f, f);
            real_tanh_all(count, g, g);
            real_sigmoid_block(count, o, o);
            for (size_t k = 0; k < count; k++)
                c[u + k] = f[k] * before[u + k] + i[k] * g[k];
            real_tanh_all(count, c + u, tanh_c + u);
            for (size_t k = 0; k < count; k++)
                h[u + k] = o[k] * tanh_c[u + k];
        }
    }
}

static void lstm_cell_grad(const corral_cell_run *run)
{
    const size_t n = run->hidden;
    for (size_t s = 0; s < run->sequences; s++) {
        const real *gates = cell_row(run->gates, run, s, 4 * n), *before = cell_row(run->c_before, run, s, n);
        const real *i = gates, *f = i + n, *g = f + n, *o = g + n;
        const real *tanh_c = cell_row(run->tanh_c, run, s, n), *dh_out = cell_row(run->h_grad, run, s, n);
        const real *dc_out = run->c_grad == NULL ? NULL : cell_row(run->c_grad, run, s, n);
        real *h_carry = (real *)run->h_carry + s * n, *c_carry = (real *)run->c_carry + s * n;
        real *to = cell_row(run->gates_grad, run, s, 4 * n);
#pragma GCC ivdep // the arrays are apart
        for (size_t k = 0; k < n; k++) {
            const real dh = dh_out[k] + h_carry[k];
            const real dc =
                c_carry[k] + (dc_out == NULL ? 0 : dc_out[k]) + dh * o[k] * (1 - tanh_c[k] * tanh_c[k]);
            to[k] = dc * g[k] * (i[k] * (1 - i[k]));
            to[n + k] = dc * before[k] * (f[k] * (1 - f[k]));
            to[2 * n + k] = dc * i[k] * (1 - g[k] * g[k]);
            to[3 * n + k] = dh * tanh_c[k] * (o[k] * (1 - o[k]));
            c_carry[k] = dc * f[k];
            h_carry[k] = 0; // what the product W_h adds is all there is
        }
    }
}

static void gru_cell(const corral_cell_run *run)
{
    const size_t n = run->hidden;
    for (size_t s = 0; s < run->sequences; s++) {
        real *gates = cell_row(run->gates, run, s, 3 * n), *h = cell_row(run->h, run, s, n);
        const real *sums = cell_row(run->sums, run, s, 3 * n), *before = cell_row(run->h_before, run, s, n);
        for (size_t u = 0; u < n; u += BLOCK) {
            const size_t count = block_at(n, u);
            real *r = gates + u, *z = r + n, *candidate = z + n;
            for (size_t k = 0; k < count; k++) {
                r[k] += sums[u + k];
                z[k] += sums[n + u + k];
            }
            real_sigmoid_block(count, r, r);
            real_sigmoid_block(count, z, z);
            for (size_t k = 0; k < count; k++)
                candidate[k] += r[k] * sums[2 * n + u + k];
            real_tanh_all(count, candidate, candidate);
            for (size_t k = 0; k < count; k++)
                h[u + k] = (1 - z[k]) * candidate[k] + z[k] * before[u + k];
        }
    }
}

static void gru_cell_grad(const corral_cell_run *run)
{
    const size_t n = run->hidden;
    for (size_t s = 0; s < run->sequences; s++) {
        const real *r = cell_row(run->gates, run, s, 3 * n), *z = r + n, *candidate = z + n;
        const real *sums = cell_row(run->sums, run, s, 3 * n), *before = cell_row(run->h_before, run, s, n);
        const real *dh_out = cell_row(run->h_grad, run, s, n);
        real *carry = (real *)run->h_carry + s * n;
        real *to = cell_row(run->gates_grad, run, s, 3 * n),
             *to_sums = cell_row(run->sums_grad, run, s, 3 * n);
#pragma GCC ivdep // the arrays are apart
        for (size_t k = 0; k < n; k++) {
            const real dh = dh_out[k] + carry[k];
            const real dn = dh * (1 - z[k]) * (1 - candidate[k] * candidate[k]);
            to[k] = to_sums[k] = dn * sums[2 * n + k] * (r[k] * (1 - r[k]));
            to[n + k] = to_sums[n + k] = dh * (before[k] - candidate[k]) * (z[k] * (1 - z[k]));
            to[2 * n + k] = dn;
            to_sums[2 * n + k] = dn * r[k];
            carry[k] = dh * z[k];
        }
    }
}
