// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Where the learner gets its rollouts: from slices inside its own process (no workers), or from a group of
/// rollout workers. Either gives the same rows.
///
/// One round: publish the policy, collect every environment's next T steps, release. A round is complete when
/// each slice has been collected once under the published version; what else arrives is dropped and counted.
#ifndef CORRAL_RLLIB_SAMPLER_H
#define CORRAL_RLLIB_SAMPLER_H

#include "rollout.h"

#include "corral/base/threads.h"
#include "corral/rllib/train.h"

typedef struct sampler sampler;

/// Told of what happens during sampler_collect(), on its thread.
typedef struct sampler_listener {
    void *context;
    void (*worker_lost)(void *context, uint32_t worker, const char *reason, bool for_good);
    void (*worker_restarted)(void *context, uint32_t worker);
    void (*message)(void *context, const char *line); // worth logging and showing
} sampler_listener;

typedef struct sampler_config {
    const corral_train_config *train;
    const environment_setup *setup;
    const rollout_config *rollout;
    const char *cluster; // "HOST:PORT" or NULL
    corral_team *team;   // steps the slices when there are no workers
    size_t policy_bytes;
    sampler_listener listener; // functions may be NULL
} sampler_config;

typedef struct sampler_stats {
    uint32_t workers_alive;
    uint64_t workers_started, workers_lost, fragments_trained, fragments_remote;
    uint64_t dropped[CORRAL_DROP_REASONS];
    bool deterministic;
    const char *note;
} sampler_stats;

CORRAL_MUST_USE corral_status sampler_create(const sampler_config *config, sampler **out_sampler);
void sampler_destroy(sampler *s);

/// The weights of the next round.
CORRAL_MUST_USE corral_status sampler_publish(sampler *s, const corral_policy *policy);

/// The share of exploring actions of the next rounds; 0 at first. For Q-networks.
void sampler_explore(sampler *s, double epsilon);

/// Collects one round from step `first_step` (per environment). `*out_fragments` has sampler_slice_count()
/// entries in the order of their environments, readable until sampler_release().
CORRAL_MUST_USE corral_status sampler_collect(sampler *s, uint64_t first_step,
                                              const corral_fragment **out_fragments);
void sampler_release(sampler *s);
uint32_t sampler_slice_count(const sampler *s);

/// Saved states of all environments after the last round, and their observations, in order of environment;
/// NULL before the first round. Valid until the next collect.
const void *sampler_states(const sampler *s, size_t *out_state_bytes, size_t *out_observation_bytes);
const void *sampler_observations(const sampler *s);
/// The same from a checkpoint: the next round starts from it.
CORRAL_MUST_USE corral_status sampler_restore(sampler *s, const void *states, const void *observations,
                                              size_t state_size, size_t observation_size);
/// Whether states are exact: whether a saved run goes on as if it had not stopped.
bool sampler_exact(const sampler *s);

sampler_stats sampler_get_stats(sampler *s);
/// A waiting collect gives up after a few seconds, with CORRAL_ERROR_CANCELLED. [any thread; safe in a signal
/// handler]
void sampler_interrupt(sampler *s);

#endif
