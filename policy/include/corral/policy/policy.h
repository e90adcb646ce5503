// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A policy: observation -> filter -> network -> distribution -> action, the one pipeline that training,
/// evaluation, the viewer and serving share.
///
/// An actor-critic or a Q-network over a flat float observation and a discrete action. The filter's
/// statistics belong to the policy: they travel with its weights, are saved with it, and are frozen but for
/// corral_policy_filter_update(). A policy is used by one thread at a time; corral_policy_clone() makes one
/// for another thread.
#ifndef CORRAL_POLICY_POLICY_H
#define CORRAL_POLICY_POLICY_H

#include "corral/base/config.h"
#include "corral/base/status.h"
#include "corral/core/ops.h"
#include "corral/core/tensor.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum corral_initialisation {
    CORRAL_INIT_ORTHOGONAL, // gain sqrt(2) (trunk), 0.01 (policy head), 1 (value head), biases 0
    CORRAL_INIT_FAN_IN,     // uniform, PyTorch's default for linear layers
} corral_initialisation;

typedef enum corral_policy_kind {
    CORRAL_POLICY_ACTOR_CRITIC, // logits of a categorical distribution, and a value
    CORRAL_POLICY_Q,            // the worth of each action; the best one is taken
} corral_policy_kind;

typedef struct corral_policy_config {
    corral_policy_kind kind;
    uint32_t observation_size;
    uint32_t action_count;
    int64_t action_start; // the environment's first action
    corral_sizes hidden;  // widths of the hidden layers, at least one
    corral_activation activation;
    bool shared;  // one trunk for both heads (those of a Q-network always share)
    bool dueling; // Q-networks: a value and advantages instead of the worths alone
    corral_initialisation initialisation;
    bool normalize_observation;
    double observation_clip; // after normalisation: within +-clip
    bool normalize_reward;   // the moments of returns are saved with it
} corral_policy_config;

typedef struct corral_policy corral_policy;

CORRAL_MUST_USE corral_status corral_policy_create(const corral_policy_config *config, uint64_t run_seed,
                                                   corral_policy **out_policy);
void corral_policy_destroy(corral_policy *policy);
/// The same network, weights and statistics in memory of its own.
CORRAL_MUST_USE corral_status corral_policy_clone(const corral_policy *policy, corral_policy **out_policy);

const corral_policy_config *corral_policy_get_config(const corral_policy *policy);
corral_params *corral_policy_params(corral_policy *policy);
uint64_t corral_policy_version(const corral_policy *policy);
void corral_policy_set_version(corral_policy *policy, uint64_t version);

/// Q-networks: the share of actions that are drawn among all alike instead of taking the best one. It belongs
/// to whoever acts: 0 at first, and neither packed nor saved nor cloned.
void corral_policy_set_exploration(corral_policy *policy, double epsilon);

// --- acting
// -----------------------------------------------------------------------------------------------------------

/// What acting on `rows` observations gives. Pointers that are NULL are not wanted.
typedef struct corral_policy_output {
    int32_t *action;     // [rows], 0 .. action_count-1
    int32_t *env_action; // [rows], as the environment counts them: action + action_start
    float *log_prob;     // [rows]
    float *logits;       // [rows, action_count]; of a Q-network the worths of the actions
    float *value;        // [rows]; of a Q-network the largest of them
} corral_policy_output;

/// observation [rows, observation_size], raw. uniform[r] in [0, 1) draws the action; NULL takes the most
/// probable one. A row's result does not depend on the other rows.
CORRAL_MUST_USE corral_status corral_policy_act(corral_policy *policy, size_t rows, const float *observation,
                                                const float *uniform, const corral_policy_output *out);

// --- learning
// ---------------------------------------------------------------------------------------------------------

/// The filter alone: raw to what the network sees. `out` may be `observation`. A plain copy without
/// normalisation.
void corral_policy_filter(const corral_policy *policy, size_t rows, const float *observation, float *out);

/// The network on a tape (whose parameters are this policy's): filtered observations [rows, observation_size]
/// to logits [rows, action_count] and value [rows, 1] (NULL of a Q-network). Bit for bit what
/// corral_policy_act() computes. A pointer that is NULL is not wanted, nor recorded.
void corral_policy_graph(const corral_policy *policy, corral_tape *tape, size_t rows, const float *filtered,
                         corral_tensor **out_logits, corral_tensor **out_value);

/// The weights that the logits alone depend on, and those of the value alone, where the network shares none:
/// false where it does. Then the two can learn apart, in parallel.
bool corral_policy_halves(const corral_policy *policy, corral_span *out_actor, corral_span *out_critic);

/// Merges rows, in their order, into the statistics (Chan et al. 1979, in f64). A no-op without
/// normalisation. Takes effect at once: give the policy a new version.
void corral_policy_filter_update(corral_policy *policy, size_t rows, const float *observation);

/// Of values seen one by one: how many, their mean, and the sum of squared deviations from it.
typedef struct corral_moments {
    double count, mean, m2;
} corral_moments;

/// Those of the discounted returns that rewards are scaled by. Whoever learns from the policy keeps them;
/// they travel with it and are saved where `normalize_reward` is set.
corral_moments corral_policy_returns(const corral_policy *policy);
void corral_policy_set_returns(corral_policy *policy, corral_moments returns);

// --- moving and keeping
// -----------------------------------------------------------------------------------------------

/// All of weights, statistics and version as bytes for workers of the same build: size fixed per
/// configuration.
size_t corral_policy_bytes(const corral_policy *policy);
void corral_policy_pack(const corral_policy *policy, void *out_bytes);
/// CORRAL_ERROR_CORRUPT where the bytes are not of this network.
CORRAL_MUST_USE corral_status corral_policy_unpack(corral_policy *policy, const void *bytes, size_t size);

/// policy.safetensors: weights by name, statistics, and the configuration as metadata, so that the file alone
/// makes the policy again.
CORRAL_MUST_USE corral_status corral_policy_write(const corral_policy *policy, const char *path);
CORRAL_MUST_USE corral_status corral_policy_read(const char *path, corral_policy **out_policy);
/// Takes the weights and statistics of `from` where names and shapes agree; writes how many entries were
/// taken and how many of `policy` were left as they are.
void corral_policy_take(corral_policy *policy, const corral_policy *from, uint32_t *out_taken,
                        uint32_t *out_left);

#ifdef __cplusplus
}
#endif
#endif
