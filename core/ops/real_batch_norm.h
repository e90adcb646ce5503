// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Batch norm in `real`, over the columns of [rows, n]; sums run over the rows ascending, in f64. With z the
// normalised column, s its root and g = dy,
//
//     dx = weight (g - mean g - z mean(g z)) / s,     d weight = sum g z,     d bias = sum g
//
// Where mean and root are fixed, dx = weight g / s.

static void moments(size_t rows, size_t n, const void *data, double *mean, double *variance)
{
    const real *x = data;
    memset(mean, 0, n * sizeof *mean);
    memset(variance, 0, n * sizeof *variance);
    for (size_t i = 0; i < rows * n; i++)
        mean[i % n] += (double)x[i];
    for (size_t k = 0; k < n; k++)
        mean[k] /= (double)rows;
    for (size_t i = 0; i < rows * n; i++) {
        const double d = (double)x[i] - mean[i % n];
        variance[i % n] += d * d;
    }
    for (size_t k = 0; k < n; k++)
        variance[k] /= (double)rows;
}

static void batch_norm(const corral_batch_norm_run *run)
{
    const real *weight = run->weight, *bias = run->bias;
    for (size_t r = 0; r < run->rows; r++) {
        const real *x = (const real *)run->x + r * run->n;
        real *y = (real *)run->y + r * run->n;
        for (size_t k = 0; k < run->n; k++)
            y[k] = (real)(((double)x[k] - run->mean[k]) * run->inverse[k]) * weight[k] + bias[k];
    }
}

/// The sums of g and of g z over the rows.
static void batch_norm_sums(const corral_batch_norm_run *run, double *g_sum, double *gz_sum)
{
    memset(g_sum, 0, 2 * run->n * sizeof *g_sum);
    for (size_t r = 0; r < run->rows; r++) {
        const real *x = (const real *)run->x + r * run->n, *g = (const real *)run->y_grad + r * run->n;
        for (size_t k = 0; k < run->n; k++) {
            g_sum[k] += (double)g[k];
            gz_sum[k] += (double)g[k] * (((double)x[k] - run->mean[k]) * run->inverse[k]);
        }
    }
}

static void batch_norm_input_grad(const corral_batch_norm_run *run, const double *g_sum, const double *gz_sum)
{
    const real *weight = run->weight;
    const double part = run->fixed || run->rows == 0 ? 0.0 : 1.0 / (double)run->rows;
    for (size_t r = 0; r < run->rows; r++) {
        const real *x = (const real *)run->x + r * run->n, *g = (const real *)run->y_grad + r * run->n;
        real *to = (real *)run->x_grad + r * run->n;
        for (size_t k = 0; k < run->n; k++) {
            const double z = ((double)x[k] - run->mean[k]) * run->inverse[k];
            to[k] += (real)((double)weight[k] * run->inverse[k] *
                            ((double)g[k] - part * (g_sum[k] + z * gz_sum[k])));
        }
    }
}

static void batch_norm_grad(const corral_batch_norm_run *run)
{
    double *g_sum = run->sums, *gz_sum = run->sums + run->n;
    batch_norm_sums(run, g_sum, gz_sum);
    if (run->x_grad != NULL) batch_norm_input_grad(run, g_sum, gz_sum);
    for (size_t k = 0; k < run->n && run->weight_grad != NULL; k++)
        ((real *)run->weight_grad)[k] += (real)gz_sum[k];
    for (size_t k = 0; k < run->n && run->bias_grad != NULL; k++)
        ((real *)run->bias_grad)[k] += (real)g_sum[k];
}
