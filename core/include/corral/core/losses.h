// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Losses of reinforcement learning beside those in ops.h, fused: each works out its gradient together with
/// its value, in one pass over the rows. Where a minibatch is cut into lanes, `total_rows` is the whole
/// minibatch, which means divide by. Arrays in `terms` must live until the reset; a replay reads them again.
#ifndef CORRAL_CORE_LOSSES_H
#define CORRAL_CORE_LOSSES_H

#include "corral/core/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

// --- PPO over any distribution ----------------------------------------------------------------------------

/// corral_ppo_loss() for whatever has a log-probability and an entropy: all of [rows] (`value` also [rows,
/// 1]), made by distributions.h. Of `terms`, action and old_log_probs are not read. `kl` is KL(old || new) of
/// each row, NULL without a penalty; a row where it is infinite has none.
corral_tensor *corral_ppo_rows_loss(corral_tensor *log_prob, corral_tensor *entropy, corral_tensor *value,
                                    corral_tensor *kl, const corral_ppo_terms *terms,
                                    corral_ppo_stats *stats);

// --- worths as distributions: C51 -------------------------------------------------------------------------
//
// Bellemare, Dabney and Munos 2017: the worth of an action is a distribution over `atoms` values, evenly
// spaced from v_min to v_max. Logits are [rows, actions * atoms], an action's atoms side by side.

enum { CORRAL_C51_MOST_ATOMS = 1024 };

typedef struct corral_c51_support {
    size_t actions, atoms; // 2 .. CORRAL_C51_MOST_ATOMS atoms
    float v_min, v_max;
} corral_c51_support;

typedef struct corral_c51_terms {
    corral_c51_support support;
    const int32_t *action; // [rows], whose worth is learned
    const float *target;   // [rows, atoms], probabilities
    const float *weight;   // [rows], of the row in the loss; NULL: 1
    size_t total_rows;
} corral_c51_terms;

/// The cross entropy between the target and the action's distribution: sum over rows of
/// -weight sum over atoms of target log p, / total_rows. Writes each row's cross entropy, without its weight,
/// to `out_error` [rows] (what priorities are made of). It and `stats` may be NULL; stats->error sums it up.
corral_tensor *corral_c51_loss(corral_tensor *logits, const corral_c51_terms *terms, float *out_error,
                               corral_dqn_stats *stats);
/// The expected worth of each action: out_q [rows, actions]. [any thread]
void corral_c51_values(size_t rows, const corral_c51_support *support, const float *logits, float *out_q);
/// The target: the distribution of reward[r] + discount[r] z under the logits of the action next_action[r],
/// projected onto the support: out_target [rows, atoms]. discount is 0 where the episode has ended.
/// Every row sums up to 1; what lies outside falls to the ends. A number that is not finite makes its row
/// NaN.
void corral_c51_target(size_t rows, const corral_c51_support *support, const float *next_logits,
                       const int32_t *next_action, const float *reward, const float *discount,
                       float *out_target);

// --- worths as quantiles: QR-DQN --------------------------------------------------------------------------
//
// Dabney et al. 2018: the worth of an action is `quantiles` numbers, the i-th learned to be the quantile at
// (i + 1/2) / quantiles. [rows, actions * quantiles], an action's side by side.

typedef struct corral_quantile_terms {
    size_t actions, quantiles;
    size_t targets;        // numbers of a row's target
    const int32_t *action; // [rows]
    const float *target;   // [rows, targets]
    const float *weight;   // [rows]; NULL: 1
    float huber_delta;     // kappa; 0: the plain quantile regression
    size_t total_rows;
} corral_quantile_terms;

/// Sum over rows of weight times the sum over quantiles of the mean over targets of
/// |tau - [u < 0]| h(u) / kappa, u = target - quantile, h the Huber loss, / total_rows. Writes the means'
/// difference, quantiles - targets, to `out_error` [rows].
corral_tensor *corral_quantile_loss(corral_tensor *quantiles, const corral_quantile_terms *terms,
                                    float *out_error, corral_dqn_stats *stats);
/// The mean of each action's quantiles: out_q [rows, actions]. [any thread]
void corral_quantile_values(size_t rows, size_t actions, size_t quantiles, const float *worth, float *out_q);
/// reward + discount times the quantiles of next_action: out_target [rows, quantiles].
void corral_quantile_target(size_t rows, size_t actions, size_t quantiles, const float *next_worth,
                            const int32_t *next_action, const float *reward, const float *discount,
                            float *out_target);

// --- supervised losses ------------------------------------------------------------------------------------

typedef struct corral_cross_entropy_terms {
    const int32_t *target; // [rows], 0 .. classes-1
    int32_t ignored;       // rows with this target have no part; a number that is no class, -1 say
    float smoothing;       // the share of the target that is spread over all classes
    size_t total_rows;     // what the mean divides by; 0: the rows that have a part
} corral_cross_entropy_terms;

/// The mean of -(1 - smoothing) log p(target) - smoothing mean of log p, p the softmax of logits [rows,
/// classes]. A class of probability 0 adds nothing to the spread share.
corral_tensor *corral_cross_entropy_loss(corral_tensor *logits, const corral_cross_entropy_terms *terms);
/// The mean of -target log sigmoid(x) - (1 - target) log(1 - sigmoid(x)); targets of x's shape, 0 to 1.
corral_tensor *corral_bce_with_logits_loss(corral_tensor *x, corral_tensor *target);
/// The mean of 0.5 d^2 where |d| <= delta, else delta (|d| - 0.5 delta).
corral_tensor *corral_huber_loss(corral_tensor *x, corral_tensor *y, double delta);
corral_tensor *corral_l1_loss(corral_tensor *x, corral_tensor *y);
/// The mean over rows of the negative log-density of `target` under independent normal distributions; see
/// distributions.h for the shapes.
corral_tensor *corral_gaussian_nll_loss(corral_tensor *mean, corral_tensor *log_std, corral_tensor *target);

// --- V-trace ----------------------------------------------------------------------------------------------

/// Espeholt et al. 2018, over rows in (sequence, step) order; one number per row.
typedef struct corral_vtrace_terms {
    size_t steps;           // of each sequence
    const float *log_ratio; // log pi(a) - log mu(a)
    const float *reward;    //
    const float *discount;  // of what follows: gamma, 0 where the episode has ended
    const float *value;     // V of the row
    const float
        *next_value;    // V of what followed; at a row's end of the chain this is what is bootstrapped from
    const uint8_t *cut; // not 0: the next row is another episode; NULL: nowhere but at the sequence's end
    float rho_clip, c_clip; // 1 and 1 in the paper
    float policy_rho_clip;  // of the advantages' ratio
    float lambda;           // 1 in the paper
} corral_vtrace_terms;

/// The values to learn, v_s, and the advantages of the policy gradient, each [rows]. [any thread]
///
///     v_s = V + rho (r + d V' - V) + d lambda c (v_s' - V'),    advantage = rho (r + d v_s' - V)
///
/// with rho and c the clipped ratios, and v_s' = V' where the chain is cut.
void corral_vtrace(size_t rows, const corral_vtrace_terms *terms, float *out_target, float *out_advantage);

#ifdef __cplusplus
}
#endif
#endif
