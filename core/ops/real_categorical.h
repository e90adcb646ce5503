// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Categorical distributions in `real`, several independent ones side by side in a row (one for Discrete).
// With p = softmax(x):
//
//     log p(a) = x(a) - max x - log sum exp(x - max x)        d log p(a) / d x(b) = [a = b] - p(b)
//     H        = -sum p log p                                 d H / d x(b)  = -p(b) (log p(b) + H)
//     KL(p||q) = sum p (log p - log q)                        d KL / d x(b) = p(b) (log p(b) - log q(b) - KL)
//                                                             d KL / d y(b) = q(b) - p(b), y the logits of q
//
// An action of probability zero adds nothing (0 log 0 = 0) and has gradient 0. Blocks of rows are walked
// column by column, so that exp and log see arrays; each row's arithmetic is its own, and that of
// log_softmax in real_rows.h.

/// One part of a block of rows.
typedef struct part {
    size_t rows, step, n;
    const real *x;                     // x[r * step + a]
    real shift[BLOCK], log_sum[BLOCK]; // log p(a) = (x[a] - shift) - log_sum
} part;

static void part_norms(part *p)
{
    real sum[BLOCK], e[BLOCK];
    for (size_t r = 0; r < p->rows; r++)
        p->shift[r] = p->x[r * p->step];
    for (size_t a = 1; a < p->n; a++) {
        for (size_t r = 0; r < p->rows; r++)
            p->shift[r] = p->x[r * p->step + a] > p->shift[r] ? p->x[r * p->step + a] : p->shift[r];
    }
    for (size_t r = 0; r < p->rows; r++) {
        if (p->shift[r] == -(real)INFINITY) p->shift[r] = 0; // nothing is possible: log p stays -inf
        sum[r] = 0;
    }
    for (size_t a = 0; a < p->n; a++) {
        for (size_t r = 0; r < p->rows; r++)
            e[r] = p->x[r * p->step + a] - p->shift[r];
        real_exp_all(p->rows, e, e);
        for (size_t r = 0; r < p->rows; r++)
            sum[r] += e[r];
    }
    for (size_t r = 0; r < p->rows; r++)
        sum[r] = sum[r] == 0 ? 1 : sum[r];
    real_log_all(p->rows, sum, p->log_sum);
}

static part part_at(size_t rows, size_t step, size_t n, const real *x)
{
    part p = {.rows = rows, .step = step, .n = n, .x = x};
    part_norms(&p);
    return p;
}

/// log p and p of one action of each row.
static void part_column(const part *p, size_t a, real *log_prob, real *prob)
{
    for (size_t r = 0; r < p->rows; r++)
        log_prob[r] = (p->x[r * p->step + a] - p->shift[r]) - p->log_sum[r];
    real_exp_all(p->rows, log_prob, prob);
}

/// Where a part of a block of rows lies: its first row, its number among the parts, its first logit.
typedef struct place {
    size_t first, number, offset;
} place;

/// Calls `visit` for each part of each block of rows.
static void each_part(const corral_discrete_run *run,
                      void (*visit)(const corral_discrete_run *run, const part *p, const place *at))
{
    for (size_t r = 0; r < run->rows; r += BLOCK) {
        place at = {.first = r};
        for (; at.number < run->count; at.number++) {
            const real *x = (const real *)run->logits + r * run->width + at.offset;
            const part p = part_at(block_at(run->rows, r), run->width, run->sizes[at.number], x);
            visit(run, &p, &at);
            at.offset += run->sizes[at.number];
        }
    }
}

static void start_at_zero(const corral_discrete_run *run)
{
    memset(run->y, 0, run->rows * sizeof(real));
}

// --- log probability --------------------------------------------------------------------------------------

static void add_log_prob(const corral_discrete_run *run, const part *p, const place *at)
{
    real *y = (real *)run->y + at->first;
    for (size_t r = 0; r < p->rows; r++) {
        const size_t action = (size_t)run->action[(at->first + r) * run->count + at->number];
        y[r] += (p->x[r * p->step + action] - p->shift[r]) - p->log_sum[r];
    }
}

static void categorical_log_prob(const corral_discrete_run *run)
{
    start_at_zero(run);
    each_part(run, add_log_prob);
}

static void add_log_prob_grad(const corral_discrete_run *run, const part *p, const place *at)
{
    real log_prob[BLOCK], prob[BLOCK];
    const real *g = (const real *)run->y_grad + at->first;
    real *to = (real *)run->logits_grad + at->first * run->width + at->offset;
    for (size_t a = 0; a < p->n; a++) {
        part_column(p, a, log_prob, prob);
        for (size_t r = 0; r < p->rows; r++) {
            const int32_t action = run->action[(at->first + r) * run->count + at->number];
            const bool counts = g[r] != 0 && log_prob[r] != -(real)INFINITY;
            to[r * p->step + a] += counts ? g[r] * ((action == (int32_t)a ? 1 : 0) - prob[r]) : 0;
        }
    }
}

static void categorical_log_prob_grad(const corral_discrete_run *run)
{
    if (run->logits_grad != NULL) each_part(run, add_log_prob_grad);
}

// --- entropy ----------------------------------------------------------------------------------------------

static void part_entropy(const part *p, real *entropy)
{
    real log_prob[BLOCK], prob[BLOCK];
    memset(entropy, 0, p->rows * sizeof(real));
    for (size_t a = 0; a < p->n; a++) {
        part_column(p, a, log_prob, prob);
        for (size_t r = 0; r < p->rows; r++)
            entropy[r] -= prob[r] == 0 ? 0 : prob[r] * log_prob[r];
    }
}

static void add_entropy(const corral_discrete_run *run, const part *p, const place *at)
{
    real entropy[BLOCK];
    part_entropy(p, entropy);
    for (size_t r = 0; r < p->rows; r++)
        ((real *)run->y)[at->first + r] += entropy[r];
}

static void categorical_entropy(const corral_discrete_run *run)
{
    start_at_zero(run);
    each_part(run, add_entropy);
}

static void add_entropy_grad(const corral_discrete_run *run, const part *p, const place *at)
{
    real entropy[BLOCK], log_prob[BLOCK], prob[BLOCK];
    const real *g = (const real *)run->y_grad + at->first;
    real *to = (real *)run->logits_grad + at->first * run->width + at->offset;
    part_entropy(p, entropy);
    for (size_t a = 0; a < p->n; a++) {
        part_column(p, a, log_prob, prob);
        for (size_t r = 0; r < p->rows; r++) {
            const bool counts = g[r] != 0 && prob[r] != 0;
            to[r * p->step + a] -= counts ? g[r] * prob[r] * (log_prob[r] + entropy[r]) : 0;
        }
    }
}

static void categorical_entropy_grad(const corral_discrete_run *run)
{
    if (run->logits_grad != NULL) each_part(run, add_entropy_grad);
}

// --- divergence -------------------------------------------------------------------------------------------

static part other_part(const corral_discrete_run *run, const part *p, const place *at)
{
    return part_at(p->rows, p->step, p->n, (const real *)run->other + at->first * run->width + at->offset);
}

static void part_kl(const part *p, const part *q, real *kl)
{
    real log_p[BLOCK], prob_p[BLOCK], log_q[BLOCK], prob_q[BLOCK];
    memset(kl, 0, p->rows * sizeof(real));
    for (size_t a = 0; a < p->n; a++) {
        part_column(p, a, log_p, prob_p);
        part_column(q, a, log_q, prob_q);
        for (size_t r = 0; r < p->rows; r++)
            kl[r] += prob_p[r] == 0 ? 0 : prob_p[r] * (log_p[r] - log_q[r]);
    }
}

static void add_kl(const corral_discrete_run *run, const part *p, const place *at)
{
    real kl[BLOCK];
    const part q = other_part(run, p, at);
    part_kl(p, &q, kl);
    for (size_t r = 0; r < p->rows; r++)
        ((real *)run->y)[at->first + r] += kl[r];
}

static void categorical_kl(const corral_discrete_run *run)
{
    start_at_zero(run);
    each_part(run, add_kl);
}

/// A row whose divergence is infinite has no slope by p; by q it is pulled back as any other.
static void add_kl_grad(const corral_discrete_run *run, const part *p, const place *at)
{
    real kl[BLOCK], log_p[BLOCK], prob_p[BLOCK], log_q[BLOCK], prob_q[BLOCK];
    const part q = other_part(run, p, at);
    const real *g = (const real *)run->y_grad + at->first;
    const size_t start = at->first * run->width + at->offset;
    part_kl(p, &q, kl);
    for (size_t a = 0; a < p->n; a++) {
        part_column(p, a, log_p, prob_p);
        part_column(&q, a, log_q, prob_q);
        for (size_t r = 0; r < p->rows; r++) {
            const size_t to = start + r * p->step + a;
            const bool has_slope = g[r] != 0 && prob_p[r] != 0 && kl[r] != (real)INFINITY;
            if (run->logits_grad != NULL && has_slope)
                ((real *)run->logits_grad)[to] += g[r] * prob_p[r] * ((log_p[r] - log_q[r]) - kl[r]);
            if (run->other_grad != NULL && g[r] != 0 && log_q[r] != -(real)INFINITY)
                ((real *)run->other_grad)[to] += g[r] * (prob_q[r] - prob_p[r]);
        }
    }
}

static void categorical_kl_grad(const corral_discrete_run *run)
{
    each_part(run, add_kl_grad);
}

// --- masks ------------------------------------------------------------------------------------------------

static void mask(size_t count, const void *x, const uint8_t *allowed, void *y)
{
    for (size_t i = 0; i < count; i++)
        ((real *)y)[i] = allowed[i] != 0 ? ((const real *)x)[i] : -(real)INFINITY;
}

static void mask_grad(size_t count, const uint8_t *allowed, const void *y_grad, void *x_grad)
{
    for (size_t i = 0; i < count; i++) {
        if (allowed[i] != 0) ((real *)x_grad)[i] += ((const real *)y_grad)[i];
    }
}
