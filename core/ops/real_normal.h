// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Independent normal distributions in `real`; a row's numbers are sums over its `n` elements, in f64. With
// the mean m, l the logarithm of the deviation s, and z = (x - m) / s:
//
//     log p(x) = -z^2 / 2 - l - log(2 pi) / 2       d/dm = z / s    d/dl = z^2 - 1    d/dx = -z / s
//     H        = l + (1 + log(2 pi)) / 2            d/dl = 1
//     KL(p||q) = l_q - l_p + (s_p^2 + (m_p - m_q)^2) / (2 s_q^2) - 1/2
//
// A squashed normal is tanh of one. Its density at tanh(x) is p(x) / (1 - tanh(x)^2), and
//
//     log(1 - tanh(x)^2) = 2 (log 2 - |x| - log1p(exp(-2 |x|)))                       d/dx = -2 tanh(x)
//
// which is right where 1 - tanh(x)^2 has long become 0.

#define LOG_TWO    0.693147180559945309417
#define LOG_TWO_PI 1.837877066409345483561

/// exp of `count` logarithms of deviations, negated for `sign` -1.
static void real_deviation_block(size_t count, const real *log_std, int sign, real *out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = sign < 0 ? -log_std[i] : log_std[i];
    real_exp_all(count, out, out);
}

/// (x - m) / s of a block.
static void standardise(size_t count, const real *x, const real *mean, const real *inverse, real *z)
{
    for (size_t i = 0; i < count; i++)
        z[i] = (x[i] - mean[i]) * inverse[i];
}

/// The sum of log(1 - tanh(x)^2) over a block.
static double squash_block(size_t count, const real *x)
{
    real size[BLOCK], tail[BLOCK];
    for (size_t i = 0; i < count; i++) {
        size[i] = x[i] < 0 ? -x[i] : x[i];
        tail[i] = -2 * size[i];
    }
    real_exp_all(count, tail, tail);
    real_log1p_block(count, tail, tail);
    double sum = 0.0;
    for (size_t i = 0; i < count; i++)
        sum += 2.0 * (LOG_TWO - (double)size[i] - (double)tail[i]);
    return sum;
}

static double normal_log_prob_row(size_t n, const real *mean, const real *log_std, const real *x,
                                  bool squashed)
{
    double sum = -0.5 * LOG_TWO_PI * (double)n;
    real inverse[BLOCK], z[BLOCK];
    for (size_t i = 0; i < n; i += BLOCK) {
        const size_t count = block_at(n, i);
        real_deviation_block(count, log_std + i, -1, inverse);
        standardise(count, x + i, mean + i, inverse, z);
        for (size_t k = 0; k < count; k++)
            sum -= 0.5 * (double)z[k] * (double)z[k] + (double)log_std[i + k];
        if (squashed) sum -= squash_block(count, x + i);
    }
    return sum;
}

static inline const real *log_std_of(const corral_normal_side *side, size_t row)
{
    return (const real *)side->log_std + row * side->step;
}

static inline const real *mean_of(const corral_normal_side *side, size_t row, size_t n)
{
    return (const real *)side->mean + row * n;
}

/// Adds to the gradient of element i of row `row`'s logarithms, where it is wanted.
static inline void add_log_std_grad(const corral_normal_side *side, size_t row, size_t i, real value)
{
    if (side->log_std_grad != NULL) ((real *)side->log_std_grad)[row * side->step + i] += value;
}

static inline void add_mean_grad(const corral_normal_side *side, size_t at, real value)
{
    if (side->mean_grad != NULL) ((real *)side->mean_grad)[at] += value;
}

static void normal_log_prob(const corral_normal_run *run)
{
    for (size_t r = 0; r < run->rows; r++) {
        const real *x = (const real *)run->value + r * run->n;
        ((real *)run->y)[r] = (real)normal_log_prob_row(run->n, mean_of(&run->p, r, run->n),
                                                        log_std_of(&run->p, r), x, run->squashed);
    }
}

static void normal_log_prob_grad_block(const corral_normal_run *run, size_t row, size_t i, size_t count)
{
    real inverse[BLOCK], z[BLOCK], squashed[BLOCK];
    const size_t at = row * run->n + i;
    const real g = ((const real *)run->y_grad)[row], *x = (const real *)run->value + at;
    real_deviation_block(count, log_std_of(&run->p, row) + i, -1, inverse);
    standardise(count, x, (const real *)run->p.mean + at, inverse, z);
    memset(squashed, 0, sizeof squashed);
    if (run->squashed) real_tanh_all(count, x, squashed);
    for (size_t k = 0; k < count; k++) {
        const real slope = g * z[k] * inverse[k];
        add_mean_grad(&run->p, at + k, slope);
        add_log_std_grad(&run->p, row, i + k, g * (z[k] * z[k] - 1));
        if (run->value_grad != NULL) ((real *)run->value_grad)[at + k] += g * 2 * squashed[k] - slope;
    }
}

static void normal_log_prob_grad(const corral_normal_run *run)
{
    for (size_t r = 0; r < run->rows; r++) {
        if (((const real *)run->y_grad)[r] == 0) continue;
        for (size_t i = 0; i < run->n; i += BLOCK)
            normal_log_prob_grad_block(run, r, i, block_at(run->n, i));
    }
}

static void normal_entropy(const corral_normal_run *run)
{
    for (size_t r = 0; r < run->rows; r++) {
        double sum = 0.5 * (1.0 + LOG_TWO_PI) * (double)run->n;
        for (size_t i = 0; i < run->n; i++)
            sum += (double)log_std_of(&run->p, r)[i];
        ((real *)run->y)[r] = (real)sum;
    }
}

static void normal_entropy_grad(const corral_normal_run *run)
{
    for (size_t r = 0; r < run->rows; r++) {
        for (size_t i = 0; i < run->n; i++)
            add_log_std_grad(&run->p, r, i, ((const real *)run->y_grad)[r]);
    }
}

/// What the divergence of a block is made of: (s_p / s_q)^2 and (m_p - m_q) / s_q.
typedef struct normal_gap {
    real ratio[BLOCK], move[BLOCK], inverse[BLOCK]; // inverse: 1 / s_q
} normal_gap;

static normal_gap normal_gap_at(const corral_normal_run *run, size_t row, size_t i, size_t count)
{
    normal_gap gap;
    const size_t at = row * run->n + i;
    const real *l_p = log_std_of(&run->p, row) + i, *l_q = log_std_of(&run->q, row) + i;
    real_deviation_block(count, l_q, -1, gap.inverse);
    standardise(count, (const real *)run->p.mean + at, (const real *)run->q.mean + at, gap.inverse, gap.move);
    for (size_t k = 0; k < count; k++)
        gap.ratio[k] = 2 * (l_p[k] - l_q[k]);
    real_exp_all(count, gap.ratio, gap.ratio);
    return gap;
}

static void normal_kl(const corral_normal_run *run)
{
    for (size_t r = 0; r < run->rows; r++) {
        const real *l_p = log_std_of(&run->p, r), *l_q = log_std_of(&run->q, r);
        double sum = 0.0;
        for (size_t i = 0; i < run->n; i += BLOCK) {
            const size_t count = block_at(run->n, i);
            const normal_gap gap = normal_gap_at(run, r, i, count);
            for (size_t k = 0; k < count; k++)
                sum += (double)l_q[i + k] - (double)l_p[i + k] +
                       0.5 * ((double)gap.ratio[k] + (double)gap.move[k] * (double)gap.move[k] - 1.0);
        }
        ((real *)run->y)[r] = (real)sum;
    }
}

static void normal_kl_grad(const corral_normal_run *run)
{
    for (size_t r = 0; r < run->rows; r++) {
        const real g = ((const real *)run->y_grad)[r];
        for (size_t i = 0; i < run->n && g != 0; i += BLOCK) {
            const size_t count = block_at(run->n, i), at = r * run->n + i;
            const normal_gap gap = normal_gap_at(run, r, i, count);
            for (size_t k = 0; k < count; k++) {
                const real slope = g * gap.move[k] * gap.inverse[k];
                add_mean_grad(&run->p, at + k, slope);
                add_mean_grad(&run->q, at + k, -slope);
                add_log_std_grad(&run->p, r, i + k, g * (gap.ratio[k] - 1));
                add_log_std_grad(&run->q, r, i + k, g * (1 - gap.ratio[k] - gap.move[k] * gap.move[k]));
            }
        }
    }
}

#undef LOG_TWO
#undef LOG_TWO_PI
