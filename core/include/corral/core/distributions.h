// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The distributions of policies: as operations on a tape, to learn, and over plain arrays, to act. Both go
/// through the same loops, so that a log-probability that was stored while acting is, bit for bit, the one
/// that a tape computes from the same numbers.
///
/// A row's number (log-probability, entropy, divergence) is the sum over the row's independent parts: [rows].
/// Chance is handed in, as uniform numbers in [0, 1) or standard normal ones, so that it can come from
/// streams (corral/base/rng.h).
#ifndef CORRAL_CORE_DISTRIBUTIONS_H
#define CORRAL_CORE_DISTRIBUTIONS_H

#include "corral/core/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

// --- categorical, and several categorical ones side by side -----------------------------------------------
//
// A row of logits is cut into `count` parts; sizes[i] logits are the i-th choice's (a MultiDiscrete space;
// one part is a Discrete one). Actions are int32 [rows, count]. A logit of -inf is an action that is
// impossible: it is never drawn, and it adds exactly 0 to an entropy, a divergence and every gradient.

/// x where `allowed` [the shape of x] is not 0, else -inf. `allowed` must live until the reset.
corral_tensor *corral_mask_logits(corral_tensor *logits, const uint8_t *allowed);
/// The same without a tape. `out` may be `logits`.
void corral_mask_logits_forward(size_t count, const float *logits, const uint8_t *allowed, float *out);

/// Of the actions taken, which must live until the reset. -inf for an impossible one.
corral_tensor *corral_categorical_log_prob(corral_tensor *logits, size_t count, const size_t *sizes,
                                           const int32_t *action);
corral_tensor *corral_categorical_entropy(corral_tensor *logits, size_t count, const size_t *sizes);
/// KL(p || q), from the logits of both. Infinite where p allows what q does not; such a row has no gradient
/// by p.
corral_tensor *corral_categorical_kl(corral_tensor *p, corral_tensor *q, size_t count, const size_t *sizes);

/// Draws one action per part by inverting its cumulative distribution at uniform[r, i], and writes the row's
/// log-probability. logits [rows, sum of sizes], uniform and out_action [rows, count], out_log_prob [rows].
void corral_multi_categorical_sample(size_t rows, size_t count, const size_t *sizes, const float *logits,
                                     const float *uniform, int32_t *out_action, float *out_log_prob);
/// The most probable action of each part, the lowest index among equals.
void corral_multi_categorical_mode(size_t rows, size_t count, const size_t *sizes, const float *logits,
                                   int32_t *out_action);
/// Of given actions.
void corral_multi_categorical_log_probs(size_t rows, size_t count, const size_t *sizes, const float *logits,
                                        const int32_t *action, float *out_log_prob);

// --- Bernoulli --------------------------------------------------------------------------------------------
//
// logits [rows, n]; an action is 0 or 1, int32 [rows, n].

corral_tensor *corral_bernoulli_log_prob(corral_tensor *logits, const int32_t *action);
corral_tensor *corral_bernoulli_entropy(corral_tensor *logits);
corral_tensor *corral_bernoulli_kl(corral_tensor *p, corral_tensor *q);

/// 1 where uniform[r, i] is below the probability of 1.
void corral_bernoulli_sample(size_t rows, size_t n, const float *logits, const float *uniform,
                             int32_t *out_action, float *out_log_prob);
/// 1 where that is the more probable one; 0 among equals.
void corral_bernoulli_mode(size_t rows, size_t n, const float *logits, int32_t *out_action);
void corral_bernoulli_log_probs(size_t rows, size_t n, const float *logits, const int32_t *action,
                                float *out_log_prob);

// --- normal, and normal squashed by tanh ------------------------------------------------------------------
//
// mean [rows, n]; log_std is the logarithm of the standard deviation, [rows, n] or [n], which all rows share.

/// Of `value` [rows, n]. All three may have gradients.
corral_tensor *corral_normal_log_prob(corral_tensor *mean, corral_tensor *log_std, corral_tensor *value);
corral_tensor *corral_normal_entropy(corral_tensor *mean, corral_tensor *log_std);
/// KL(p || q).
corral_tensor *corral_normal_kl(corral_tensor *p_mean, corral_tensor *p_log_std, corral_tensor *q_mean,
                                corral_tensor *q_log_std);
/// mean + exp(log_std) noise, noise [rows, n] being standard normal: the reparameterised sample.
corral_tensor *corral_normal_rsample(corral_tensor *mean, corral_tensor *log_std, corral_tensor *noise);
/// The log-density of tanh(value) where `value`, before tanh, is normal: exact for any value, because nothing
/// has to be undone. The sample itself is corral_tanh(value).
corral_tensor *corral_squashed_normal_log_prob(corral_tensor *mean, corral_tensor *log_std,
                                               corral_tensor *value);

/// Which rows of `log_std` the functions below read.
typedef enum corral_log_std {
    CORRAL_LOG_STD_SHARED,  // [n]
    CORRAL_LOG_STD_PER_ROW, // [rows, n]
} corral_log_std;

/// out_value = mean + exp(log_std) noise, and its log-density. `out_value` may be `noise`.
void corral_normal_sample(size_t rows, size_t n, const float *mean, const float *log_std, corral_log_std kind,
                          const float *noise, float *out_value, float *out_log_prob);
void corral_normal_log_probs(size_t rows, size_t n, const float *mean, const float *log_std,
                             corral_log_std kind, const float *value, float *out_log_prob);
/// out_value is the sample before tanh (what corral_squashed_normal_log_prob() wants back), out_action its
/// tanh. The mode's action is tanh of the mean: corral_squash().
void corral_squashed_normal_sample(size_t rows, size_t n, const float *mean, const float *log_std,
                                   corral_log_std kind, const float *noise, float *out_value,
                                   float *out_action, float *out_log_prob);
void corral_squashed_normal_log_probs(size_t rows, size_t n, const float *mean, const float *log_std,
                                      corral_log_std kind, const float *value, float *out_log_prob);
/// tanh, as all of these compute it.
void corral_squash(size_t count, const float *value, float *out_action);

/// Standard normal numbers `counter` .. `counter + count - 1` of a stream: each is a function of its own
/// number, so that it does not matter who draws which (Box and Muller 1958).
void corral_standard_normals(uint64_t stream_key, uint64_t counter, size_t count, float *out);

// --- Beta -------------------------------------------------------------------------------------------------
//
// Densities on (0, 1) with parameters above 0, alpha and beta [rows, n]; above 1 they have one hill. A policy
// of a bounded space (Chou, Maturana and Scherer 2017) scales the range, and takes softplus(x) + 1 for both.

/// Of `value` [rows, n] within 0 .. 1; -inf beyond. All three may have gradients.
corral_tensor *corral_beta_log_prob(corral_tensor *alpha, corral_tensor *beta, corral_tensor *value);
corral_tensor *corral_beta_entropy(corral_tensor *alpha, corral_tensor *beta);
/// KL(p || q).
corral_tensor *corral_beta_kl(corral_tensor *p_alpha, corral_tensor *p_beta, corral_tensor *q_alpha,
                              corral_tensor *q_beta);
/// The value below which lies the share `uniform` [rows, n], in 0 .. 1: the reparameterised sample, with
/// gradients by alpha and beta. Never 0 or 1 itself.
corral_tensor *corral_beta_rsample(corral_tensor *alpha, corral_tensor *beta, corral_tensor *uniform);

/// The same sample and its log-density, without a tape. `out_value` may be `uniform`. [any thread]
void corral_beta_sample(size_t rows, size_t n, const float *alpha, const float *beta, const float *uniform,
                        float *out_value, float *out_log_prob);
void corral_beta_log_probs(size_t rows, size_t n, const float *alpha, const float *beta, const float *value,
                           float *out_log_prob);
/// The densest value; where there is no hill, the denser end, and the mean where neither is.
void corral_beta_mode(size_t count, const float *alpha, const float *beta, float *out_value);

#ifdef __cplusplus
}
#endif
#endif
