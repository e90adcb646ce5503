// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The loss of PPO and its gradient in one pass over the rows, in `real`. With the ratio r = exp(log p - old
// log p), the advantage A, and H the entropy, a row's loss is
//
//     -min(r A, clip(r) A) + c_v value_loss - c_e H + c_k KL(q || p),      q the policy that acted
//
// and its gradient by the logits is, with [a] = 1 for the action taken and else 0,
//
//     s ([a] - p(a)) + c_e p(a) (log p(a) + H) + c_k (p(a) - q(a))
//
// with s = -r A where the unclipped term is the smaller one and else 0, because
// d log p(b) / d logit(a) = [a = b] - p(a), and dH / d logit(a) = -p(a) (log p(a) + H). An action of
// probability zero adds nothing to H (0 log 0 = 0) and has no gradient; nor does one that q gives probability
// zero add to the divergence. The divergence is worked out only where it is penalised.

typedef struct ppo_block {
    size_t rows, actions;
    const real *logits, *value; // of the block's first row
    const int32_t *action;
    const float *old_log_prob, *old_value, *advantage, *value_target;
    real shift[ROWS_AT_ONCE], log_sum[ROWS_AT_ONCE];
    real entropy[ROWS_AT_ONCE];
    real log_ratio[ROWS_AT_ONCE], ratio[ROWS_AT_ONCE];
    real slope[ROWS_AT_ONCE]; // of the policy term by log p of the action taken: s
} ppo_block;

static ppo_block ppo_block_at(const corral_ppo_rows *run, size_t first, size_t rows)
{
    const corral_ppo_terms *terms = run->terms;
    return (ppo_block){
        .rows = rows,
        .actions = run->actions,
        .logits = (const real *)run->logits + first * run->actions,
        .value = (const real *)run->value + first,
        .action = terms->action + first,
        .old_log_prob = terms->old_log_prob + first,
        .old_value = terms->old_value + first,
        .advantage = terms->advantage + first,
        .value_target = terms->value_target + first,
    };
}

/// Fills entropy, log_ratio and ratio.
static void ppo_distribution(ppo_block *b)
{
    real log_prob[ROWS_AT_ONCE], prob[ROWS_AT_ONCE];
    const size_t n = b->actions;
    log_softmax_norms(b->rows, n, b->logits, b->shift, b->log_sum);
    for (size_t r = 0; r < b->rows; r++)
        b->entropy[r] = 0;
    for (size_t a = 0; a < n; a++) {
        log_prob_column(b->rows, n, a, b->logits, b->shift, b->log_sum, log_prob, prob);
        for (size_t r = 0; r < b->rows; r++)
            b->entropy[r] -= prob[r] == 0 ? 0 : prob[r] * log_prob[r];
    }
    for (size_t r = 0; r < b->rows; r++) {
        const real new_log_prob = (b->logits[r * n + (size_t)b->action[r]] - b->shift[r]) - b->log_sum[r];
        b->log_ratio[r] = new_log_prob - (real)b->old_log_prob[r];
    }
    real_exp_all(b->rows, b->log_ratio, b->ratio);
}

/// The sum of -min(r A, clip(r) A); fills `slope`.
static double ppo_policy(ppo_block *b, real clip_range)
{
    double loss = 0.0;
    const real low = 1 - clip_range, high = 1 + clip_range;
    for (size_t r = 0; r < b->rows; r++) {
        const real advantage = (real)b->advantage[r], ratio = b->ratio[r];
        const real clipped = ratio < low ? low : ratio > high ? high : ratio;
        const real plain = ratio * advantage, bounded = clipped * advantage;
        const bool takes_plain = !(plain > bounded); // also for NaN, which must not get lost
        loss -= (double)(takes_plain ? plain : bounded);
        b->slope[r] = takes_plain ? -plain : 0;
    }
    return loss;
}

/// The sum of 0.5 min(max((v - R)^2, (v_clip - R)^2), bound); writes the gradients by v times `factor`.
static double ppo_value(const ppo_block *b, real clip_range, real error_clip, real factor, real *value_grad)
{
    double loss = 0.0;
    const real bound = error_clip > 0 ? error_clip : (real)INFINITY;
    for (size_t r = 0; r < b->rows; r++) {
        const real v = b->value[r], target = (real)b->value_target[r], old = (real)b->old_value[r];
        real error = v - target, slope = error;
        if (clip_range > 0) {
            const real move = v - old;
            const bool inside = move >= -clip_range && move <= clip_range;
            const real moved = move < -clip_range ? -clip_range : move > clip_range ? clip_range : move;
            const real clipped_error = old + moved - target;
            if (clipped_error * clipped_error > error * error) {
                error = clipped_error;
                slope = inside ? clipped_error : 0;
            }
        }
        real square = error * error;
        if (square > bound) {
            square = bound;
            slope = 0;
        }
        loss += (double)((real)0.5 * square);
        if (value_grad != NULL) value_grad[r] = slope * factor;
    }
    return loss;
}

static void ppo_logits_grad(const ppo_block *b, real entropy_coefficient, real factor, real *logits_grad)
{
    real log_prob[ROWS_AT_ONCE], prob[ROWS_AT_ONCE];
    const size_t n = b->actions;
    for (size_t a = 0; a < n; a++) {
        log_prob_column(b->rows, n, a, b->logits, b->shift, b->log_sum, log_prob, prob);
        for (size_t r = 0; r < b->rows; r++) {
            const real p = prob[r], taken = (size_t)b->action[r] == a ? 1 : 0;
            const real entropy_slope = p == 0 ? 0 : p * (log_prob[r] + b->entropy[r]);
            logits_grad[r * n + a] =
                (b->slope[r] * (taken - p) + entropy_coefficient * entropy_slope) * factor;
        }
    }
}

/// The penalty on KL(q || p) of a block of rows.
typedef struct ppo_penalty {
    const float *old_log_probs; // log q, of the block's first row
    real share[ROWS_AT_ONCE];   // of a row in the penalty: 0 where its divergence is infinite, else 1
    real mass[ROWS_AT_ONCE];    // the sum of q: 1 but for rounding, which the derivative has to know
} ppo_penalty;

static void old_column(const ppo_block *b, const ppo_penalty *penalty, size_t a, real *log_prob, real *prob)
{
    for (size_t r = 0; r < b->rows; r++)
        log_prob[r] = (real)penalty->old_log_probs[r * b->actions + a];
    real_exp_all(b->rows, log_prob, prob);
}

/// The sum of the divergences that are finite; counts the others. Fills `share` and `mass`.
static double ppo_kl(const ppo_block *b, ppo_penalty *penalty, size_t *infinite)
{
    real log_prob[ROWS_AT_ONCE], old_log_prob[ROWS_AT_ONCE], old_prob[ROWS_AT_ONCE], kl[ROWS_AT_ONCE];
    for (size_t r = 0; r < b->rows; r++)
        kl[r] = penalty->mass[r] = 0;
    for (size_t a = 0; a < b->actions; a++) {
        log_prob_column(b->rows, b->actions, a, b->logits, b->shift, b->log_sum, log_prob, NULL);
        old_column(b, penalty, a, old_log_prob, old_prob);
        for (size_t r = 0; r < b->rows; r++) {
            const real q = old_prob[r];
            kl[r] += q == 0 ? 0 : q * (old_log_prob[r] - log_prob[r]);
            penalty->mass[r] += q;
        }
    }
    double sum = 0.0;
    for (size_t r = 0; r < b->rows; r++) {
        const bool counts = kl[r] != (real)INFINITY; // NaN does: it must not get lost
        penalty->share[r] = counts ? 1 : 0;
        sum += counts ? (double)kl[r] : 0.0;
        *infinite += counts ? 0 : 1;
    }
    return sum;
}

static void ppo_kl_grad(const ppo_block *b, const ppo_penalty *penalty, real factor, real *logits_grad)
{
    real log_prob[ROWS_AT_ONCE], prob[ROWS_AT_ONCE], old_log_prob[ROWS_AT_ONCE], old_prob[ROWS_AT_ONCE];
    for (size_t a = 0; a < b->actions; a++) {
        log_prob_column(b->rows, b->actions, a, b->logits, b->shift, b->log_sum, log_prob, prob);
        old_column(b, penalty, a, old_log_prob, old_prob);
        for (size_t r = 0; r < b->rows; r++)
            logits_grad[r * b->actions + a] +=
                penalty->share[r] * (prob[r] * penalty->mass[r] - old_prob[r]) * factor;
    }
}

/// The sum of the divergences; adds the penalty's gradient to that of the other terms.
static double ppo_penalise(const ppo_block *b, const corral_ppo_rows *run, size_t first, real share,
                           real *logits_grad)
{
    const corral_ppo_terms *terms = run->terms;
    ppo_penalty penalty = {.old_log_probs = terms->old_log_probs + first * run->actions};
    size_t infinite = 0;
    const double sum = ppo_kl(b, &penalty, &infinite);
    if (logits_grad != NULL) ppo_kl_grad(b, &penalty, (real)terms->kl_coefficient * share, logits_grad);
    if (run->stats != NULL) {
        run->stats->kl += sum;
        run->stats->infinite_kl += infinite;
    }
    return sum;
}

static void ppo_count(const ppo_block *b, real clip_range, corral_ppo_stats *stats)
{
    for (size_t r = 0; r < b->rows; r++) {
        const double deviation = fabs((double)b->ratio[r] - 1.0);
        stats->entropy += (double)b->entropy[r];
        stats->approx_kl += ((double)b->ratio[r] - 1.0) - (double)b->log_ratio[r];
        stats->clip_fraction += deviation > (double)clip_range ? 1.0 : 0.0;
        if (deviation > stats->max_ratio_deviation) stats->max_ratio_deviation = deviation;
    }
    stats->rows += b->rows;
}

static double ppo(const corral_ppo_rows *run)
{
    const corral_ppo_terms *terms = run->terms;
    const double share = terms->total_rows == 0 ? 0.0 : 1.0 / (double)terms->total_rows;
    const real value_factor = (real)((double)terms->value_coefficient * share);
    double total = 0.0;
    for (size_t r0 = 0; r0 < run->rows; r0 += ROWS_AT_ONCE) {
        ppo_block b = ppo_block_at(run, r0, at_once(run->rows, r0));
        real *logits_grad = run->logits_grad == NULL ? NULL : (real *)run->logits_grad + r0 * run->actions;
        real *value_grad = run->value_grad == NULL ? NULL : (real *)run->value_grad + r0;
        ppo_distribution(&b);
        const double policy_loss = ppo_policy(&b, terms->clip_range);
        const double value_loss =
            ppo_value(&b, terms->value_clip_range, terms->value_error_clip, value_factor, value_grad);
        double entropy = 0.0;
        for (size_t r = 0; r < b.rows; r++)
            entropy += (double)b.entropy[r];
        total += policy_loss + (double)terms->value_coefficient * value_loss -
                 (double)terms->entropy_coefficient * entropy;
        if (logits_grad != NULL) ppo_logits_grad(&b, terms->entropy_coefficient, (real)share, logits_grad);
        if (terms->kl_coefficient != 0)
            total += (double)terms->kl_coefficient * ppo_penalise(&b, run, r0, (real)share, logits_grad);
        if (run->stats == NULL) continue;
        run->stats->policy_loss += policy_loss;
        run->stats->value_loss += value_loss;
        ppo_count(&b, terms->clip_range, run->stats);
    }
    return total * share;
}
