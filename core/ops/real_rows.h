// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Loops over rows and reductions in `real`. As real_elements.h, included once per dtype.

enum { SUM_CHUNK = 256 };

/// Chunks are summed in order; the chunks' sums in a tree that depends on the count alone.
static double sum_tree(size_t count, const real *x)
{
    if (count <= SUM_CHUNK) {
        double sum = 0.0;
        for (size_t i = 0; i < count; i++)
            sum += (double)x[i];
        return sum;
    }
    const size_t chunks = (count + SUM_CHUNK - 1) / SUM_CHUNK, left = chunks / 2 * SUM_CHUNK;
    return sum_tree(left, x) + sum_tree(count - left, x + left);
}

/// In eight sums by i mod 8, which are then added in halves: short chains that fit into vectors.
static double sum_block(size_t count, const double *x)
{
    double sum[8] = {0};
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        for (size_t k = 0; k < 8; k++)
            sum[k] += x[i + k];
    }
    for (size_t k = 0; i < count; i++, k++)
        sum[k] += x[i];
    return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
}

/// The largest of numbers that are not negative, in eight chains as above.
static double largest(size_t count, const real *x)
{
    real most[8] = {0}, all = 0;
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        for (size_t k = 0; k < 8; k++)
            most[k] = x[i + k] > most[k] ? x[i + k] : most[k];
    }
    for (; i < count; i++)
        all = x[i] > all ? x[i] : all;
    for (size_t k = 0; k < 8; k++)
        all = most[k] > all ? most[k] : all;
    return (double)all;
}

static void sum_all(size_t count, const void *x, double factor, void *y)
{
    *(real *)y = (real)(factor * sum_tree(count, x));
}

static void sum_all_grad(size_t count, const void *y_grad, double factor, void *x_grad)
{
    const real g = (real)(factor * (double)*(const real *)y_grad);
    real *to = x_grad;
    for (size_t i = 0; i < count; i++)
        to[i] += g;
}

static void sum_rows(size_t rows, size_t n, const void *x, void *y)
{
    for (size_t r = 0; r < rows; r++)
        ((real *)y)[r] = (real)sum_tree(n, (const real *)x + r * n);
}

static void sum_rows_grad(size_t rows, size_t n, const void *y_grad, void *x_grad)
{
    for (size_t r = 0; r < rows; r++) {
        const real g = ((const real *)y_grad)[r];
        for (size_t i = 0; i < n; i++)
            ((real *)x_grad)[r * n + i] += g;
    }
}

static void gather(size_t rows, size_t n, const void *x, const int32_t *index, void *y)
{
    for (size_t r = 0; r < rows; r++)
        ((real *)y)[r] = ((const real *)x)[r * n + (size_t)index[r]];
}

static void gather_grad(size_t rows, size_t n, const int32_t *index, const void *y_grad, void *x_grad)
{
    for (size_t r = 0; r < rows; r++)
        ((real *)x_grad)[r * n + (size_t)index[r]] += ((const real *)y_grad)[r];
}

static void add_all(size_t count, const void *x, void *y)
{
    for (size_t i = 0; i < count; i++)
        ((real *)y)[i] += ((const real *)x)[i];
}

static void add_scaled(size_t count, const void *factor, const void *x, void *y)
{
    const real f = *(const real *)factor;
    for (size_t i = 0; i < count; i++)
        ((real *)y)[i] += f * ((const real *)x)[i];
}

static void transpose(size_t rows, size_t columns, const void *x, void *y)
{
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < columns; c++)
            ((real *)y)[c * rows + r] = ((const real *)x)[r * columns + c];
    }
}

// --- softmax
// ------------------------------------------------------------------------------------------------ Rows are
// taken ROWS_AT_ONCE together, one column after the other, so that exp and log see long arrays. Each row's
// arithmetic is its own.

enum { ROWS_AT_ONCE = 64 };

/// For each row the numbers with log p(a) = (x[a] - shift) - log_sum. The largest element is the shift, so
/// that no exp overflows; a row of nothing but -inf has shift and log_sum 0 and so stays -inf.
static void log_softmax_norms(size_t rows, size_t n, const real *x, real *shift, real *log_sum)
{
    real sum[ROWS_AT_ONCE], e[ROWS_AT_ONCE];
    for (size_t r = 0; r < rows; r++)
        shift[r] = n == 0 ? 0 : x[r * n];
    for (size_t a = 1; a < n; a++) {
        for (size_t r = 0; r < rows; r++)
            shift[r] = x[r * n + a] > shift[r] ? x[r * n + a] : shift[r];
    }
    for (size_t r = 0; r < rows; r++) {
        if (shift[r] == -(real)INFINITY) shift[r] = 0;
        sum[r] = 0;
    }
    for (size_t a = 0; a < n; a++) {
        for (size_t r = 0; r < rows; r++)
            e[r] = x[r * n + a] - shift[r];
        real_exp_all(rows, e, e);
        for (size_t r = 0; r < rows; r++)
            sum[r] += e[r];
    }
    for (size_t r = 0; r < rows; r++)
        sum[r] = sum[r] == 0 ? 1 : sum[r];
    real_log_all(rows, sum, log_sum);
}

/// log p of one action of each row, and p where wanted.
static inline void log_prob_column(size_t rows, size_t n, size_t a, const real *x, const real *shift,
                                   const real *log_sum, real *log_prob, real *prob)
{
    for (size_t r = 0; r < rows; r++)
        log_prob[r] = (x[r * n + a] - shift[r]) - log_sum[r];
    if (prob != NULL) real_exp_all(rows, log_prob, prob);
}

static size_t at_once(size_t rows, size_t done)
{
    return rows - done < ROWS_AT_ONCE ? rows - done : ROWS_AT_ONCE;
}

static void log_softmax(size_t rows, size_t n, const void *x, void *y)
{
    real shift[ROWS_AT_ONCE], log_sum[ROWS_AT_ONCE];
    for (size_t r0 = 0; r0 < rows; r0 += ROWS_AT_ONCE) {
        const size_t count = at_once(rows, r0);
        const real *from = (const real *)x + r0 * n;
        real *to = (real *)y + r0 * n;
        log_softmax_norms(count, n, from, shift, log_sum);
        for (size_t r = 0; r < count; r++) {
            for (size_t a = 0; a < n; a++)
                to[r * n + a] = (from[r * n + a] - shift[r]) - log_sum[r];
        }
    }
}

/// dx = dy - p * sum(dy). An action of probability zero takes no part: 0 there, also where dy is not finite.
static void log_softmax_grad(size_t rows, size_t n, const void *y, const void *y_grad, void *x_grad)
{
    const real masked = -(real)INFINITY;
    for (size_t r = 0; r < rows; r++) {
        const real *log_prob = (const real *)y + r * n, *g = (const real *)y_grad + r * n;
        real *to = (real *)x_grad + r * n, p[ROWS_AT_ONCE];
        double sum = 0.0;
        for (size_t a = 0; a < n; a++)
            sum += log_prob[a] == masked ? 0.0 : (double)g[a];
        for (size_t a0 = 0; a0 < n; a0 += ROWS_AT_ONCE) {
            const size_t count = at_once(n, a0);
            real_exp_all(count, log_prob + a0, p);
            for (size_t a = 0; a < count; a++) {
                if (log_prob[a0 + a] != masked) to[a0 + a] += g[a0 + a] - p[a] * (real)sum;
            }
        }
    }
}
