// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Makes a batch of a type that describes one instance (`single`): the same calls as
/// corral_env_batch_functions, with a loop over the instances behind them.
#ifndef CORRAL_ENVS_SINGLE_H
#define CORRAL_ENVS_SINGLE_H

#include "corral/env.h"

typedef struct corral_single_batch corral_single_batch;

/// Non-zero where memory is short or an instance's init fails; host->error() then has the sentence.
int32_t corral_single_create(const corral_env_type *type, const corral_env_host *host, uint32_t count,
                             const double *values, corral_single_batch **out_batch);
void corral_single_destroy(corral_single_batch *batch);
/// Never fail as a whole: an instance that fails is marked in `failed`.
void corral_single_reset(corral_single_batch *batch, const uint8_t *mask, const uint64_t *seed,
                         const corral_env_step *out);
void corral_single_step(corral_single_batch *batch, const corral_env_step *io);
void *corral_single_instance(const corral_single_batch *batch, uint32_t index);

#endif
