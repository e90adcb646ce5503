// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The loops of the losses in losses.h, one table per dtype, as kernels.h. Each returns its loss, weighted
/// and divided, and writes the gradients that are not NULL.
#ifndef CORRAL_CORE_OPS_LOSS_KERNELS_H
#define CORRAL_CORE_OPS_LOSS_KERNELS_H

#include "corral/core/losses.h"

typedef struct corral_ppo_terms_run {
    size_t rows;
    const void *log_prob, *entropy, *value, *kl; // [rows]; kl may be NULL
    const corral_ppo_terms *terms;
    void *log_prob_grad, *entropy_grad, *value_grad, *kl_grad;
    corral_ppo_stats *stats;
} corral_ppo_terms_run;

typedef struct corral_c51_run {
    size_t rows;
    const void *logits;
    const corral_c51_terms *terms;
    void *logits_grad; // zeroed
    float *error;
    corral_dqn_stats *stats;
} corral_c51_run;

typedef struct corral_quantile_run {
    size_t rows;
    const void *quantiles;
    const corral_quantile_terms *terms;
    void *quantiles_grad; // zeroed
    float *error;
    corral_dqn_stats *stats;
} corral_quantile_run;

typedef struct corral_cross_entropy_run {
    size_t rows, classes;
    const void *logits;
    const corral_cross_entropy_terms *terms;
    void *logits_grad; // zeroed
    void *log_p;       // scratch for a row
} corral_cross_entropy_run;

typedef struct corral_loss_kernels {
    double (*cross_entropy)(const corral_cross_entropy_run *run);
    double (*ppo_terms)(const corral_ppo_terms_run *run);
    double (*c51)(const corral_c51_run *run);
    double (*quantile)(const corral_quantile_run *run);
} corral_loss_kernels;

extern const corral_loss_kernels corral_losses_f32, corral_losses_f64;

static inline const corral_loss_kernels *corral_losses_of(corral_dtype dtype)
{
    return dtype == CORRAL_F64 ? &corral_losses_f64 : &corral_losses_f32;
}

#endif
