// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The distributions' table of one dtype.

#include "ops/real_categorical.h"

#include "ops/real_bernoulli.h"

#include "ops/real_normal.h"

#include "ops/gamma_functions.h"

#include "ops/real_beta.h"

const corral_distribution_kernels OF_DTYPE(corral_distributions) = {
    .discrete = {[CORRAL_CATEGORICAL_LOG_PROB] = categorical_log_prob,
                 [CORRAL_CATEGORICAL_ENTROPY] = categorical_entropy,
                 [CORRAL_CATEGORICAL_KL] = categorical_kl,
                 [CORRAL_BERNOULLI_LOG_PROB] = bernoulli_log_prob,
                 [CORRAL_BERNOULLI_ENTROPY] = bernoulli_entropy,
                 [CORRAL_BERNOULLI_KL] = bernoulli_kl},
    .discrete_grad = {[CORRAL_CATEGORICAL_LOG_PROB] = categorical_log_prob_grad,
                      [CORRAL_CATEGORICAL_ENTROPY] = categorical_entropy_grad,
                      [CORRAL_CATEGORICAL_KL] = categorical_kl_grad,
                      [CORRAL_BERNOULLI_LOG_PROB] = bernoulli_log_prob_grad,
                      [CORRAL_BERNOULLI_ENTROPY] = bernoulli_entropy_grad,
                      [CORRAL_BERNOULLI_KL] = bernoulli_kl_grad},
    .normal = {[CORRAL_NORMAL_LOG_PROB] = normal_log_prob,
               [CORRAL_NORMAL_ENTROPY] = normal_entropy,
               [CORRAL_NORMAL_KL] = normal_kl},
    .normal_grad = {[CORRAL_NORMAL_LOG_PROB] = normal_log_prob_grad,
                    [CORRAL_NORMAL_ENTROPY] = normal_entropy_grad,
                    [CORRAL_NORMAL_KL] = normal_kl_grad},
    .beta = {[CORRAL_BETA_LOG_PROB] = beta_log_prob,
             [CORRAL_BETA_ENTROPY] = beta_entropy,
             [CORRAL_BETA_KL] = beta_kl,
             [CORRAL_BETA_RSAMPLE] = beta_rsample},
    .beta_grad = {[CORRAL_BETA_LOG_PROB] = beta_log_prob_grad,
                  [CORRAL_BETA_ENTROPY] = beta_entropy_grad,
                  [CORRAL_BETA_KL] = beta_kl_grad,
                  [CORRAL_BETA_RSAMPLE] = beta_rsample_grad},
    .mask = mask,
    .mask_grad = mask_grad,
};
