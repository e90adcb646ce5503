// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Rollouts: a slice of the run's environments, stepped with a policy straight into a fragment.
///
/// A slice is a contiguous range of environments. It can be handed from one worker to another: its state
/// (what the environments save, and their current observations) travels in each fragment and may come back in
/// a request. Chance is addressed by (run seed, environment, step), so that it does not matter who plays.
#ifndef CORRAL_RLLIB_ROLLOUT_H
#define CORRAL_RLLIB_ROLLOUT_H

#include "../environment.h"

#include "corral/actors/actor.h"
#include "corral/policy/policy.h"
#include "corral/proto/fragment.h"
#include "corral/rllib/config.h"

enum { ROLLOUT_CONFIG_MAGIC = 0x31435243, ROLLOUT_REQUEST_MAGIC = 0x31525243 };

/// All that a worker is told at its start: plain bytes between programs of one build.
typedef struct rollout_config {
    uint32_t magic, size;                 // ROLLOUT_CONFIG_MAGIC, sizeof(rollout_config)
    char env[CORRAL_ENV_NAME_SIZE + 256]; // with wrappers, and with an absolute path where it is a plug-in
    corral_pairs env_params;
    int64_t max_episode_steps;
    uint64_t run_seed;
    uint32_t steps;    // T
    uint32_t sequence; // steps between two states of a recurrent policy that are kept
    corral_policy_config policy;
} rollout_config;

/// What a lease asks for. `env_count` saved states and then as many observations follow where `state_bytes`
/// is not 0.
typedef struct rollout_request {
    uint32_t magic; // ROLLOUT_REQUEST_MAGIC
    uint32_t env_begin, env_count;
    uint32_t state_bytes; // of everything that follows
    uint64_t first_step;  // step number, per environment, of the first row
    uint64_t policy_version;
    double exploration; // share of exploring actions; policies that draw actions anyway take no notice
} rollout_request;

_Static_assert(sizeof(rollout_request) == 40, "requests are part of the wire format");

typedef struct rollout_slice rollout_slice;

/// Fills a config from a run's. `config->env` may name a plug-in by a relative path.
CORRAL_MUST_USE corral_status rollout_config_init(rollout_config *rollout, const corral_train_config *config,
                                                  const environment_setup *setup,
                                                  const corral_policy_config *policy);

/// How large the parts of a fragment are for `env_count` environments, and whether their saved states are
/// exact (see corral_env_batch_state_exact()).
CORRAL_MUST_USE corral_status rollout_fragment_layout(const rollout_config *config,
                                                      const environment_setup *setup, uint32_t env_count,
                                                      corral_fragment_layout *out_layout, bool *out_exact);

/// `config` and `setup` are borrowed for the life of the slice.
CORRAL_MUST_USE corral_status rollout_slice_create(const rollout_config *config,
                                                   const environment_setup *setup, uint32_t env_begin,
                                                   uint32_t env_count, rollout_slice **out_slice);
void rollout_slice_destroy(rollout_slice *slice);

/// Brings the slice to the point that the request names: where it stands already, or by the state that came
/// along, or (at step 0) by a reset. CORRAL_ERROR_STALE where none of these is possible.
CORRAL_MUST_USE corral_status rollout_slice_seek(rollout_slice *slice, const rollout_request *request,
                                                 const void *state);

/// Plays T steps of each environment into `block`. `beacon` may be NULL.
CORRAL_MUST_USE corral_status rollout_slice_collect(rollout_slice *slice, corral_policy *policy,
                                                    uint32_t worker, corral_beacon *beacon, void *block,
                                                    size_t capacity, size_t *out_length);

const corral_fragment_layout *rollout_slice_layout(const rollout_slice *slice);

/// The rollout worker: an actor of class "rollout".
extern const corral_actor_class rollout_worker_class;

#endif
