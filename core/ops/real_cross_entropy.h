// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Cross entropy with class indices in `real`. A row's target is t(a) = (1 - s) [a = target] + s / classes;
// its loss is -sum t log p, its gradient by a logit p sum(t) - t. A class that is impossible takes no part in
// the spread share.

static double cross_entropy_row(const corral_cross_entropy_run *run, size_t row, double share)
{
    const real *x = (const real *)run->logits + row * run->classes;
    real *log_p = run->log_p, *grad = run->logits_grad;
    const double smoothing = (double)run->terms->smoothing, spread = smoothing / (double)run->classes;
    const size_t target = (size_t)run->terms->target[row];
    log_softmax_row(run->classes, x, log_p);
    double loss = 0.0, mass = 0.0;
    for (size_t a = 0; a < run->classes; a++) {
        double t = log_p[a] == -(real)INFINITY ? 0.0 : spread;
        if (a == target) t += 1.0 - smoothing;
        loss -= t == 0.0 ? 0.0 : t * (double)log_p[a];
        mass += t;
        if (grad != NULL) grad[row * run->classes + a] = (real)(-t * share);
    }
    for (size_t i = 0; i < run->classes && grad != NULL; i += BLOCK) {
        real p[BLOCK];
        const size_t count = block_at(run->classes, i);
        real_exp_all(count, log_p + i, p);
        for (size_t k = 0; k < count; k++)
            grad[row * run->classes + i + k] += p[k] * (real)(mass * share);
    }
    return loss;
}

static double cross_entropy(const corral_cross_entropy_run *run)
{
    const corral_cross_entropy_terms *terms = run->terms;
    size_t rows = terms->total_rows;
    for (size_t r = 0; r < run->rows && terms->total_rows == 0; r++)
        rows += terms->target[r] != terms->ignored;
    const double share = rows == 0 ? 0.0 : 1.0 / (double)rows;
    double total = 0.0;
    for (size_t r = 0; r < run->rows; r++)
        total += terms->target[r] == terms->ignored ? 0.0 : cross_entropy_row(run, r, share);
    return total * share;
}
