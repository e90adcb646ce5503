// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The inside of a learner. learner.c holds what both algorithms share, network.c the passes through the
/// network, ppo.c and dqn.c a minibatch of each.
#ifndef CORRAL_CORE_DEVICE_LEARNER_PRIVATE_H
#define CORRAL_CORE_DEVICE_LEARNER_PRIVATE_H

#include "corral/core/device_learner.h"

#include "device/device.h"

enum { LEARNER_GRAPHS = 8, LEARNER_MEMORY = 192, LEARNER_SLOTS = 2 };

/// A layer with room for a minibatch. The halves are NULL in f32.
typedef struct learner_layer {
    size_t in, out, weight, bias; // offsets in the flat block
    uint32_t input;
    corral_activation activation;
    float *y, *gradient; // [minibatch, out]
    corral_bf16 *y_half, *gradient_half;
} learner_layer;

/// What a network reads, in one of two forms.
typedef struct learner_rows {
    float *f32;
    corral_bf16 *half;
} learner_rows;

typedef struct learner_weights {
    float *f32;
    corral_bf16 *half;
} learner_weights;

/// A minibatch of this many rows, from this slot of inputs.
typedef struct learner_graph {
    size_t rows;
    uint32_t slot;
    bool seen; // once eagerly: whatever loads late has loaded
    corral_graph *graph;
} learner_graph;

typedef struct learner_ppo {
    corral_device_ppo_config config;
    size_t epochs_room, order_used; // rows of `order`: there are, and of this update
    uint32_t *order, *host_order;
    float *observation, *log_prob, *reward, *value, *last_value, *final_value, *log_probs, *advantage,
        *target;
    int32_t *action;
    uint8_t *terminated, *truncated;
    double *mean, *inverse;
    corral_device_batch batch; // the host's, until the update is finished
    // the minibatch
    learner_rows mini_observation;
    float *mini_log_prob, *mini_value, *mini_advantage, *mini_target, *mini_log_probs;
    int32_t *mini_action;
    double *moments;
} learner_ppo;

typedef struct learner_dqn {
    corral_device_dqn_config config;
    learner_weights target;
    void *host[LEARNER_SLOTS], *inputs[LEARNER_SLOTS]; // one block each: corral_device_transitions in it
    size_t bytes;
    uint32_t slot; // that the host fills, or that is learned from
    double *mean, *inverse;
    double clip;
    bool filters;
    learner_rows observation, next;
    float *q_target, *q_online, *target_q, *q, *q_gradient, *error;
} learner_dqn;

struct corral_device_learner {
    corral_device *device;
    const corral_device_table *table;
    corral_device_learner_config config;
    corral_stream *work, *copies;
    void *memory[LEARNER_MEMORY];
    size_t memory_count;
    corral_status status; // the first failure of making it
    bool half;
    bool told; // that a shape is not recorded

    size_t count; // of the flat block
    learner_weights weights;
    float *first, *second, *gradient;
    double *squares, *partial;
    float *bias_partial;
    learner_layer layers[CORRAL_DENSE_LAYERS];
    corral_device_control *control, now; // on the device, and as last seen

    void (*minibatch)(corral_device_learner *learner, size_t rows);
    learner_graph graphs[LEARNER_GRAPHS];
    size_t graph_count;
    learner_ppo ppo;
    learner_dqn dqn;
};

// --- learner.c --------------------------------------------------------------------------------------------

corral_status learner_create(corral_device *device, const corral_device_learner_config *config,
                             corral_device_learner **out_learner);
/// Memory of the device that lives as long as the learner; on failure NULL, and learner->status.
void *learner_take(corral_device_learner *l, size_t bytes);
/// Room for rows in the form that the network reads.
learner_rows learner_take_rows(corral_device_learner *l, size_t count);
/// Does a minibatch, from a graph where there is one.
void learner_run(corral_device_learner *l, size_t rows, uint32_t slot);
corral_status learner_send_control(corral_device_learner *l);
/// Waits, and brings control->now up to date.
corral_status learner_read_control(corral_device_learner *l);
void learner_step(corral_device_learner *l, size_t rows, corral_device_sums kind);
void learner_fill_result(const corral_device_learner *l, corral_device_result *out);

// --- network.c --------------------------------------------------------------------------------------------

/// The results are in the layers' y.
void learner_forward(corral_device_learner *l, learner_weights weights, size_t rows, learner_rows x);
/// From the gradients of the actor's and the critic's layers to that of the flat block.
void learner_backward(corral_device_learner *l, size_t rows, learner_rows x);
const learner_layer *learner_actor(const corral_device_learner *l);
const learner_layer *learner_critic(const corral_device_learner *l); // NULL: there is none

#endif
