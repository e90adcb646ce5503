// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The loops of the distributions, one table per dtype, as kernels.h. A run is what one call reads and
/// writes. Gradients are added to, and are NULL where they are not wanted.
#ifndef CORRAL_CORE_OPS_DISTRIBUTION_KERNELS_H
#define CORRAL_CORE_OPS_DISTRIBUTION_KERNELS_H

#include "corral/core/distributions.h"

/// Rows of discrete distributions. A row of `width` logits is cut into `count` parts of sizes[part], which
/// are independent; Bernoulli distributions have one logit each (sizes is NULL, count is width).
typedef struct corral_discrete_run {
    size_t rows, width, count;
    const size_t *sizes;
    const void *logits, *other; // [rows, width]; `other` is the second distribution of a divergence
    const int32_t *action;      // [rows, count]
    void *y;                    // [rows]
    const void *y_grad;         // [rows]
    void *logits_grad, *other_grad;
} corral_discrete_run;

/// Mean and logarithm of the standard deviation of a row's `n` normal distributions. The logarithms of row r
/// begin at r * step: 0 where all rows share them.
typedef struct corral_normal_side {
    const void *mean, *log_std;
    size_t step;
    void *mean_grad, *log_std_grad;
} corral_normal_side;

typedef struct corral_normal_run {
    size_t rows, n;
    corral_normal_side p, q; // q: the second distribution of a divergence
    const void *value;       // [rows, n]
    bool squashed;           // the density is that of tanh(value)
    void *y;                 // [rows]
    const void *y_grad;
    void *value_grad;
} corral_normal_run;

/// The parameters of a row's `n` Beta distributions, [rows, n] each.
typedef struct corral_beta_side {
    const void *alpha, *beta;
    void *alpha_grad, *beta_grad;
} corral_beta_side;

typedef struct corral_beta_run {
    size_t rows, n;
    corral_beta_side p, q; // q: the second distribution of a divergence
    const void *value;     // [rows, n]; of a sample: its uniform numbers
    void *y;               // [rows]; of a sample: [rows, n]
    const void *y_grad;
    void *value_grad;
} corral_beta_run;

typedef enum corral_discrete_kind {
    CORRAL_CATEGORICAL_LOG_PROB,
    CORRAL_CATEGORICAL_ENTROPY,
    CORRAL_CATEGORICAL_KL,
    CORRAL_BERNOULLI_LOG_PROB,
    CORRAL_BERNOULLI_ENTROPY,
    CORRAL_BERNOULLI_KL,
    CORRAL_DISCRETE_COUNT,
} corral_discrete_kind;

typedef enum corral_normal_kind {
    CORRAL_NORMAL_LOG_PROB,
    CORRAL_NORMAL_ENTROPY,
    CORRAL_NORMAL_KL,
    CORRAL_NORMAL_COUNT,
} corral_normal_kind;

typedef enum corral_beta_kind {
    CORRAL_BETA_LOG_PROB,
    CORRAL_BETA_ENTROPY,
    CORRAL_BETA_KL,
    CORRAL_BETA_RSAMPLE,
    CORRAL_BETA_COUNT,
} corral_beta_kind;

typedef struct corral_distribution_kernels {
    void (*discrete[CORRAL_DISCRETE_COUNT])(const corral_discrete_run *run);
    void (*discrete_grad[CORRAL_DISCRETE_COUNT])(const corral_discrete_run *run);
    void (*normal[CORRAL_NORMAL_COUNT])(const corral_normal_run *run);
    void (*normal_grad[CORRAL_NORMAL_COUNT])(const corral_normal_run *run);
    void (*beta[CORRAL_BETA_COUNT])(const corral_beta_run *run);
    void (*beta_grad[CORRAL_BETA_COUNT])(const corral_beta_run *run);
    void (*mask)(size_t count, const void *x, const uint8_t *allowed, void *y);
    void (*mask_grad)(size_t count, const uint8_t *allowed, const void *y_grad, void *x_grad);
} corral_distribution_kernels;

extern const corral_distribution_kernels corral_distributions_f32, corral_distributions_f64;

static inline const corral_distribution_kernels *corral_distributions_of(corral_dtype dtype)
{
    return dtype == CORRAL_F64 ? &corral_distributions_f64 : &corral_distributions_f32;
}

#endif
