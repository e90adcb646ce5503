// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// One PPO update: epochs of minibatches over a batch. ppo.md has the equations.
#ifndef CORRAL_RLLIB_PPO_H
#define CORRAL_RLLIB_PPO_H

#include "../learner/batch.h"

#include "corral/base/threads.h"
#include "corral/core/device_learner.h"
#include "corral/core/optim.h"
#include "corral/rllib/config.h"

typedef struct ppo ppo;

/// What an update did: means over the rows of its minibatches.
typedef struct ppo_result {
    double policy_loss, value_loss, entropy, approx_kl, clip_fraction, loss, grad_norm;
    double kl;                    // KL(old || new); 0 where it is not penalised
    double last_kl;               // the same over the last epoch begun: what the coefficient adapts to
    uint64_t infinite_kl;         // rows, counted once per epoch, whose divergence was infinite
    double first_ratio_deviation; // largest |ratio - 1| in the first minibatch: exactly 0
    double learning_rate, clip_range, entropy_coefficient, kl_coefficient;
    uint64_t minibatches; // that changed the weights
    uint64_t skipped;     // not finite
    uint64_t epochs;      // begun
} ppo_result;

/// `policy` is trained in place. The team and the policy must outlive it.
CORRAL_MUST_USE corral_status ppo_create(const corral_ppo_config *config, uint64_t run_seed,
                                         corral_policy *policy, corral_team *team, ppo **out_ppo);
void ppo_destroy(ppo *p);

/// A device to learn on, and how large the batches are.
typedef struct ppo_placement {
    corral_device *device; // must outlive the ppo
    corral_precision precision;
    size_t envs, steps;
} ppo_placement;

/// From now on updates run there. Their results differ from the CPU's by rounding.
CORRAL_MUST_USE corral_status ppo_place(ppo *p, const ppo_placement *placement);

/// Where an update stands in the run.
typedef struct ppo_moment {
    double progress;       // 0 to 1: moves the schedules
    uint64_t update;       // numbers it, for the order of rows
    double kl_coefficient; // of the penalty now; more than 0 only where the configuration's is
} ppo_moment;

/// Updates the policy from the batch (advantages estimated here), which has log_probs where the divergence is
/// penalised.
CORRAL_MUST_USE corral_status ppo_update(ppo *p, batch *b, const ppo_moment *now, ppo_result *out_result);

/// The penalty's coefficient after an update that left the divergence at `kl`.
double ppo_adapt_kl_coefficient(const corral_ppo_config *config, double coefficient, double kl);

corral_optimizer *ppo_optimizer(ppo *p);

#endif
