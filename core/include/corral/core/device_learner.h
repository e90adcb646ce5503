// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A whole update on a GPU. Parameters, moments and the batch stay on the device; a minibatch (gather,
/// forward, loss, backward, clip, Adam) is one graph that is recorded once per number of rows and then
/// replayed. Learning rate, step, loss scale and place in the batch are in device memory, and nothing is read
/// by the host between two minibatches.
///
/// One thread, the one that opened the device.
#ifndef CORRAL_CORE_DEVICE_LEARNER_H
#define CORRAL_CORE_DEVICE_LEARNER_H

#include "corral/core/device.h"
#include "corral/core/ops.h"
#include "corral/core/optim.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A network of linear layers over entries of a parameter block. Layers come in an order in which each one's
/// input is there: input 0 is the observation, input i the result of layer i - 1.
typedef struct corral_dense_layer {
    uint32_t weight, bias; // entries of the parameters
    uint32_t input;
    corral_activation activation;
} corral_dense_layer;

enum { CORRAL_DENSE_LAYERS = 32 };

typedef struct corral_dense_network {
    corral_dense_layer layers[CORRAL_DENSE_LAYERS];
    uint32_t count;
    uint32_t actor;  // the layer that gives logits, or the worths (dueling: advantages) of actions
    uint32_t critic; // the layer that gives the value; CORRAL_DENSE_LAYERS: there is none
    bool dueling;
} corral_dense_network;

typedef enum corral_precision {
    CORRAL_PRECISION_F32,
    CORRAL_PRECISION_BF16, // of products' operands; sums, weights and all else stay f32
} corral_precision;

typedef struct corral_device_learner_config {
    const corral_params *params; // what the layers' entries mean; must outlive the learner
    corral_dense_network network;
    corral_optimizer_config optimizer; // Adam
    corral_precision precision;
    size_t observation_size, actions;
    size_t minibatch; // rows at most
    bool eager;       // record no graphs; the results are the same
} corral_device_learner_config;

typedef struct corral_device_learner corral_device_learner;

/// Where weights and moments are read from and written to: blocks of corral_params_count() elements. NULL:
/// not wanted.
typedef struct corral_device_state {
    float *weights, *first, *second;
    uint64_t steps;
} corral_device_state;

CORRAL_MUST_USE corral_status corral_device_learner_load(corral_device_learner *learner,
                                                         const corral_device_state *state);
CORRAL_MUST_USE corral_status corral_device_learner_save(corral_device_learner *learner,
                                                         corral_device_state *state);
void corral_device_learner_destroy(corral_device_learner *learner);

/// What an update did: sums over its minibatches of their means over rows.
typedef struct corral_device_result {
    double policy_loss, value_loss, entropy, approx_kl, clip_fraction, kl; // PPO
    double loss, q, error;                                                 // DQN
    double infinite_kl;                                                    // rows
    double grad_norm, first_ratio_deviation;
    double epoch_kl; // mean over the rows of the last epoch begun
    double scale;    // of the loss
    uint64_t minibatches, skipped, overflows;
    bool stopped; // by stop_kl
} corral_device_result;

// --- PPO --------------------------------------------------------------------------------------------------

typedef struct corral_device_ppo_config {
    corral_device_learner_config learner;
    size_t envs, steps; // of a batch
    size_t epochs;      // of an update, at most
    double gamma, lambda;
    float value_clip_range, value_error_clip, value_coefficient;
    bool normalize_advantage, penalised;
} corral_device_ppo_config;

CORRAL_MUST_USE corral_status corral_device_ppo_create(corral_device *device,
                                                       const corral_device_ppo_config *config,
                                                       corral_device_learner **out_learner);

/// A batch on the host, by (environment, step). Observations are filtered on the device where `mean` is
/// there.
typedef struct corral_device_batch {
    const float *observation;     // [rows, observation_size]
    const double *mean, *inverse; // [observation_size], or NULL
    double clip;
    const int32_t *action;                 // [rows]
    const float *log_prob, *reward;        // [rows]
    const float *value;                    // [rows]
    const float *last_value;               // [envs]
    const float *final_value;              // [rows]
    const uint8_t *terminated, *truncated; // [rows]
    const float *log_probs;                // [rows, actions], where the divergence is penalised
    float *advantage, *target;             // [rows]: where the device's estimates are written to
} corral_device_batch;

/// What an update is told. The schedules' values of now.
typedef struct corral_device_ppo_moment {
    double learning_rate, stop_kl; // 0: no stop
    float clip_range, entropy_coefficient, kl_coefficient;
} corral_device_ppo_moment;

/// Begins an update: the batch is copied and its advantages are estimated.
CORRAL_MUST_USE corral_status corral_device_ppo_begin(corral_device_learner *learner,
                                                      const corral_device_batch *batch,
                                                      const corral_device_ppo_moment *now);
/// One epoch over rows in this order, which is copied. Does not wait, but where a stop was asked for: then
/// `*out_stop` says whether it came.
CORRAL_MUST_USE corral_status corral_device_ppo_epoch(corral_device_learner *learner, const uint32_t *order,
                                                      size_t count, bool *out_stop);
/// Waits for all of it.
CORRAL_MUST_USE corral_status corral_device_ppo_finish(corral_device_learner *learner,
                                                       corral_device_result *out_result);

// --- DQN --------------------------------------------------------------------------------------------------

typedef struct corral_device_dqn_config {
    corral_device_learner_config learner;
    float huber_delta;
    bool double_q;
} corral_device_dqn_config;

CORRAL_MUST_USE corral_status corral_device_dqn_create(corral_device *device,
                                                       const corral_device_dqn_config *config,
                                                       corral_device_learner **out_learner);
/// The weights of the target network.
CORRAL_MUST_USE corral_status corral_device_dqn_load_target(corral_device_learner *learner,
                                                            const float *weights);
CORRAL_MUST_USE corral_status corral_device_dqn_save_target(corral_device_learner *learner, float *weights);

/// The statistics by which observations are filtered from now on; NULL: not at all.
CORRAL_MUST_USE corral_status corral_device_dqn_begin(corral_device_learner *learner, double learning_rate,
                                                      const double *mean, const double *inverse, double clip);
/// Where the host puts a minibatch: memory that is free until the next corral_device_dqn_learn().
typedef struct corral_device_transitions {
    float *observation, *next; // [minibatch, observation_size]
    int32_t *action;           // [minibatch]
    float *reward, *discount, *weight;
} corral_device_transitions;
CORRAL_MUST_USE corral_status corral_device_dqn_next(corral_device_learner *learner,
                                                     corral_device_transitions *out_transitions);
/// Learns from what was put there. Where `out_error` [minibatch] is not NULL it waits for the errors, and
/// says whether the step was skipped as not finite.
CORRAL_MUST_USE corral_status corral_device_dqn_learn(corral_device_learner *learner, float *out_error,
                                                      bool *out_skipped);
/// target += tau (weights - target); 1: a copy.
void corral_device_dqn_move_target(corral_device_learner *learner, float tau);
CORRAL_MUST_USE corral_status corral_device_dqn_finish(corral_device_learner *learner,
                                                       corral_device_result *out_result);

#ifdef __cplusplus
}
#endif
#endif
