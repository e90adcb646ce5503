// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Layer norm (Ba, Kiros and Hinton 2016) and RMS norm (Zhang and Sennrich 2019) in `real`; a row's sums are
// in f64. With z the normalised row, s the root, and h = dy weight,
//
//     dx = (h - mean h - z mean(h z)) / s,     d weight = dy z,     d bias = dy
//
// summed over rows ascending; RMS norm has no mean h.

typedef struct norm_row {
    double mean, inverse;
} norm_row;

static norm_row norm_row_of(const corral_norm_run *run, const real *x)
{
    double sum = 0.0, square = 0.0;
    for (size_t i = 0; i < run->n && run->centred; i++)
        sum += (double)x[i];
    const double mean = run->centred ? sum / (double)run->n : 0.0;
    for (size_t i = 0; i < run->n; i++)
        square += ((double)x[i] - mean) * ((double)x[i] - mean);
    return (norm_row){mean, 1.0 / sqrt(square / (double)run->n + run->epsilon)};
}

static void norm(const corral_norm_run *run)
{
    const real *weight = run->weight, *bias = run->bias;
    for (size_t r = 0; r < run->rows; r++) {
        const real *x = (const real *)run->x + r * run->n;
        real *y = (real *)run->y + r * run->n;
        const norm_row row = norm_row_of(run, x);
        for (size_t i = 0; i < run->n; i++) {
            const real z = (real)(((double)x[i] - row.mean) * row.inverse);
            y[i] = z * weight[i] + (bias == NULL ? 0 : bias[i]);
        }
    }
}

static void norm_input_grad(const corral_norm_run *run, const norm_row *row, const real *x, const real *g,
                            real *to)
{
    double h_sum = 0.0, hz_sum = 0.0;
    const real *weight = run->weight;
    for (size_t i = 0; i < run->n; i++) {
        const double h = (double)g[i] * (double)weight[i], z = ((double)x[i] - row->mean) * row->inverse;
        h_sum += h;
        hz_sum += h * z;
    }
    const double h_mean = run->centred ? h_sum / (double)run->n : 0.0, hz_mean = hz_sum / (double)run->n;
    for (size_t i = 0; i < run->n; i++) {
        const double h = (double)g[i] * (double)weight[i], z = ((double)x[i] - row->mean) * row->inverse;
        to[i] += (real)((h - h_mean - z * hz_mean) * row->inverse);
    }
}

static void norm_grad(const corral_norm_run *run)
{
    for (size_t r = 0; r < run->rows; r++) {
        const real *x = (const real *)run->x + r * run->n, *g = (const real *)run->y_grad + r * run->n;
        const norm_row row = norm_row_of(run, x);
        if (run->x_grad != NULL) norm_input_grad(run, &row, x, g, (real *)run->x_grad + r * run->n);
        for (size_t i = 0; i < run->n && run->weight_grad != NULL; i++)
            ((real *)run->weight_grad)[i] += g[i] * (real)(((double)x[i] - row.mean) * row.inverse);
        for (size_t i = 0; i < run->n && run->bias_grad != NULL; i++)
            ((real *)run->bias_grad)[i] += g[i];
    }
}
