// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Deep Q-learning: a replay, a target network, and updates of minibatches. dqn.md has the equations.
#ifndef CORRAL_RLLIB_DQN_H
#define CORRAL_RLLIB_DQN_H

#include "../replay/replay.h"

#include "corral/base/threads.h"
#include "corral/core/device_learner.h"
#include "corral/core/optim.h"
#include "corral/policy/policy.h"
#include "corral/proto/fragment.h"
#include "corral/rllib/config.h"

typedef struct dqn dqn;

/// What an update did: means over its minibatches.
typedef struct dqn_result {
    double loss, q, error, grad_norm; // of the actions in the replay: their worths, and how far off they were
    double learning_rate, priority_beta;
    uint64_t minibatches;    // that changed the weights
    uint64_t skipped;        // not finite
    uint64_t target_updates; // of the target network
} dqn_result;

/// `policy`, a Q-network, is trained in place. The team and the policy must outlive it. `steps`: of each of
/// the `envs` environments between two updates.
CORRAL_MUST_USE corral_status dqn_create(const corral_dqn_config *config, uint64_t run_seed, uint32_t envs,
                                         uint32_t steps, corral_policy *policy, corral_team *team,
                                         dqn **out_dqn);
void dqn_destroy(dqn *d);
/// From now on minibatches are learned on a device, which must outlive the dqn. Results differ from the CPU's
/// by rounding.
CORRAL_MUST_USE corral_status dqn_place(dqn *d, corral_device *device, corral_precision precision);

/// Puts a round's rows into the replay, by environment and then by step, however the round was cut.
void dqn_insert(dqn *d, const corral_fragment *fragments, uint32_t count);

/// Where an update stands in the run.
typedef struct dqn_moment {
    double progress;                      // 0 to 1: moves the schedules
    uint64_t first_draw;                  // numbers the minibatches of the run
    uint64_t env_steps_before, env_steps; // of the run, without and with the round just inserted
} dqn_moment;

/// Learns from the replay, once it has enough rows, and brings the target network up to date.
CORRAL_MUST_USE corral_status dqn_update(dqn *d, const dqn_moment *now, dqn_result *out_result);

/// The targets of one minibatch: reward + discount q_target[next_action]. q_target is [rows, actions], of the
/// observation that the transition led to.
void dqn_targets(size_t rows, size_t actions, const float *reward, const float *discount,
                 const float *q_target, const int32_t *next_action, float *out_target);

corral_optimizer *dqn_optimizer(dqn *d);
/// The second network; write to it between updates only.
corral_policy *dqn_target(dqn *d);
replay *dqn_replay(dqn *d);

// --- dqn_config.c -----------------------------------------------------------------------------------------

/// What a table of keys cannot check. The sentence names the key.
CORRAL_MUST_USE corral_status dqn_check_config(const corral_dqn_config *config, int64_t envs);
/// What a configuration asks of the network.
void dqn_shape_policy(const corral_dqn_config *config, corral_policy_config *policy);
/// The replay of a configuration: with as many rows as dqn.buffer_size and dqn.buffer_bytes allow.
replay_config dqn_replay_config(const corral_dqn_config *config, uint32_t envs, size_t observation_bytes);
/// The bounds that dqn.samples_per_insert asks for.
rate_limiter dqn_rate_limiter(const corral_dqn_config *config);

/// The share of exploring actions at a point of the run, 0 to 1.
double dqn_epsilon(const corral_dqn_config *config, double progress);

#endif
