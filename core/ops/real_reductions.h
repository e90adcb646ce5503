// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Rows of `real` reduced to one number each. Sums are in f64, over chunks in order, the chunks' sums in a
// tree that depends on the row's length alone.

enum { ROW_CHUNK = 256 };

static double row_sum(size_t n, const real *x)
{
    if (n <= ROW_CHUNK) {
        double sum = 0.0;
        for (size_t i = 0; i < n; i++)
            sum += (double)x[i];
        return sum;
    }
    const size_t left = (n + ROW_CHUNK - 1) / ROW_CHUNK / 2 * ROW_CHUNK;
    return row_sum(left, x) + row_sum(n - left, x + left);
}

/// Calls `value` for each row and writes what it gives.
static inline void each_row(const corral_row_run *run, double (*value)(size_t n, const real *x))
{
    for (size_t r = 0; r < run->rows; r++)
        ((real *)run->y)[r] = (real)value(run->n, (const real *)run->x + r * run->n);
}

static inline real grad_of(const corral_row_run *run, size_t r)
{
    return ((const real *)run->y_grad)[r];
}

static void sum_rows(const corral_row_run *run)
{
    each_row(run, row_sum);
}

static void sum_rows_grad(const corral_row_run *run)
{
    for (size_t i = 0; i < run->rows * run->n; i++)
        ((real *)run->x_grad)[i] += grad_of(run, i / run->n);
}

// --- largest and smallest ---------------------------------------------------------------------------------

static size_t first_extreme(size_t n, const real *x, bool smallest)
{
    size_t best = 0;
    for (size_t i = 1; i < n && x[best] == x[best]; i++) {
        if ((smallest ? x[i] < x[best] : x[i] > x[best]) || x[i] != x[i]) best = i;
    }
    return best;
}

static double largest(size_t n, const real *x)
{
    return (double)x[first_extreme(n, x, false)];
}

static double smallest(size_t n, const real *x)
{
    return (double)x[first_extreme(n, x, true)];
}

static void max_rows(const corral_row_run *run)
{
    each_row(run, largest);
}

static void min_rows(const corral_row_run *run)
{
    each_row(run, smallest);
}

static inline void add_to_extreme(const corral_row_run *run, bool of_smallest)
{
    for (size_t r = 0; r < run->rows; r++) {
        const size_t at = r * run->n + first_extreme(run->n, (const real *)run->x + r * run->n, of_smallest);
        ((real *)run->x_grad)[at] += grad_of(run, r);
    }
}

static void max_rows_grad(const corral_row_run *run)
{
    add_to_extreme(run, false);
}

static void min_rows_grad(const corral_row_run *run)
{
    add_to_extreme(run, true);
}

// --- log sum exp ------------------------------------------------------------------------------------------

static double log_sum_exp(size_t n, const real *x)
{
    const double shift = n == 0 ? -INFINITY : largest(n, x);
    if (!isfinite(shift)) return shift; // -inf: nothing; +inf and NaN: themselves
    real e[BLOCK];
    double sum = 0.0;
    for (size_t i = 0; i < n; i += BLOCK) {
        const size_t count = block_at(n, i);
        for (size_t k = 0; k < count; k++)
            e[k] = x[i + k] - (real)shift;
        real_exp_all(count, e, e);
        for (size_t k = 0; k < count; k++)
            sum += (double)e[k];
    }
    return shift + log(sum);
}

static void log_sum_exp_rows(const corral_row_run *run)
{
    each_row(run, log_sum_exp);
}

/// The softmax; of an infinite row, 1 for the elements that are it, and 0 for -inf.
static void log_sum_exp_rows_grad(const corral_row_run *run)
{
    for (size_t i = 0; i < run->rows * run->n; i++) {
        const real x = ((const real *)run->x)[i], y = ((const real *)run->y)[i / run->n];
        const real g = grad_of(run, i / run->n);
        if (g == 0 || x == -(real)INFINITY) continue;
        ((real *)run->x_grad)[i] += x == y ? g : g * (real)exp((double)(x - y));
    }
}

// --- product ----------------------------------------------------------------------------------------------

static double row_product(size_t n, const real *x)
{
    double product = 1.0;
    for (size_t i = 0; i < n; i++)
        product *= (double)x[i];
    return product;
}

static void product_rows(const corral_row_run *run)
{
    each_row(run, row_product);
}

/// The product of the others: without dividing, so that zeros do no harm.
static void product_rows_grad(const corral_row_run *run)
{
    for (size_t r = 0; r < run->rows; r++) {
        const real *x = (const real *)run->x + r * run->n;
        for (size_t i = 0; i < run->n && grad_of(run, r) != 0; i++) {
            const double others = row_product(i, x) * row_product(run->n - i - 1, x + i + 1);
            ((real *)run->x_grad)[r * run->n + i] += grad_of(run, r) * (real)others;
        }
    }
}

// --- running sums -----------------------------------------------------------------------------------------

static void cumsum(const corral_row_run *run)
{
    for (size_t r = 0; r < run->rows; r++) {
        double sum = 0.0;
        for (size_t i = r * run->n; i < (r + 1) * run->n; i++) {
            sum += (double)((const real *)run->x)[i];
            ((real *)run->y)[i] = (real)sum;
        }
    }
}

static void cumsum_grad(const corral_row_run *run)
{
    for (size_t r = 0; r < run->rows; r++) {
        double sum = 0.0;
        for (size_t i = (r + 1) * run->n; i-- > r * run->n;) {
            sum += (double)((const real *)run->y_grad)[i];
            ((real *)run->x_grad)[i] += (real)sum;
        }
    }
}

#define REDUCTION(NAME, name) [CORRAL_REDUCTION_##NAME] = name

const corral_shape_kernels OF_DTYPE(corral_shapes) = {
    .move = move,
    .move_add = move_add,
    .fill = fill,
    .choose = choose,
    .choose_add = choose_add,
    .take_add = take_add,
    .reduce = {REDUCTION(SUM, sum_rows), REDUCTION(MAX, max_rows), REDUCTION(MIN, min_rows),
               REDUCTION(LOG_SUM_EXP, log_sum_exp_rows), REDUCTION(PRODUCT, product_rows)},
    .reduce_grad = {REDUCTION(SUM, sum_rows_grad), REDUCTION(MAX, max_rows_grad),
                    REDUCTION(MIN, min_rows_grad), REDUCTION(LOG_SUM_EXP, log_sum_exp_rows_grad),
                    REDUCTION(PRODUCT, product_rows_grad)},
    .cumsum = cumsum,
    .cumsum_grad = cumsum_grad,
    .sort = sort,
};

#undef REDUCTION
