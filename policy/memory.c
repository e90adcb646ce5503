// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Recurrent policies: an LSTM or a GRU behind the hidden layers, which policy and value share. A row's state
/// is what it remembers before its observation: the hidden units, then (of an LSTM) the cells. Zeros are the
/// state before an episode begins.
///
/// Gates that keep what is there begin half open (Gers et al. 2000): with biases from 1 to 5, spread over the
/// units, a unit keeps a thing for some 3 to 150 steps before anything is learned, so that gradients find it
/// (as Tallec and Ollivier 2018, who draw such biases).
#include "policy_internal.h"

#include "corral/base/rng.h"
#include "corral/core/init.h"

#include <stdlib.h>
#include <string.h>

static size_t gates_of(const corral_policy_config *config)
{
    return config->memory == CORRAL_MEMORY_LSTM ? 4 : 3;
}

size_t corral_policy_memory_size(const corral_policy_config *config)
{
    if (config->memory == CORRAL_MEMORY_NONE) return 0;
    return (config->memory == CORRAL_MEMORY_LSTM ? 2 : 1) * (size_t)config->memory_units;
}

corral_status policy_memory_check(const corral_policy_config *config)
{
    if (config->memory == CORRAL_MEMORY_NONE) return CORRAL_OK;
    if (config->memory_units == 0 || config->memory_units > 65536)
        return corral_fail(CORRAL_ERROR_INVALID, "network.memory_units: %u is not 1 to 65536",
                           config->memory_units);
    if (config->kind != CORRAL_POLICY_ACTOR_CRITIC || !config->shared)
        return corral_fail(CORRAL_ERROR_INVALID,
                           "network.memory: a recurrent policy is an actor-critic that shares its network");
    return CORRAL_OK;
}

corral_status policy_memory_build(corral_policy *policy, size_t *width)
{
    const size_t units = policy->config.memory_units, gates = gates_of(&policy->config) * units;
    corral_recurrent *r = &policy->recurrent;
    corral_status status = corral_params_add(policy->params, "memory.weight_input", 2,
                                             (size_t[]){gates, *width}, &r->weight_input);
    if (status == CORRAL_OK)
        status = corral_params_add(policy->params, "memory.weight_hidden", 2, (size_t[]){gates, units},
                                   &r->weight_hidden);
    if (status == CORRAL_OK)
        status = corral_params_add(policy->params, "memory.bias_input", 1, &gates, &r->bias_input);
    if (status == CORRAL_OK)
        status = corral_params_add(policy->params, "memory.bias_hidden", 1, &gates, &r->bias_hidden);
    *width = units;
    if (units > policy->widest) policy->widest = units;
    return status;
}

corral_status policy_memory_init(corral_policy *policy, uint64_t seed)
{
    const size_t units = policy->config.memory_units;
    const uint32_t entries[] = {policy->recurrent.weight_input, policy->recurrent.weight_hidden,
                                policy->recurrent.bias_input, policy->recurrent.bias_hidden};
    if (policy->config.memory == CORRAL_MEMORY_NONE) return CORRAL_OK;
    for (int i = 0; i < 4; i++) {
        const uint64_t key = corral_stream_key(seed, CORRAL_STREAM_INITIALISATION, entries[i]);
        const corral_status status = corral_init_uniform_fan_in(policy->params, entries[i], units, key);
        if (status != CORRAL_OK) return status;
    }
    // The second gate of either kind is the one that keeps.
    const corral_param *bias = corral_params_entry(policy->params, policy->recurrent.bias_hidden);
    float *data = (float *)corral_params_data(policy->params) + bias->offset;
    for (size_t i = 0; i < units; i++)
        data[units + i] += 1 + (units > 1 ? 4 * (float)i / (float)(units - 1) : 0);
    return CORRAL_OK;
}

void corral_policy_part_memory(const corral_policy_config *config, size_t rows, const float *memory,
                               float *out_hidden, float *out_cell)
{
    const size_t units = config->memory_units, size = corral_policy_memory_size(config);
    for (size_t r = 0; r < rows; r++, memory += size) {
        memcpy(out_hidden + r * units, memory, units * sizeof *memory);
        if (config->memory == CORRAL_MEMORY_LSTM)
            memcpy(out_cell + r * units, memory + units, units * sizeof *memory);
    }
}

void policy_memory_join(const corral_policy *policy, const policy_outputs *network, size_t rows, float *out)
{
    const size_t units = policy->config.memory_units, size = corral_policy_memory_size(&policy->config);
    for (size_t r = 0; r < rows; r++, out += size) {
        memcpy(out, (const float *)network->features->data + r * units, units * sizeof *out);
        if (network->cell != NULL)
            memcpy(out + units, (const float *)network->cell->data + r * units, units * sizeof *out);
    }
}

corral_tensor *policy_memory_graph(const corral_policy *policy, corral_tensor *x, const policy_past *past,
                                   corral_tensor **out_cell)
{
    const size_t units = policy->config.memory_units, sequences = x->shape[0] / past->steps;
    const size_t shape[] = {sequences, units};
    corral_sequences s = {.steps = past->steps, .reset = past->reset};
    if (past->hidden != NULL) s.hidden = corral_input(x->tape, CORRAL_F32, 2, shape, past->hidden);
    if (policy->config.memory == CORRAL_MEMORY_GRU) return corral_gru(x, &policy->recurrent, &s);
    if (past->cell != NULL) s.cell = corral_input(x->tape, CORRAL_F32, 2, shape, past->cell);
    return corral_lstm(x, &policy->recurrent, &s, out_cell);
}
