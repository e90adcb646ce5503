// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A round's rows, put together from its fragments in (environment, step) order: what an update works on.
///
/// How the environments were cut into fragments cannot be seen from here on.
#ifndef CORRAL_RLLIB_BATCH_H
#define CORRAL_RLLIB_BATCH_H

#include "corral/env.h"
#include "corral/policy/policy.h"
#include "corral/proto/fragment.h"

#include <stdint.h>

/// One finished episode of the round.
typedef struct batch_episode {
    uint32_t environment; // in the whole run
    uint32_t step;        // of the round
    uint32_t length;
    uint64_t number;
    double episode_return;
    uint8_t terminated, truncated;
    double info[CORRAL_ENV_INFO_MOST]; // what its environment said of itself at the end
} batch_episode;

typedef struct batch {
    uint32_t envs, steps, observation_size;
    size_t rows; // envs x steps
    size_t observation_bytes;
    unsigned char *raw; // [rows, observation_bytes] as the environments gave them
    float *observation; // [rows, observation_size] as the network sees them; `raw` itself where that is the
                        // same, NULL where it would take too much memory: then whoever learns filters
    bool general;       // actions with parts, or masks
    uint32_t action_words, mask_bytes;
    int32_t *action; // [rows, action_words]
    uint8_t *mask;   // [rows, mask_bytes]
    float *log_prob, *value, *reward, *advantage, *target;
    float *last_value; // [envs] V of where the rollout was cut
    uint8_t *terminated, *truncated;
    float *final_value; // [rows], 0 but where an episode was cut off
    uint32_t actions;
    float *log_probs;  // [rows, actions] of every action under the policy that acted; of actions with parts
                       // the inputs of its distribution; NULL: not wanted
    uint32_t sequence; // steps of a sequence of a recurrent policy; 0 where there is none
    size_t memory_size;
    float *memory;    // [rows / sequence, memory_size]: before each sequence
    uint8_t *reset;   // [rows] 1 where an episode begins
    uint32_t *usable; // indices of the rows that may be trained on, ascending
    size_t usable_count;
    batch_episode *episodes; // by (step, environment)
    size_t episode_count, episode_capacity;
    uint64_t failures;   // environments that failed in the round
    char failure[256];   // what the first of them said; "" where none did
    uint64_t policy_lag; // versions that the oldest row's policy is behind the newest
} batch;

CORRAL_MUST_USE corral_status batch_init(batch *b, uint32_t envs, uint32_t steps,
                                         const corral_policy_config *policy);
/// From now on the log-probabilities of every action are gathered too.
CORRAL_MUST_USE corral_status batch_keep_log_probs(batch *b);
/// From now on what a recurrent policy remembers before each `sequence` steps is gathered too, and only whole
/// sequences are usable.
CORRAL_MUST_USE corral_status batch_keep_memory(batch *b, uint32_t sequence,
                                                const corral_policy_config *policy);
void batch_finish(batch *b);

/// Copies the fragments (in order of their environments, all of them), and filters with the policy that
/// acted.
CORRAL_MUST_USE corral_status batch_gather(batch *b, const corral_fragment *fragments, uint32_t count,
                                           const corral_policy *policy);
/// The usable rows in the order of a stream; those of a sequence stay together.
void batch_shuffle(const batch *b, uint64_t key, uint32_t *out_order);
/// Fills advantage and target.
void batch_estimate(batch *b, double gamma, double lambda);
/// 1 - Var(target - value) / Var(target) over the usable rows; false where the targets do not vary.
bool batch_explained_variance(const batch *b, double *out_value);

#endif
