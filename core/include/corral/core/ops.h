// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The operations. Each takes and returns tensors of one tape and one dtype; two-argument arithmetic
/// broadcasts as NumPy does (a gradient is summed over what was broadcast). All have gradients, in f32 and
/// f64.
///
/// Rules that hold everywhere: a result's row does not depend on how many rows stand beside it; an element
/// that a selection leaves out contributes exactly 0 to a gradient; empty batches give empty results.
#ifndef CORRAL_CORE_OPS_H
#define CORRAL_CORE_OPS_H

#include "corral/core/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

corral_tensor *corral_add(corral_tensor *a, corral_tensor *b);
corral_tensor *corral_sub(corral_tensor *a, corral_tensor *b);
corral_tensor *corral_mul(corral_tensor *a, corral_tensor *b);
corral_tensor *corral_div(corral_tensor *a, corral_tensor *b);
/// Element-wise. Where a == b the gradient goes to `a`.
corral_tensor *corral_minimum(corral_tensor *a, corral_tensor *b);
corral_tensor *corral_maximum(corral_tensor *a, corral_tensor *b);

corral_tensor *corral_neg(corral_tensor *x);
corral_tensor *corral_scale(corral_tensor *x, double factor);
corral_tensor *corral_exp(corral_tensor *x);
corral_tensor *corral_ln(corral_tensor *x); // the natural logarithm (corral_log() writes to the log)
corral_tensor *corral_tanh(corral_tensor *x);
corral_tensor *corral_sigmoid(corral_tensor *x);
corral_tensor *corral_relu(corral_tensor *x);
corral_tensor *corral_square(corral_tensor *x);
corral_tensor *corral_sqrt(corral_tensor *x); // gradient 0 at 0
corral_tensor *corral_abs(corral_tensor *x);  // gradient 0 at 0
/// Gradient 1 inside and on the bounds, 0 outside.
corral_tensor *corral_clamp(corral_tensor *x, double low, double high);

/// Over all elements, to one. Sums run over fixed chunks in a fixed tree.
corral_tensor *corral_sum(corral_tensor *x);
corral_tensor *corral_mean(corral_tensor *x); // of nothing: 0
/// Over the last dimension: [..., n] to [...].
corral_tensor *corral_sum_last(corral_tensor *x);
/// log softmax over the last dimension. Rows of -inf stay -inf with gradient 0.
corral_tensor *corral_log_softmax(corral_tensor *x);
/// x[r, index[r]] for a [rows, n] tensor: [rows]. Indices are checked; the memory must live until the reset.
corral_tensor *corral_gather(corral_tensor *x, const int32_t *index);

/// [m, k] x [k, n].
corral_tensor *corral_matmul(corral_tensor *a, corral_tensor *b);
/// The same elements in another shape.
corral_tensor *corral_reshape(corral_tensor *x, uint32_t dimension_count, const size_t *shape);
corral_tensor *corral_transpose(corral_tensor *x); // [m, n] to [n, m]

typedef enum corral_activation {
    CORRAL_LINEAR,
    CORRAL_TANH,
    CORRAL_RELU,
    CORRAL_ACTIVATION_COUNT,
} corral_activation;

/// activation(x W^T + b), fused: x [rows, in], W = parameter `weight` [out, in], b = parameter `bias` [out].
corral_tensor *corral_linear(corral_tensor *x, uint32_t weight, uint32_t bias, corral_activation activation);

/// The same without a tape: out [rows, out] may not overlap x. f32 only. Bit for bit what corral_linear()
/// computes for these rows, whatever `rows` is. [any thread]
void corral_linear_forward(const corral_params *params, uint32_t weight, uint32_t bias,
                           corral_activation activation, size_t rows, const float *x, float *out);

// --- losses
// -------------------------------------------------------------------------------------------------

/// mean((x - y)^2).
corral_tensor *corral_mse_loss(corral_tensor *x, corral_tensor *y);
/// mean of 0.5 d^2 / beta for |d| < beta, else |d| - 0.5 beta (PyTorch's smooth L1). beta 0 is L1.
corral_tensor *corral_smooth_l1_loss(corral_tensor *x, corral_tensor *y, double beta);

/// What the PPO loss reads, one element per row of the minibatch, and how it is weighted.
typedef struct corral_ppo_terms {
    const int32_t *action;     // [rows], 0 .. actions-1
    const float *old_log_prob; // [rows], under the policy that acted
    const float *old_value;    // [rows]
    const float *advantage;    // [rows], normalised or not
    const float *value_target; // [rows]
    float clip_range;          // epsilon of the ratio
    float value_clip_range;    // 0: no clipping, else around old_value as in PPO2
    float value_error_clip;    // 0: off, else the bound of the squared error; no gradient beyond it
    float value_coefficient;
    float entropy_coefficient;
    float kl_coefficient;       // 0: no penalty
    const float *old_log_probs; // [rows, actions], of every action; may be NULL where there is no penalty
    size_t total_rows; // rows of the whole minibatch: what means divide by, when it is cut into lanes
} corral_ppo_terms;

/// Sums over the rows seen, in f64. Divide by rows for means. Accumulated: zero it per minibatch.
typedef struct corral_ppo_stats {
    double policy_loss, value_loss, entropy;
    double approx_kl;           // sum of (ratio - 1) - log ratio  (Schulman's k3)
    double clip_fraction;       // count of |ratio - 1| > epsilon
    double max_ratio_deviation; // largest |ratio - 1| (not a sum)
    double kl;                  // sum of KL(old || new) where it is finite; 0 without a penalty
    size_t infinite_kl;         // rows where it is not: an action that was possible has become impossible
    size_t rows;
} corral_ppo_stats;

/// The clipped surrogate of PPO (Schulman et al. 2017, eq. 7 and 9) for categorical actions, fused:
///   sum over rows of [ -min(r A, clip(r, 1-e, 1+e) A) + c_v 0.5 min(max((v-R)^2, (v_clip-R)^2), bound)
///                      - c_e H + c_k KL(old || new) ] / total_rows
/// (without value clipping c_v 0.5 (v-R)^2). logits [rows, actions], value [rows] or [rows, 1]. r is exactly
/// 1 where the log-probability equals the old one; the divergence is exactly 0 where all of them do. A row
/// whose divergence is infinite has no penalty. `stats` may be NULL.
///
/// One of logits and value may be NULL: then only the other's terms are computed, and of `stats` only what
/// belongs to them (the rows with the logits), so that two networks can learn apart; terms->action is read
/// for the logits alone, terms->value_target and old_value for the value alone.
corral_tensor *corral_ppo_loss(corral_tensor *logits, corral_tensor *value, const corral_ppo_terms *terms,
                               corral_ppo_stats *stats);

/// What the loss of Q-learning reads, one element per row of the minibatch, and how it is weighted.
typedef struct corral_dqn_terms {
    const int32_t *action; // [rows], 0 .. actions-1: whose value is learned
    const float *target;   // [rows]
    const float *weight;   // [rows], of the row in the loss; NULL: 1
    float huber_delta;     // beyond this error the loss is linear; 0: squared everywhere
    size_t total_rows;     // rows of the whole minibatch, when it is cut into lanes
} corral_dqn_terms;

/// Sums over the rows seen, in f64. Divide by rows for means. Accumulated: zero it per minibatch.
typedef struct corral_dqn_stats {
    double loss;  // weighted
    double q;     // of the actions taken
    double error; // |q - target|
    size_t rows;
} corral_dqn_stats;

/// The loss of Q-learning, fused: sum over rows of weight h(q[action] - target) / total_rows, with
/// h(d) = 0.5 d^2 where |d| <= delta, else delta (|d| - 0.5 delta). q [rows, actions]. Writes the errors
/// q[action] - target of the rows to `out_error` [rows]; it and `stats` may be NULL.
corral_tensor *corral_dqn_loss(corral_tensor *q, const corral_dqn_terms *terms, float *out_error,
                               corral_dqn_stats *stats);

/// The dueling head (Wang et al. 2016, eq. 9): q = value + (advantage - mean of the row's advantages).
/// value [rows] or [rows, atoms], advantage [rows, actions x atoms], an action's atoms side by side: where
/// worths are distributions, each atom is a head of its own.
corral_tensor *corral_dueling(corral_tensor *value, corral_tensor *advantage);
/// The same without a tape, by the same arithmetic. `out_q` may be `advantage`.
void corral_dueling_forward(size_t rows, size_t actions, size_t atoms, const float *value,
                            const float *advantage, float *out_q);

// --- the categorical distribution, without a tape
// -----------------------------------------------------------

/// log softmax of each row, by the same arithmetic as corral_log_softmax() and corral_ppo_loss().
void corral_categorical_log_probs(size_t rows, size_t actions, const float *logits, float *out_log_probs);
/// The action of each row by inverting the cumulative distribution at uniform[r] in [0, 1), and its
/// log-probability. An action of probability 0 is never drawn.
void corral_categorical_sample(size_t rows, size_t actions, const float *logits, const float *uniform,
                               int32_t *out_action, float *out_log_prob);
/// The most probable action, the lowest index among equals.
void corral_categorical_mode(size_t rows, size_t actions, const float *logits, int32_t *out_action);

#ifdef __cplusplus
}
#endif
#endif
