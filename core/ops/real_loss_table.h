// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The losses' table of one dtype.

#include "ops/real_ppo_terms.h"

#include "ops/real_c51.h"

#include "ops/real_quantile.h"

const corral_loss_kernels OF_DTYPE(corral_losses) = {
    .ppo_terms = ppo_terms,
    .c51 = c51,
    .quantile = quantile,
};
