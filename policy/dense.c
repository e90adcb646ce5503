// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The network as a list of linear layers, for whoever computes with it elsewhere than on a tape.
#include "policy_internal.h"

/// Appends a tower that reads `input`; returns what the next one may read: the number behind its last layer.
static uint32_t add_tower(const policy_tower *tower, uint32_t input, corral_dense_network *out)
{
    for (uint32_t i = 0; i < tower->count; i++) {
        const policy_layer *layer = &tower->layer[i];
        out->layers[out->count++] = (corral_dense_layer){
            .weight = layer->weight, .bias = layer->bias, .input = input, .activation = layer->activation};
        input = out->count;
    }
    return input;
}

corral_status corral_policy_dense(const corral_policy *policy, corral_dense_network *out_network)
{
    if (policy->body.image_count > 0)
        return corral_fail(
            CORRAL_ERROR_UNSUPPORTED,
            "device: a GPU learns without convolutions; set network.cnn=none, or use device=cpu");
    if (policy->general || policy->config.masked)
        return corral_fail(CORRAL_ERROR_UNSUPPORTED,
                           "device: a GPU learns policies whose action is one plain choice, and this "
                           "one has numbers, parts, masks or a memory; use device=cpu");
    if (policy->config.noisy || policy->config.worth != CORRAL_WORTH_MEAN)
        return corral_fail(CORRAL_ERROR_UNSUPPORTED,
                           "device: a GPU learns the plain worths of actions; leave dqn.noisy and "
                           "dqn.distribution as they are, or use device=cpu");
    const uint32_t layers = policy->trunk.count + policy->actor.count + policy->critic.count;
    if (layers > CORRAL_DENSE_LAYERS)
        return corral_fail(CORRAL_ERROR_UNSUPPORTED, "a device takes %d layers, this network has %u",
                           CORRAL_DENSE_LAYERS, layers);
    *out_network = (corral_dense_network){.critic = CORRAL_DENSE_LAYERS, .dueling = policy->config.dueling};
    const uint32_t trunk = add_tower(&policy->trunk, 0, out_network);
    out_network->actor = add_tower(&policy->actor, trunk, out_network) - 1;
    if (policy->critic.count > 0) out_network->critic = add_tower(&policy->critic, trunk, out_network) - 1;
    return CORRAL_OK;
}

bool corral_policy_statistics(const corral_policy *policy, const double **out_mean,
                              const double **out_inverse)
{
    *out_mean = policy->filter.mean;
    *out_inverse = policy->filter.inverse;
    return policy->config.normalize_observation && policy->config.observation.part_count == 0;
}
