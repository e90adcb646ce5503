// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "policy_internal.h"

#include "corral/base/rng.h"
#include "corral/core/init.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// --- building ---------------------------------------------------------------------------------------------

static corral_status check_config(const corral_policy_config *config)
{
    if (config->observation_size == 0 || config->action_count == 0)
        return corral_fail(CORRAL_ERROR_INVALID,
                           "a policy needs at least one observation element and one action");
    if (config->hidden.count == 0 || config->hidden.count > CORRAL_SIZES_MAX)
        return corral_fail(CORRAL_ERROR_INVALID, "network.hidden: %u layers, 1 to %d are possible",
                           config->hidden.count, CORRAL_SIZES_MAX);
    for (uint32_t i = 0; i < config->hidden.count; i++)
        if (config->hidden.value[i] == 0)
            return corral_fail(CORRAL_ERROR_INVALID, "network.hidden: layer %u has no units", i);
    return CORRAL_OK;
}

static corral_status add_layer(corral_policy *policy, policy_tower *tower, const char *name, size_t in,
                               size_t out, corral_activation activation)
{
    policy_layer *layer = &tower->layer[tower->count++];
    *layer = (policy_layer){.in = in, .out = out, .activation = activation};
    if (out > policy->widest) policy->widest = out;
    char full[64];
    snprintf(full, sizeof full, "%s.weight", name);
    corral_status status = corral_params_add(policy->params, full, 2, (size_t[]){out, in}, &layer->weight);
    if (status != CORRAL_OK) return status;
    snprintf(full, sizeof full, "%s.bias", name);
    return corral_params_add(policy->params, full, 1, (size_t[]){out}, &layer->bias);
}

static corral_status add_hidden(corral_policy *policy, policy_tower *tower, const char *name, size_t *width)
{
    corral_status status = CORRAL_OK;
    for (uint32_t i = 0; i < policy->config.hidden.count && status == CORRAL_OK; i++) {
        char full[48];
        snprintf(full, sizeof full, "%s.%u", name, i);
        const size_t out = policy->config.hidden.value[i];
        status = add_layer(policy, tower, full, *width, out, policy->config.activation);
        *width = out;
    }
    return status;
}

static corral_status build_q_network(corral_policy *policy)
{
    const corral_policy_config *config = &policy->config;
    size_t width = config->observation_size;
    policy->widest = width;
    corral_status status = add_hidden(policy, &policy->trunk, "trunk", &width);
    if (status == CORRAL_OK)
        status = add_layer(policy, &policy->actor, config->dueling ? "advantage" : "q", width,
                           config->action_count, CORRAL_LINEAR);
    if (status == CORRAL_OK && config->dueling)
        status = add_layer(policy, &policy->critic, "value", width, 1, CORRAL_LINEAR);
    if (status == CORRAL_OK) status = corral_params_seal(policy->params);
    return status;
}

static corral_status build_network(corral_policy *policy)
{
    if (policy->config.kind == CORRAL_POLICY_Q) return build_q_network(policy);
    const corral_policy_config *config = &policy->config;
    size_t actor_width = config->observation_size, critic_width = config->observation_size;
    policy->widest = config->observation_size;
    // An actor and a critic that share nothing lie one behind the other: see corral_policy_halves().
    corral_status status = CORRAL_OK;
    if (config->shared) {
        status = add_hidden(policy, &policy->trunk, "trunk", &actor_width);
        critic_width = actor_width;
    } else {
        status = add_hidden(policy, &policy->actor, "actor", &actor_width);
    }
    if (status == CORRAL_OK)
        status =
            add_layer(policy, &policy->actor, "policy", actor_width, config->action_count, CORRAL_LINEAR);
    if (status == CORRAL_OK && !config->shared)
        status = add_hidden(policy, &policy->critic, "critic", &critic_width);
    if (status == CORRAL_OK)
        status = add_layer(policy, &policy->critic, "value", critic_width, 1, CORRAL_LINEAR);
    if (status == CORRAL_OK) status = corral_params_seal(policy->params);
    return status;
}

static corral_status init_tower(corral_policy *policy, const policy_tower *tower, double head_gain,
                                uint64_t seed)
{
    corral_status status = CORRAL_OK;
    for (uint32_t i = 0; i < tower->count && status == CORRAL_OK; i++) {
        const policy_layer *layer = &tower->layer[i];
        const uint64_t key = corral_stream_key(seed, CORRAL_STREAM_INITIALISATION, layer->weight);
        const uint64_t bias_key = corral_stream_key(seed, CORRAL_STREAM_INITIALISATION, layer->bias);
        if (policy->config.initialisation == CORRAL_INIT_FAN_IN) {
            status = corral_init_uniform_fan_in(policy->params, layer->weight, layer->in, key);
            if (status == CORRAL_OK)
                status = corral_init_uniform_fan_in(policy->params, layer->bias, layer->in, bias_key);
        } else {
            const double gain = layer->activation == CORRAL_LINEAR ? head_gain : sqrt(2.0);
            status = corral_init_orthogonal(policy->params, layer->weight, gain, key);
        }
    }
    return status;
}

static corral_status init_weights(corral_policy *policy, uint64_t seed)
{
    const double head_gain = policy->config.kind == CORRAL_POLICY_Q ? 1.0 : 0.01;
    corral_status status = init_tower(policy, &policy->trunk, 1.0, seed);
    if (status == CORRAL_OK) status = init_tower(policy, &policy->actor, head_gain, seed);
    if (status == CORRAL_OK) status = init_tower(policy, &policy->critic, 1.0, seed);
    corral_params_refresh(policy->params);
    return status;
}

corral_status policy_create_uninitialised(const corral_policy_config *config, corral_policy **out_policy)
{
    corral_status status = check_config(config);
    if (status != CORRAL_OK) return status;
    corral_policy *policy = calloc(1, sizeof *policy);
    if (policy == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a policy");
    policy->config = *config;
    status = corral_params_create(CORRAL_F32, &policy->params);
    if (status == CORRAL_OK) status = policy_filter_init(&policy->filter, config->observation_size);
    if (status == CORRAL_OK) status = build_network(policy);
    for (int i = 0; i < POLICY_SCRATCH && status == CORRAL_OK; i++) {
        const size_t bytes = POLICY_BLOCK_ROWS * policy->widest * sizeof(float);
        policy->scratch[i] = aligned_alloc(64, (bytes + 63) / 64 * 64);
        if (policy->scratch[i] == NULL)
            status = corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for layers of %zu units", policy->widest);
    }
    if (status != CORRAL_OK) {
        corral_policy_destroy(policy);
        return status;
    }
    *out_policy = policy;
    return CORRAL_OK;
}

corral_status corral_policy_create(const corral_policy_config *config, uint64_t run_seed,
                                   corral_policy **out_policy)
{
    corral_policy *policy;
    corral_status status = policy_create_uninitialised(config, &policy);
    if (status != CORRAL_OK) return status;
    status = init_weights(policy, run_seed);
    if (status != CORRAL_OK) {
        corral_policy_destroy(policy);
        return status;
    }
    *out_policy = policy;
    return CORRAL_OK;
}

void corral_policy_destroy(corral_policy *policy)
{
    if (policy == NULL) return;
    corral_params_destroy(policy->params);
    policy_filter_finish(&policy->filter);
    for (int i = 0; i < POLICY_SCRATCH; i++)
        free(policy->scratch[i]);
    free(policy);
}

corral_status corral_policy_clone(const corral_policy *policy, corral_policy **out_policy)
{
    corral_policy *clone;
    corral_status status = policy_create_uninitialised(&policy->config, &clone);
    if (status != CORRAL_OK) return status;
    uint32_t taken, left;
    corral_policy_take(clone, policy, &taken, &left);
    clone->version = policy->version;
    *out_policy = clone;
    return CORRAL_OK;
}

const corral_policy_config *corral_policy_get_config(const corral_policy *policy)
{
    return &policy->config;
}

corral_params *corral_policy_params(corral_policy *policy)
{
    return policy->params;
}

uint64_t corral_policy_version(const corral_policy *policy)
{
    return policy->version;
}

void corral_policy_set_version(corral_policy *policy, uint64_t version)
{
    policy->version = version;
}

// --- acting -----------------------------------------------------------------------------------------------

void corral_policy_set_exploration(corral_policy *policy, double epsilon)
{
    policy->exploration = epsilon;
}

void policy_run_tower(const corral_policy *policy, const policy_tower *tower, size_t rows, const float *x,
                      float *out)
{
    for (uint32_t i = 0; i < tower->count; i++) {
        const policy_layer *layer = &tower->layer[i];
        float *y = i + 1 == tower->count ? out : policy->scratch[1 + i % 2];
        corral_linear_forward(policy->params, layer->weight, layer->bias, layer->activation, rows, x, y);
        x = y;
    }
}

static void act_block(corral_policy *policy, size_t rows, const float *observation, const float *uniform,
                      const corral_policy_output *out)
{
    const size_t actions = policy->config.action_count;
    float *x = policy->scratch[0];
    if (policy->config.kind == CORRAL_POLICY_Q) {
        policy_act_q(policy, rows, observation, uniform, out);
        return;
    }
    corral_policy_filter(policy, rows, observation, x);
    if (policy->trunk.count > 0) {
        policy_run_tower(policy, &policy->trunk, rows, x, policy->scratch[3]);
        x = policy->scratch[3];
    }
    if (out->value != NULL) policy_run_tower(policy, &policy->critic, rows, x, out->value);
    if (out->logits == NULL) return;
    policy_run_tower(policy, &policy->actor, rows, x, out->logits);
    if (out->action == NULL) return;
    if (uniform != NULL) {
        float *log_prob = out->log_prob != NULL ? out->log_prob : policy->scratch[1];
        corral_categorical_sample(rows, actions, out->logits, uniform, out->action, log_prob);
    } else {
        corral_categorical_mode(rows, actions, out->logits, out->action);
        if (out->log_prob != NULL) {
            float *log_probs = policy->scratch[1];
            for (size_t r = 0; r < rows; r++) {
                corral_categorical_log_probs(1, actions, out->logits + r * actions, log_probs);
                out->log_prob[r] = log_probs[out->action[r]];
            }
        }
    }
    if (out->env_action != NULL)
        for (size_t r = 0; r < rows; r++)
            out->env_action[r] = (int32_t)(out->action[r] + policy->config.action_start);
}

corral_status corral_policy_act(corral_policy *policy, size_t rows, const float *observation,
                                const float *uniform, const corral_policy_output *out)
{
    const size_t actions = policy->config.action_count;
    if (out->action == NULL && out->env_action != NULL)
        return corral_fail(CORRAL_ERROR_INVALID, "acting: env_action is wanted without action");
    if (out->logits == NULL && out->action != NULL)
        return corral_fail(CORRAL_ERROR_INVALID, "acting: actions are wanted without memory for logits");
    for (size_t at = 0; at < rows; at += POLICY_BLOCK_ROWS) {
        const size_t count = rows - at < POLICY_BLOCK_ROWS ? rows - at : POLICY_BLOCK_ROWS;
        const corral_policy_output block = {
            .action = out->action != NULL ? out->action + at : NULL,
            .env_action = out->env_action != NULL ? out->env_action + at : NULL,
            .log_prob = out->log_prob != NULL ? out->log_prob + at : NULL,
            .logits = out->logits != NULL ? out->logits + at * actions : NULL,
            .value = out->value != NULL ? out->value + at : NULL,
        };
        act_block(policy, count, observation + at * policy->config.observation_size,
                  uniform != NULL ? uniform + at : NULL, &block);
    }
    return CORRAL_OK;
}

// --- learning ---------------------------------------------------------------------------------------------

void corral_policy_filter(const corral_policy *policy, size_t rows, const float *observation, float *out)
{
    if (policy->config.normalize_observation)
        policy_filter_apply(&policy->filter, policy->config.observation_clip, rows, observation, out);
    else if (out != observation)
        memcpy(out, observation, rows * policy->config.observation_size * sizeof *out);
}

void corral_policy_filter_update(corral_policy *policy, size_t rows, const float *observation)
{
    if (policy->config.normalize_observation) policy_filter_merge(&policy->filter, rows, observation);
}

corral_moments corral_policy_returns(const corral_policy *policy)
{
    return policy->returns;
}

void corral_policy_set_returns(corral_policy *policy, corral_moments returns)
{
    policy->returns = returns;
}

static corral_tensor *graph_tower(const policy_tower *tower, corral_tensor *x)
{
    for (uint32_t i = 0; i < tower->count; i++)
        x = corral_linear(x, tower->layer[i].weight, tower->layer[i].bias, tower->layer[i].activation);
    return x;
}

void corral_policy_graph(const corral_policy *policy, corral_tape *tape, size_t rows, const float *filtered,
                         corral_tensor **out_logits, corral_tensor **out_value)
{
    corral_tensor *x =
        corral_input(tape, CORRAL_F32, 2, (size_t[]){rows, policy->config.observation_size}, filtered);
    x = graph_tower(&policy->trunk, x);
    if (policy->config.kind == CORRAL_POLICY_Q) {
        *out_logits = graph_tower(&policy->actor, x);
        if (policy->critic.count > 0)
            *out_logits = corral_dueling(graph_tower(&policy->critic, x), *out_logits);
        if (out_value != NULL) *out_value = NULL;
        return;
    }
    if (out_logits != NULL) *out_logits = graph_tower(&policy->actor, x);
    if (out_value != NULL) *out_value = graph_tower(&policy->critic, x);
}

bool corral_policy_halves(const corral_policy *policy, corral_span *out_actor, corral_span *out_critic)
{
    if (policy->config.kind != CORRAL_POLICY_ACTOR_CRITIC || policy->config.shared) return false;
    const size_t cut = corral_params_entry(policy->params, policy->critic.layer[0].weight)->offset;
    *out_actor = (corral_span){0, cut};
    *out_critic = (corral_span){cut, corral_params_count(policy->params) - cut};
    return true;
}
