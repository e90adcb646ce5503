// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Independent Bernoulli distributions in `real`; a row's numbers are sums over its logits. With
// p = sigmoid(x) and s = softplus, so that log p = -s(-x) and log (1 - p) = -s(x):
//
//     log p(a) = -s(a ? -x : x)                                  d / dx = a - p
//     H        = p s(-x) + (1 - p) s(x)                          d / dx = -x p (1 - p)
//     KL(p||q) = p (s(-y) - s(-x)) + (1 - p) (s(y) - s(x))       d / dx = (x - y) p (1 - p)
//                                                                d / dy = q - p
//
// Nothing is infinite unless a logit is, and what has probability zero adds nothing.

/// A block of a row's logits with what the formulas are made of.
typedef struct flips {
    size_t count;
    real p[BLOCK];      // of 1
    real on[BLOCK];     // -log p
    real off[BLOCK];    // -log (1 - p)
    real spread[BLOCK]; // p (1 - p)
} flips;

static flips flips_at(size_t count, const real *x)
{
    flips f = {.count = count};
    real minus[BLOCK] = {0}, q[BLOCK]; // zeroed for a compiler that cannot know that `count` is not 0
    for (size_t i = 0; i < count; i++)
        minus[i] = -x[i];
    real_sigmoid_block(count, x, f.p);
    real_sigmoid_block(count, minus, q);
    real_softplus_block(count, minus, f.on);
    real_softplus_block(count, x, f.off);
    for (size_t i = 0; i < count; i++)
        f.spread[i] = f.p[i] * q[i];
    return f;
}

/// 0 where the probability is, also of an infinite amount.
static inline real weighed(real probability, real amount)
{
    return probability == 0 ? 0 : probability * amount;
}

/// Calls `visit` for each block of each row with the element it begins at.
static void each_flips(const corral_discrete_run *run,
                       double (*visit)(const corral_discrete_run *run, const flips *f, size_t row, size_t at))
{
    for (size_t r = 0; r < run->rows; r++) {
        double sum = 0.0;
        for (size_t i = 0; i < run->width; i += BLOCK) {
            const size_t at = r * run->width + i;
            const flips f = flips_at(block_at(run->width, i), (const real *)run->logits + at);
            sum += visit(run, &f, r, at);
        }
        if (run->y_grad == NULL) ((real *)run->y)[r] = (real)sum;
    }
}

static double flips_log_prob(const corral_discrete_run *run, const flips *f, size_t row, size_t at)
{
    (void)row;
    double sum = 0.0;
    for (size_t i = 0; i < f->count; i++)
        sum -= (double)(run->action[at + i] != 0 ? f->on[i] : f->off[i]);
    return sum;
}

static double flips_log_prob_grad(const corral_discrete_run *run, const flips *f, size_t row, size_t at)
{
    const real g = ((const real *)run->y_grad)[row];
    for (size_t i = 0; i < f->count && g != 0; i++)
        ((real *)run->logits_grad)[at + i] += g * ((run->action[at + i] != 0 ? 1 : 0) - f->p[i]);
    return 0.0;
}

static double flips_entropy(const corral_discrete_run *run, const flips *f, size_t row, size_t at)
{
    (void)run, (void)row, (void)at;
    double sum = 0.0;
    for (size_t i = 0; i < f->count; i++)
        sum += (double)(weighed(f->p[i], f->on[i]) + weighed(1 - f->p[i], f->off[i]));
    return sum;
}

static double flips_entropy_grad(const corral_discrete_run *run, const flips *f, size_t row, size_t at)
{
    const real g = ((const real *)run->y_grad)[row];
    for (size_t i = 0; i < f->count && g != 0; i++)
        ((real *)run->logits_grad)[at + i] -= g * weighed(f->spread[i], ((const real *)run->logits)[at + i]);
    return 0.0;
}

static double flips_kl(const corral_discrete_run *run, const flips *f, size_t row, size_t at)
{
    (void)row;
    const flips other = flips_at(f->count, (const real *)run->other + at);
    double sum = 0.0;
    for (size_t i = 0; i < f->count; i++) {
        sum += (double)weighed(f->p[i], other.on[i] - f->on[i]);
        sum += (double)weighed(1 - f->p[i], other.off[i] - f->off[i]);
    }
    return sum;
}

static double flips_kl_grad(const corral_discrete_run *run, const flips *f, size_t row, size_t at)
{
    const flips other = flips_at(f->count, (const real *)run->other + at);
    const real g = ((const real *)run->y_grad)[row];
    const real *x = (const real *)run->logits + at, *y = (const real *)run->other + at;
    for (size_t i = 0; i < f->count && g != 0; i++) {
        if (run->logits_grad != NULL)
            ((real *)run->logits_grad)[at + i] += g * weighed(f->spread[i], x[i] - y[i]);
        if (run->other_grad != NULL) ((real *)run->other_grad)[at + i] += g * (other.p[i] - f->p[i]);
    }
    return 0.0;
}

#define BERNOULLI(name)                                                                                      \
    static void bernoulli_##name(const corral_discrete_run *run)                                             \
    {                                                                                                        \
        each_flips(run, flips_##name);                                                                       \
    }
BERNOULLI(log_prob)
BERNOULLI(log_prob_grad)
BERNOULLI(entropy)
BERNOULLI(entropy_grad)
BERNOULLI(kl)
BERNOULLI(kl_grad)
#undef BERNOULLI
