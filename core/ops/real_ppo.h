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
//
// Rows are taken ROWS_AT_ONCE together and worked on in short loops over arrays, which the compiler turns
// into vectors; sums run in sum_block().

// Columns of so few actions are kept from the first pass for the second.
enum { PPO_KEPT_ACTIONS = 8 };

typedef struct ppo_block {
    size_t rows, actions;
    const real *logits, *value; // of the block's first row
    const int32_t *action;
    const float *old_log_prob, *old_value, *advantage, *value_target;
    real shift[ROWS_AT_ONCE], log_sum[ROWS_AT_ONCE];
    real entropy[ROWS_AT_ONCE];
    real log_ratio[ROWS_AT_ONCE], ratio[ROWS_AT_ONCE];
    real slope[ROWS_AT_ONCE]; // of the policy term by log p of the action taken: s
    // Of each action where there are few, else of the one that ppo_column() was asked for last.
    real log_prob[PPO_KEPT_ACTIONS][ROWS_AT_ONCE], prob[PPO_KEPT_ACTIONS][ROWS_AT_ONCE];
} ppo_block;

static void ppo_block_at(const corral_ppo_rows *run, size_t first, size_t rows, ppo_block *b)
{
    const corral_ppo_terms *terms = run->terms;
    b->rows = rows;
    b->actions = run->actions;
    if (run->logits != NULL) {
        b->logits = (const real *)run->logits + first * run->actions;
        b->action = terms->action + first;
        b->old_log_prob = terms->old_log_prob + first;
        b->advantage = terms->advantage + first;
    }
    if (run->value != NULL) {
        b->value = (const real *)run->value + first;
        b->old_value = terms->old_value + first;
        b->value_target = terms->value_target + first;
    }
}

/// log p and p of one action of each row; returns where they lie.
static size_t ppo_column(ppo_block *b, size_t a)
{
    const size_t at = b->actions <= PPO_KEPT_ACTIONS ? a : 0;
    log_prob_column(b->rows, b->actions, a, b->logits, b->shift, b->log_sum, b->log_prob[at], b->prob[at]);
    return at;
}

static size_t ppo_column_again(ppo_block *b, size_t a)
{
    return b->actions <= PPO_KEPT_ACTIONS ? a : ppo_column(b, a);
}

/// Fills entropy, log_ratio and ratio.
static void ppo_distribution(ppo_block *b)
{
    const size_t n = b->actions;
    log_softmax_norms(b->rows, n, b->logits, b->shift, b->log_sum);
    for (size_t r = 0; r < b->rows; r++)
        b->entropy[r] = 0;
    for (size_t a = 0; a < n; a++) {
        const size_t at = ppo_column(b, a);
        const real *log_prob = b->log_prob[at], *prob = b->prob[at];
        for (size_t r = 0; r < b->rows; r++) {
            const real term = prob[r] * log_prob[r]; // NaN where p is 0
            b->entropy[r] -= prob[r] == 0 ? 0 : term;
        }
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
    double term[ROWS_AT_ONCE];
    const real low = 1 - clip_range, high = 1 + clip_range;
    for (size_t r = 0; r < b->rows; r++) {
        const real advantage = (real)b->advantage[r], ratio = b->ratio[r];
        const real clipped = ratio < low ? low : ratio > high ? high : ratio;
        const real plain = ratio * advantage, bounded = clipped * advantage;
        const bool takes_plain = !(plain > bounded); // also for NaN, which must not get lost
        term[r] = (double)(takes_plain ? plain : bounded);
        b->slope[r] = takes_plain ? -plain : 0;
    }
    return -sum_block(b->rows, term);
}

/// The sum of 0.5 min(max((v - R)^2, (v_clip - R)^2), bound); writes the gradients by v times `factor`.
static double ppo_value(const ppo_block *b, real clip_range, real error_clip, real factor, real *value_grad)
{
    double term[ROWS_AT_ONCE];
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
        term[r] = (double)((real)0.5 * square);
        if (value_grad != NULL) value_grad[r] = slope * factor;
    }
    return sum_block(b->rows, term);
}

static void ppo_logits_grad(ppo_block *b, real entropy_coefficient, real factor, real *logits_grad)
{
    real grad[ROWS_AT_ONCE];
    const size_t n = b->actions;
    for (size_t a = 0; a < n; a++) {
        const size_t at = ppo_column_again(b, a);
        const real *log_prob = b->log_prob[at], *prob = b->prob[at];
        for (size_t r = 0; r < b->rows; r++) {
            const real p = prob[r], taken = b->action[r] == (int32_t)a ? 1 : 0;
            const real slope = p * (log_prob[r] + b->entropy[r]), entropy_slope = p == 0 ? 0 : slope;
            grad[r] = (b->slope[r] * (taken - p) + entropy_coefficient * entropy_slope) * factor;
        }
        for (size_t r = 0; r < b->rows; r++)
            logits_grad[r * n + a] = grad[r];
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
static double ppo_kl(ppo_block *b, ppo_penalty *penalty, size_t *infinite)
{
    real old_log_prob[ROWS_AT_ONCE], old_prob[ROWS_AT_ONCE], kl[ROWS_AT_ONCE];
    for (size_t r = 0; r < b->rows; r++)
        kl[r] = penalty->mass[r] = 0;
    for (size_t a = 0; a < b->actions; a++) {
        const real *log_prob = b->log_prob[ppo_column_again(b, a)];
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

static void ppo_kl_grad(ppo_block *b, const ppo_penalty *penalty, real factor, real *logits_grad)
{
    real old_log_prob[ROWS_AT_ONCE], old_prob[ROWS_AT_ONCE];
    for (size_t a = 0; a < b->actions; a++) {
        const real *prob = b->prob[ppo_column_again(b, a)];
        old_column(b, penalty, a, old_log_prob, old_prob);
        for (size_t r = 0; r < b->rows; r++)
            logits_grad[r * b->actions + a] +=
                penalty->share[r] * (prob[r] * penalty->mass[r] - old_prob[r]) * factor;
    }
}

/// The sum of the divergences; adds the penalty's gradient to that of the other terms.
static double ppo_penalise(ppo_block *b, const corral_ppo_rows *run, size_t first, real share,
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
    double kl[ROWS_AT_ONCE], clipped[ROWS_AT_ONCE];
    real deviation[ROWS_AT_ONCE];
    for (size_t r = 0; r < b->rows; r++) {
        const real move = b->ratio[r] - 1;
        deviation[r] = move < 0 ? -move : move;
    }
    for (size_t r = 0; r < b->rows; r++)
        clipped[r] = deviation[r] > clip_range ? 1.0 : 0.0;
    for (size_t r = 0; r < b->rows; r++)
        kl[r] = ((double)b->ratio[r] - 1.0) - (double)b->log_ratio[r];
    stats->approx_kl += sum_block(b->rows, kl);
    stats->clip_fraction += sum_block(b->rows, clipped);
    stats->max_ratio_deviation = fmax(stats->max_ratio_deviation, largest(b->rows, deviation));
    stats->rows += b->rows;
}

/// The policy's terms of a block: surrogate, entropy, divergence.
static double ppo_policy_terms(ppo_block *b, const corral_ppo_rows *run, size_t first, real share)
{
    const corral_ppo_terms *terms = run->terms;
    real *logits_grad = run->logits_grad == NULL ? NULL : (real *)run->logits_grad + first * run->actions;
    ppo_distribution(b);
    const double policy_loss = ppo_policy(b, terms->clip_range);
    double term[ROWS_AT_ONCE];
    for (size_t r = 0; r < b->rows; r++)
        term[r] = (double)b->entropy[r];
    const double entropy = sum_block(b->rows, term);
    double total = policy_loss - (double)terms->entropy_coefficient * entropy;
    if (logits_grad != NULL) ppo_logits_grad(b, terms->entropy_coefficient, share, logits_grad);
    if (terms->kl_coefficient != 0)
        total += (double)terms->kl_coefficient * ppo_penalise(b, run, first, share, logits_grad);
    if (run->stats != NULL) {
        run->stats->policy_loss += policy_loss;
        run->stats->entropy += entropy;
        ppo_count(b, terms->clip_range, run->stats);
    }
    return total;
}

static double ppo_value_terms(const ppo_block *b, const corral_ppo_rows *run, size_t first, double share)
{
    const corral_ppo_terms *terms = run->terms;
    real *value_grad = run->value_grad == NULL ? NULL : (real *)run->value_grad + first;
    const real factor = (real)((double)terms->value_coefficient * share);
    const double loss = ppo_value(b, terms->value_clip_range, terms->value_error_clip, factor, value_grad);
    if (run->stats != NULL) run->stats->value_loss += loss;
    return (double)terms->value_coefficient * loss;
}

static double ppo(const corral_ppo_rows *run)
{
    const double share = run->terms->total_rows == 0 ? 0.0 : 1.0 / (double)run->terms->total_rows;
    double total = 0.0;
    ppo_block b;
    for (size_t r0 = 0; r0 < run->rows; r0 += ROWS_AT_ONCE) {
        ppo_block_at(run, r0, at_once(run->rows, r0), &b);
        if (run->logits != NULL) total += ppo_policy_terms(&b, run, r0, (real)share);
        if (run->value != NULL) total += ppo_value_terms(&b, run, r0, share);
    }
    return total * share;
}
