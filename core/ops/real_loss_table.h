// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The losses' table of one dtype.

#include "ops/real_ppo_terms.h"

#include "ops/real_c51.h"

#include "ops/real_quantile.h"

#include "ops/real_cross_entropy.h"

const corral_loss_kernels OF_DTYPE(corral_losses) = {
    .cross_entropy = cross_entropy,
    .ppo_terms = ppo_terms,
    .c51 = c51,
    .quantile = quantile,
};
