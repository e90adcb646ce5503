// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The quantile Huber loss in `real`. For each quantile q_i at tau_i = (i + 1/2) / n and each target t_j, with
// u = t_j - q_i and h(u) = u^2 / 2 where |u| <= k, else k (|u| - k/2):
//
//     rho = |tau_i - [u < 0]| h(u) / k,     d rho / d q_i = -|tau_i - [u < 0]| clip(u, -k, k) / k
//
// and without k, rho = |tau_i - [u < 0]| |u|. A row sums over i and takes the mean over j.

static double quantile_row(const corral_quantile_terms *terms, const real *quantile, const float *target,
                           double factor, real *grad)
{
    const double kappa = (double)terms->huber_delta;
    double loss = 0.0;
    for (size_t i = 0; i < terms->quantiles; i++) {
        const double tau = ((double)i + 0.5) / (double)terms->quantiles;
        double slope = 0.0;
        for (size_t j = 0; j < terms->targets; j++) {
            const double u = (double)target[j] - (double)quantile[i], size = fabs(u);
            const double side = u < 0.0 ? 1.0 - tau : tau;
            const bool far = size > kappa && size != INFINITY; // what is not finite must not get lost
            loss += side * (kappa > 0.0 && !far ? 0.5 * u * u / kappa : size - 0.5 * kappa);
            slope -= side * (kappa > 0.0 && !far ? u / kappa : u < 0.0 ? -1.0 : u > 0.0 ? 1.0 : u);
        }
        if (grad != NULL) grad[i] = (real)(factor * slope / (double)terms->targets);
    }
    return loss / (double)terms->targets;
}

static double mean_of_quantiles(size_t count, const real *x)
{
    double sum = 0.0;
    for (size_t i = 0; i < count; i++)
        sum += (double)x[i];
    return sum / (double)count;
}

static double mean_of_targets(size_t count, const float *x)
{
    double sum = 0.0;
    for (size_t i = 0; i < count; i++)
        sum += (double)x[i];
    return sum / (double)count;
}

static double quantile(const corral_quantile_run *run)
{
    const corral_quantile_terms *terms = run->terms;
    const double share = terms->total_rows == 0 ? 0.0 : 1.0 / (double)terms->total_rows;
    double total = 0.0;
    for (size_t r = 0; r < run->rows; r++) {
        const size_t at = (r * terms->actions + (size_t)terms->action[r]) * terms->quantiles;
        const real *from = (const real *)run->quantiles + at;
        const float *target = terms->target + r * terms->targets;
        const double weight = terms->weight == NULL ? 1.0 : (double)terms->weight[r];
        real *grad = run->quantiles_grad == NULL ? NULL : (real *)run->quantiles_grad + at;
        const double loss = quantile_row(terms, from, target, weight * share, grad);
        const double q = mean_of_quantiles(terms->quantiles, from);
        const double error = q - mean_of_targets(terms->targets, target);
        total += weight * loss;
        if (run->error != NULL) run->error[r] = (float)error;
        if (run->stats == NULL) continue;
        run->stats->loss += weight * loss;
        run->stats->q += q;
        run->stats->error += fabs(error);
    }
    if (run->stats != NULL) run->stats->rows += run->rows;
    return total * share;
}
