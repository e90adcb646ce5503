// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The loss of C51 in `real`. With p the softmax of the atoms' logits of the action taken and m the target, a
// row's loss is -w sum m log p and its gradient by a logit w (p sum(m) - m). An atom of target 0 adds
// nothing, also where log p is -inf.

/// log softmax of `n` numbers.
static void log_softmax_row(size_t n, const real *x, real *log_p)
{
    real shift = x[0], e[BLOCK], log_sum;
    double sum = 0.0;
    for (size_t i = 1; i < n; i++)
        shift = x[i] > shift ? x[i] : shift;
    for (size_t i = 0; i < n; i += BLOCK) {
        const size_t count = block_at(n, i);
        for (size_t k = 0; k < count; k++)
            e[k] = x[i + k] - shift;
        real_exp_all(count, e, e);
        for (size_t k = 0; k < count; k++)
            sum += (double)e[k];
    }
    log_sum = (real)sum;
    real_log_all(1, &log_sum, &log_sum);
    for (size_t i = 0; i < n; i++)
        log_p[i] = (x[i] - shift) - log_sum;
}

/// Writes w share (p sum(m) - m).
static void c51_slope(size_t n, const real *log_p, const float *target, real mass, real factor, real *out)
{
    for (size_t i = 0; i < n; i += BLOCK) {
        const size_t count = block_at(n, i);
        real_exp_all(count, log_p + i, out + i);
        for (size_t k = 0; k < count; k++)
            out[i + k] = factor * (out[i + k] * mass - (real)target[i + k]);
    }
}

static double c51_expectation(const corral_c51_support *support, const real *log_p)
{
    const double step = ((double)support->v_max - (double)support->v_min) / (double)(support->atoms - 1);
    double q = 0.0;
    for (size_t i = 0; i < support->atoms; i += BLOCK) {
        real p[BLOCK];
        const size_t count = block_at(support->atoms, i);
        real_exp_all(count, log_p + i, p);
        for (size_t k = 0; k < count; k++)
            q += (double)p[k] * ((double)support->v_min + step * (double)(i + k));
    }
    return q;
}

/// Returns the row's cross entropy.
static double c51_row(const corral_c51_run *run, size_t row, double share, real *log_p)
{
    const corral_c51_terms *terms = run->terms;
    const size_t atoms = terms->support.atoms;
    const size_t at = (row * terms->support.actions + (size_t)terms->action[row]) * atoms;
    const float *target = terms->target + row * atoms;
    const double weight = terms->weight == NULL ? 1.0 : (double)terms->weight[row];
    log_softmax_row(atoms, (const real *)run->logits + at, log_p);
    double loss = 0.0, mass = 0.0;
    for (size_t i = 0; i < atoms; i++) {
        loss -= target[i] == 0.0f ? 0.0 : (double)target[i] * (double)log_p[i];
        mass += (double)target[i];
    }
    if (run->logits_grad != NULL)
        c51_slope(atoms, log_p, target, (real)mass, (real)(weight * share), (real *)run->logits_grad + at);
    return loss;
}

static double c51(const corral_c51_run *run)
{
    const corral_c51_terms *terms = run->terms;
    const double share = terms->total_rows == 0 ? 0.0 : 1.0 / (double)terms->total_rows;
    double total = 0.0;
    real log_p[CORRAL_C51_MOST_ATOMS];
    for (size_t r = 0; r < run->rows; r++) {
        const double weight = terms->weight == NULL ? 1.0 : (double)terms->weight[r];
        const double loss = c51_row(run, r, share, log_p);
        total += weight * loss;
        if (run->error != NULL) run->error[r] = (float)loss;
        if (run->stats == NULL) continue;
        run->stats->loss += weight * loss;
        run->stats->q += c51_expectation(&terms->support, log_p);
        run->stats->error += loss;
    }
    if (run->stats != NULL) run->stats->rows += run->rows;
    return total * share;
}
