// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Independent Beta distributions in `real`: densities on (0, 1) with the parameters a and b. All arithmetic
// is in f64; a row's numbers are sums over its `n` elements. With psi the digamma function, psi' its
// derivative and s = a + b:
//
//     log p(x) = (a-1) log x + (b-1) log(1-x) - log B(a, b)     d/da = log x - psi(a) + psi(s)
//     H        = log B - (a-1) psi(a) - (b-1) psi(b) + (s-2) psi(s)
//     KL(p||q) = log B_q - log B_p + (a_p-a_q) psi(a_p) + (b_p-b_q) psi(b_p) + (s_q-s_p) psi(s_p)
//
// A sample is the x below which lies the share u: x = F^-1(u), so that dx/da = -(dF/da) / p(x).

/// One element's parameters.
typedef struct beta_pair {
    double a, b;
} beta_pair;

static beta_pair beta_at(const corral_beta_side *side, size_t i)
{
    return (beta_pair){(double)((const real *)side->alpha)[i], (double)((const real *)side->beta)[i]};
}

static void add_beta_grad(const corral_beta_side *side, size_t i, double a, double b)
{
    if (side->alpha_grad != NULL) ((real *)side->alpha_grad)[i] += (real)a;
    if (side->beta_grad != NULL) ((real *)side->beta_grad)[i] += (real)b;
}

/// 0 log 0 = 0: at the end of the range a parameter of 1 says nothing.
static double weighted_log(double weight, double logarithm)
{
    return weight == 0.0 ? 0.0 : weight * logarithm;
}

static double beta_log_density(beta_pair p, double x)
{
    if (x < 0.0 || x > 1.0) return -INFINITY;
    return weighted_log(p.a - 1.0, log(x)) + weighted_log(p.b - 1.0, log1p(-x)) - corral_log_beta(p.a, p.b);
}

static double beta_log_prob_of(const corral_beta_run *run, size_t i)
{
    return beta_log_density(beta_at(&run->p, i), (double)((const real *)run->value)[i]);
}

static void beta_log_prob_slope(const corral_beta_run *run, size_t i, double g)
{
    const beta_pair p = beta_at(&run->p, i);
    const double x = (double)((const real *)run->value)[i], all = corral_digamma(p.a + p.b);
    add_beta_grad(&run->p, i, g * (log(x) - corral_digamma(p.a) + all),
                  g * (log1p(-x) - corral_digamma(p.b) + all));
    if (run->value_grad != NULL)
        ((real *)run->value_grad)[i] += (real)(g * ((p.a - 1.0) / x - (p.b - 1.0) / (1.0 - x)));
}

static double beta_entropy_of(const corral_beta_run *run, size_t i)
{
    const beta_pair p = beta_at(&run->p, i);
    return corral_log_beta(p.a, p.b) - (p.a - 1.0) * corral_digamma(p.a) - (p.b - 1.0) * corral_digamma(p.b) +
           (p.a + p.b - 2.0) * corral_digamma(p.a + p.b);
}

static void beta_entropy_slope(const corral_beta_run *run, size_t i, double g)
{
    const beta_pair p = beta_at(&run->p, i);
    const double both = (p.a + p.b - 2.0) * corral_trigamma(p.a + p.b);
    add_beta_grad(&run->p, i, g * (both - (p.a - 1.0) * corral_trigamma(p.a)),
                  g * (both - (p.b - 1.0) * corral_trigamma(p.b)));
}

static double beta_kl_of(const corral_beta_run *run, size_t i)
{
    const beta_pair p = beta_at(&run->p, i), q = beta_at(&run->q, i);
    return corral_log_beta(q.a, q.b) - corral_log_beta(p.a, p.b) + (p.a - q.a) * corral_digamma(p.a) +
           (p.b - q.b) * corral_digamma(p.b) + (q.a - p.a + q.b - p.b) * corral_digamma(p.a + p.b);
}

static void beta_kl_slope(const corral_beta_run *run, size_t i, double g)
{
    const beta_pair p = beta_at(&run->p, i), q = beta_at(&run->q, i);
    const double both = (q.a - p.a + q.b - p.b) * corral_trigamma(p.a + p.b);
    const double gap = corral_digamma(p.a + p.b) - corral_digamma(q.a + q.b);
    add_beta_grad(&run->p, i, g * ((p.a - q.a) * corral_trigamma(p.a) + both),
                  g * ((p.b - q.b) * corral_trigamma(p.b) + both));
    add_beta_grad(&run->q, i, g * (corral_digamma(q.a) - corral_digamma(p.a) + gap),
                  g * (corral_digamma(q.b) - corral_digamma(p.b) + gap));
}

/// Never an end of the range, where a density may be infinite.
static real beta_sample_of(beta_pair p, double u)
{
    const real x = (real)corral_incomplete_beta_inverse(p.a, p.b, u);
    const real least = sizeof(real) == 4 ? (real)0x1p-126 : (real)0x1p-1000;
    const real most = sizeof(real) == 4 ? (real)(1.0 - 0x1p-24) : (real)(1.0 - 0x1p-53);
    return x < least ? least : x > most ? most : x;
}

static void beta_rsample(const corral_beta_run *run)
{
    for (size_t i = 0; i < run->rows * run->n; i++)
        ((real *)run->y)[i] = beta_sample_of(beta_at(&run->p, i), (double)((const real *)run->value)[i]);
}

static void beta_rsample_grad(const corral_beta_run *run)
{
    for (size_t i = 0; i < run->rows * run->n; i++) {
        const beta_pair p = beta_at(&run->p, i);
        const double g = (double)((const real *)run->y_grad)[i], x = (double)((const real *)run->y)[i];
        if (g == 0.0) continue;
        const corral_dual share = corral_incomplete_beta(p.a, p.b, x);
        const double factor = -g / exp(beta_log_density(p, x));
        add_beta_grad(&run->p, i, factor * share.by_a, factor * share.by_b);
    }
}

#define BETA_ROWS(name)                                                                                      \
    static void name(const corral_beta_run *run)                                                             \
    {                                                                                                        \
        for (size_t r = 0; r < run->rows; r++) {                                                             \
            double sum = 0.0;                                                                                \
            for (size_t i = r * run->n; i < (r + 1) * run->n; i++)                                           \
                sum += name##_of(run, i);                                                                    \
            ((real *)run->y)[r] = (real)sum;                                                                 \
        }                                                                                                    \
    }                                                                                                        \
    static void name##_grad(const corral_beta_run *run)                                                      \
    {                                                                                                        \
        for (size_t r = 0; r < run->rows; r++) {                                                             \
            const double g = (double)((const real *)run->y_grad)[r];                                         \
            for (size_t i = r * run->n; i < (r + 1) * run->n && g != 0.0; i++)                               \
                name##_slope(run, i, g);                                                                     \
        }                                                                                                    \
    }
BETA_ROWS(beta_log_prob)
BETA_ROWS(beta_entropy)
BETA_ROWS(beta_kl)
#undef BETA_ROWS
