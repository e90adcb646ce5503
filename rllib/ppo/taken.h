// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The loss of PPO over actions that are more than one plain choice: several choices, numbers, masks.
#ifndef CORRAL_RLLIB_PPO_TAKEN_H
#define CORRAL_RLLIB_PPO_TAKEN_H

#include "../learner/batch.h"

/// Memory for the actions of up to `rows` rows. [one thread at a time]
typedef struct ppo_taken ppo_taken;

CORRAL_MUST_USE corral_status ppo_taken_create(const corral_policy *policy, size_t rows,
                                               ppo_taken **out_taken);
void ppo_taken_destroy(ppo_taken *taken);

/// Records the policy (a recurrent one: over whole sequences of the batch, rows in their order) over
/// `observation` (as the network sees it) of these rows of the batch, and the loss. Of `terms`, old_log_probs
/// are the old inputs of the rows' distributions; NULL without a penalty.
corral_tensor *ppo_taken_loss(ppo_taken *taken, const batch *b, corral_tape *tape, const uint32_t *rows,
                              size_t count, const float *observation, const corral_ppo_terms *terms,
                              corral_ppo_stats *stats);

#endif
