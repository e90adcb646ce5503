// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Rewards as the update sees them. What environments paid is what metrics show; this changes a batch's copy.
#ifndef CORRAL_RLLIB_REWARD_H
#define CORRAL_RLLIB_REWARD_H

#include "batch.h"

/// Takes a batch's raw rewards into the moments of discounted returns, in (environment, step) order.
/// `accumulator` [envs] is each environment's running return: 0 at first, kept from batch to batch.
void reward_measure(const batch *b, double gamma, double *accumulator, corral_moments *moments);

/// Divides the rewards by the deviation of returns (`moments` NULL: not), then bounds them by +-`clip` (0:
/// not). Before anything was measured the deviation is 1.
void reward_transform(batch *b, const corral_moments *moments, double clip);

#endif
