// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The loss of PPO in `real`, over rows whose log-probability, entropy and divergence somebody else worked
// out. With the ratio r = exp(log p - old log p) and the advantage A, a row's loss is
//
//     -min(r A, clip(r) A) + c_v 0.5 min(max((v - R)^2, (v_clip - R)^2), bound) - c_e H + c_k KL
//
// The gradient by log p is -r A where the unclipped term is the smaller one, and else 0.

typedef struct ppo_terms_block {
    size_t first, rows;
    real log_ratio[BLOCK], ratio[BLOCK];
} ppo_terms_block;

static ppo_terms_block ppo_terms_at(const corral_ppo_terms_run *run, size_t first, size_t rows)
{
    ppo_terms_block b = {.first = first, .rows = rows};
    for (size_t r = 0; r < rows; r++)
        b.log_ratio[r] = ((const real *)run->log_prob)[first + r] - (real)run->terms->old_log_prob[first + r];
    real_exp_all(rows, b.log_ratio, b.ratio);
    return b;
}

static double policy_terms(const corral_ppo_terms_run *run, const ppo_terms_block *b, real share)
{
    double loss = 0.0;
    const real low = 1 - (real)run->terms->clip_range, high = 1 + (real)run->terms->clip_range;
    for (size_t r = 0; r < b->rows; r++) {
        const real advantage = (real)run->terms->advantage[b->first + r], ratio = b->ratio[r];
        const real clipped = ratio < low ? low : ratio > high ? high : ratio;
        const real plain = ratio * advantage, bounded = clipped * advantage;
        const bool takes_plain = !(plain > bounded); // also for NaN, which must not get lost
        loss -= (double)(takes_plain ? plain : bounded);
        if (run->log_prob_grad != NULL)
            ((real *)run->log_prob_grad)[b->first + r] = takes_plain ? -plain * share : 0;
    }
    return loss;
}

/// The error whose square counts, and its slope by v.
static real value_error(const corral_ppo_terms *terms, size_t row, real v, real *out_slope)
{
    const real target = (real)terms->value_target[row], range = (real)terms->value_clip_range;
    const real error = v - target;
    *out_slope = error;
    if (!(range > 0)) return error;
    const real old = (real)terms->old_value[row], move = v - old;
    const bool inside = move >= -range && move <= range;
    const real clipped = old + (move < -range ? -range : move > range ? range : move) - target;
    if (!(clipped * clipped > error * error)) return error;
    *out_slope = inside ? clipped : 0;
    return clipped;
}

static double value_terms(const corral_ppo_terms_run *run, const ppo_terms_block *b, real factor)
{
    double loss = 0.0;
    const real bound = run->terms->value_error_clip > 0 ? (real)run->terms->value_error_clip : (real)INFINITY;
    for (size_t r = b->first; r < b->first + b->rows; r++) {
        real slope, error = value_error(run->terms, r, ((const real *)run->value)[r], &slope);
        const bool beyond = error * error > bound;
        loss += (double)((real)0.5 * (beyond ? bound : error * error));
        if (run->value_grad != NULL) ((real *)run->value_grad)[r] = beyond ? 0 : slope * factor;
    }
    return loss;
}

static double entropy_terms(const corral_ppo_terms_run *run, const ppo_terms_block *b, real factor)
{
    double sum = 0.0;
    for (size_t r = b->first; r < b->first + b->rows; r++) {
        sum += (double)((const real *)run->entropy)[r];
        if (run->entropy_grad != NULL) ((real *)run->entropy_grad)[r] = -factor;
    }
    return sum;
}

/// The sum of the divergences that are finite; counts the others.
static double kl_terms(const corral_ppo_terms_run *run, const ppo_terms_block *b, real factor)
{
    double sum = 0.0;
    for (size_t r = b->first; r < b->first + b->rows; r++) {
        const real kl = ((const real *)run->kl)[r];
        const bool counts = kl != (real)INFINITY; // NaN does: it must not get lost
        sum += counts ? (double)kl : 0.0;
        if (run->stats != NULL) run->stats->infinite_kl += counts ? 0 : 1;
        if (run->kl_grad != NULL) ((real *)run->kl_grad)[r] = counts ? factor : 0;
    }
    if (run->stats != NULL) run->stats->kl += sum;
    return sum;
}

static void count_ratios(const ppo_terms_block *b, double clip_range, corral_ppo_stats *stats)
{
    for (size_t r = 0; r < b->rows; r++) {
        const double deviation = fabs((double)b->ratio[r] - 1.0);
        stats->approx_kl += ((double)b->ratio[r] - 1.0) - (double)b->log_ratio[r];
        stats->clip_fraction += deviation > clip_range ? 1.0 : 0.0;
        if (deviation > stats->max_ratio_deviation) stats->max_ratio_deviation = deviation;
    }
    stats->rows += b->rows;
}

static double ppo_terms(const corral_ppo_terms_run *run)
{
    const corral_ppo_terms *terms = run->terms;
    const double share = terms->total_rows == 0 ? 0.0 : 1.0 / (double)terms->total_rows;
    const double c_v = (double)terms->value_coefficient, c_e = (double)terms->entropy_coefficient;
    const double c_k = (double)terms->kl_coefficient;
    double total = 0.0;
    for (size_t first = 0; first < run->rows; first += BLOCK) {
        const ppo_terms_block b = ppo_terms_at(run, first, block_at(run->rows, first));
        const double policy_loss = policy_terms(run, &b, (real)share);
        const double value_loss = value_terms(run, &b, (real)(c_v * share));
        const double entropy = entropy_terms(run, &b, (real)(c_e * share));
        total += policy_loss + c_v * value_loss - c_e * entropy;
        if (c_k != 0.0) total += c_k * kl_terms(run, &b, (real)(c_k * share));
        if (run->stats == NULL) continue;
        run->stats->policy_loss += policy_loss;
        run->stats->value_loss += value_loss;
        run->stats->entropy += entropy;
        count_ratios(&b, (double)terms->clip_range, run->stats);
    }
    return total * share;
}
