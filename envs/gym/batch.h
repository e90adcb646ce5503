// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Batches of a Gymnasium environment, as corral_env_batch_functions has them.
#ifndef CORRAL_ENVS_GYM_BATCH_H
#define CORRAL_ENVS_GYM_BATCH_H

#include "type.h"

/// Starts no Python yet: that is the first reset's to do, since batches are also made to be measured.
int32_t gym_batch_create(gym_type *type, const corral_env_host *host, uint32_t count, const double *values,
                         void **out_batch);
void gym_batch_destroy(void *batch);
int32_t gym_batch_reset(void *batch, const uint8_t *mask, const uint64_t *seed, const corral_env_step *out);
int32_t gym_batch_step(void *batch, const corral_env_step *io);

uint32_t gym_batch_draw(const void *batch, uint32_t index, corral_draw *out_items, uint32_t limit);
void gym_batch_mask(const void *batch, uint32_t index, uint8_t *out_allowed);

#endif
