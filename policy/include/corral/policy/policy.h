// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A policy: observation -> filter -> network -> distribution -> action, the one pipeline that training,
/// evaluation, the viewer and serving share.
///
/// An actor-critic over any observation and any action, or a Q-network over one discrete action. The filter's
/// statistics belong to the policy: they travel with its weights, are saved with it, and are frozen but for
/// corral_policy_filter_update(). A policy is used by one thread at a time; corral_policy_clone() makes one
/// for another thread.
#ifndef CORRAL_POLICY_POLICY_H
#define CORRAL_POLICY_POLICY_H

#include "corral/base/config.h"
#include "corral/base/status.h"
#include "corral/core/device_learner.h"
#include "corral/core/ops.h"
#include "corral/core/tensor.h"
#include "corral/policy/space.h"

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

/// Where the deviation of an action's numbers comes from: see heads.c.
typedef enum corral_deviation_kind {
    CORRAL_DEVIATION_FREE,  // a weight each
    CORRAL_DEVIATION_STATE, // the network
    CORRAL_DEVIATION_GSDE,  // generalised state-dependent exploration
} corral_deviation_kind;

/// Convolutions over images: see body.c.
typedef enum corral_cnn {
    CORRAL_CNN_NONE, // images are floats like others
    CORRAL_CNN_SMALL,
    CORRAL_CNN_NATURE,
} corral_cnn;

/// What a policy remembers with: see memory.c.
typedef enum corral_memory {
    CORRAL_MEMORY_NONE,
    CORRAL_MEMORY_LSTM,
    CORRAL_MEMORY_GRU,
} corral_memory;

/// What a Q-network says of an action's worth.
typedef enum corral_worth {
    CORRAL_WORTH_MEAN,        // its mean
    CORRAL_WORTH_CATEGORICAL, // logits of a distribution over fixed values (C51)
    CORRAL_WORTH_QUANTILE,    // quantiles of its distribution (QR-DQN)
} corral_worth;

typedef struct corral_policy_config {
    corral_policy_kind kind;
    uint32_t observation_size;       // floats that the network sees
    corral_policy_space observation; // what they are made of; no parts: an observation is these floats
    uint32_t action_count;           // actions; of an action with parts, inputs of its distribution
    int64_t action_start;            // the environment's first action
    corral_policy_space action;      // choices and numbers; no parts: one of action_count
    bool masked;                     // choices that are not allowed are never made
    corral_deviation_kind deviation;
    bool squash;  // numbers go through tanh, and then fill their bounds
    bool rescale; // -1 .. 1 fills the bounds of numbers that have both; without it, numbers are as drawn
    double log_std_init;
    uint32_t noise_every; // steps for which gSDE keeps its noise
    corral_memory memory; // behind the hidden layers
    uint32_t memory_units;
    corral_cnn cnn;      // where the observation has images
    corral_sizes hidden; // widths of the hidden layers, at least one
    corral_activation activation;
    bool shared;                 // one trunk for both heads (those of a Q-network always share)
    bool dueling;                // Q-networks: a value and advantages instead of the worths alone
    corral_worth worth;          // Q-networks
    uint32_t atoms;              // of a distribution: its values, or its quantiles
    double value_min, value_max; // between which a categorical one's values lie
    bool noisy;                  // Q-networks: weights with learned noise
    double noisy_sigma;          // its size at the start, times the root of a layer's inputs
    corral_initialisation initialisation;
    bool normalize_observation;
    double observation_clip; // after normalisation: within +-clip
    bool normalize_reward;   // the moments of returns are saved with it
} corral_policy_config;

/// Bytes of a raw observation.
size_t corral_policy_observation_bytes(const corral_policy_config *config);

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

/// Of one action: words as acting gives them and learning takes them (choices, then numbers), bytes as the
/// environment takes it, bytes of its mask (one per choice; 0: none), floats of the chance that draws it.
size_t corral_policy_action_words(const corral_policy_config *config);
size_t corral_policy_action_bytes(const corral_policy_config *config);
size_t corral_policy_mask_bytes(const corral_policy_config *config);
size_t corral_policy_noise_width(const corral_policy_config *config);
/// Floats that a policy remembers per row; 0: none.
size_t corral_policy_memory_size(const corral_policy_config *config);
/// Parts rows of them into hidden units and (of an LSTM) cells, [rows, memory_units] each.
void corral_policy_part_memory(const corral_policy_config *config, size_t rows, const float *memory,
                               float *out_hidden, float *out_cell);
/// Inputs of the distribution of an action with parts.
size_t corral_policy_action_inputs(const corral_policy_space *action);
/// From an action's words to the row that the environment takes: squashed, scaled, and within its bounds.
void corral_policy_env_action(const corral_policy_config *config, const int32_t *action, void *out_row);
/// The chance of step number `step` of a stream. `fresh`: out_noise does not hold that of the step before.
void corral_policy_draw(const corral_policy_config *config, uint64_t key, uint64_t step, bool fresh,
                        float *out_noise);

/// Noisy networks: draws the noise that the weights bear from now on; or takes it away, as it is at first,
/// and again whenever weights were unpacked or taken. It belongs to whoever acts or learns, as exploration
/// does. To be called anew once the weights have changed.
void corral_policy_draw_noise(corral_policy *policy, uint64_t key);
void corral_policy_still_noise(corral_policy *policy);

// --- acting
// -----------------------------------------------------------------------------------------------------------

/// What acting on `rows` observations gives. Pointers that are NULL are not wanted.
typedef struct corral_policy_output {
    int32_t *action;  // [rows, action words]: 0 .. action_count-1
    void *env_action; // [rows, action bytes], as the environment takes them
    float *log_prob;  // [rows]
    float *logits;    // [rows, action_count]; of a Q-network the worths of the actions
    float *value;     // [rows]; of a Q-network the largest of them
    float *memory;    // [rows, memory size], after these observations; may be that of the input
} corral_policy_output;

/// What acting starts from.
typedef struct corral_policy_input {
    size_t rows;
    const void *observation; // [rows, observation bytes], raw
    const float *noise;      // [rows, noise width] of corral_policy_draw(); NULL takes what is most probable
    const uint8_t *mask;     // [rows, mask bytes]; NULL: everything is allowed
    const float *memory;     // [rows, memory size], before these observations; NULL: nothing yet
} corral_policy_input;

/// A row's result does not depend on the other rows.
CORRAL_MUST_USE corral_status corral_policy_act_on(corral_policy *policy, const corral_policy_input *in,
                                                   const corral_policy_output *out);

/// The same without masks. Rows of raw observations, corral_policy_observation_bytes() each. uniform[r] in
/// [0, 1) draws the action; NULL takes the most probable one. A row's result does not depend on the other
/// rows.
CORRAL_MUST_USE corral_status corral_policy_act(corral_policy *policy, size_t rows, const void *observation,
                                                const float *uniform, const corral_policy_output *out);

// --- learning
// ---------------------------------------------------------------------------------------------------------

/// The encoder and the filter alone: rows of raw observations to what the network sees
/// [rows, observation_size]. `out` may be `observation` where the observation has no parts.
void corral_policy_filter(const corral_policy *policy, size_t rows, const void *observation, float *out);

/// What the network multiplies with: the policy's parameters, or what noise has made of them.
const corral_params *corral_policy_weights(const corral_policy *policy);
/// Fills the part of a gradient block that belongs to the noise, once the network's own part is whole.
void corral_policy_noise_gradient(const corral_policy *policy, float *gradient);

/// The worths of actions [rows, action_count] of what a Q-network's graph gives for them.
void corral_policy_worths(const corral_policy *policy, size_t rows, const float *output, float *out_worth);
/// Of worths [rows, actions] the best action of each row, the lowest of equals, among those that `mask`
/// [rows, actions] allows (NULL: all).
void corral_policy_best(size_t rows, size_t actions, const float *worth, const uint8_t *mask,
                        int32_t *out_action);

/// The network on a tape (whose parameters are this policy's): filtered observations [rows, observation_size]
/// to logits [rows, action_count] (of a Q-network that speaks of distributions [rows, action_count x atoms])
/// and value [rows, 1] (NULL of a Q-network). Bit for bit what corral_policy_act() computes. A pointer that
/// is NULL is not wanted, nor recorded.
void corral_policy_graph(const corral_policy *policy, corral_tape *tape, size_t rows, const float *filtered,
                         corral_tensor **out_logits, corral_tensor **out_value);

/// The weights that the logits alone depend on, and those of the value alone, where the network shares none:
/// false where it does. Then the two can learn apart, in parallel.
bool corral_policy_halves(const corral_policy *policy, corral_span *out_actor, corral_span *out_critic);

/// The network as a list of linear layers, as a device takes it. CORRAL_ERROR_UNSUPPORTED where it is more.
CORRAL_MUST_USE corral_status corral_policy_dense(const corral_policy *policy,
                                                  corral_dense_network *out_network);
/// What the filter subtracts and multiplies by, [observation_size] each, until the next update of it; false
/// where it does nothing, or more than that.
bool corral_policy_statistics(const corral_policy *policy, const double **out_mean,
                              const double **out_inverse);

/// Actions that were taken, [rows, ...]: what corral_policy_action_words() counts, parted. Pointers must live
/// until the tape's reset; old_* are the inputs of the distribution that acted, NULL where the divergence
/// from it is not wanted.
typedef struct corral_policy_taken {
    const int32_t *choice;
    const float *number;
    const uint8_t *mask;
    const float *old_logits, *old_mean, *old_log_std;
    // of a recurrent policy, whose rows are sequences of `steps` each:
    size_t steps;
    const uint8_t *reset;       // [rows] 1 where an episode begins
    const float *hidden, *cell; // [sequences, memory_units] before each
} corral_policy_taken;

/// What the policy of now says of them, each [rows].
typedef struct corral_policy_judged {
    corral_tensor *log_prob, *entropy;
    corral_tensor *kl;    // KL(old || now); NULL where it is not wanted
    corral_tensor *value; // [rows, 1]
} corral_policy_judged;

/// How many of an action's words are choices, and how many of its inputs are logits: the rest are numbers,
/// and their means and the logarithms of their deviations.
void corral_policy_action_widths(const corral_policy *policy, size_t *out_choices, size_t *out_logits,
                                 size_t *out_numbers);
/// Whether the policy is more than one plain choice and no memory: it learns by corral_policy_judge() instead
/// of corral_policy_graph().
bool corral_policy_is_general(const corral_policy *policy);
/// Records the network and the distributions of actions that were taken.
void corral_policy_judge(const corral_policy *policy, corral_tape *tape, size_t rows, const float *filtered,
                         const corral_policy_taken *taken, corral_policy_judged *out);

/// Merges raw rows, in their order, into the statistics (Chan et al. 1979, in f64). A no-op without
/// normalisation. Takes effect at once: give the policy a new version.
void corral_policy_filter_update(corral_policy *policy, size_t rows, const void *observation);

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
