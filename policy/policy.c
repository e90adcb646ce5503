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

/// Whether a policy is more than one plain choice without a memory. A Q-network minds a mask itself.
static bool needs_heads(const corral_policy_config *config)
{
    return config->action.part_count > 0 || config->memory != CORRAL_MEMORY_NONE ||
           (config->masked && config->kind != CORRAL_POLICY_Q);
}

static corral_status check_config(const corral_policy_config *config)
{
    if (config->observation_size == 0 || config->action_count == 0)
        return corral_fail(CORRAL_ERROR_INVALID,
                           "a policy needs at least one observation element and one action");
    corral_status status = corral_policy_space_check(&config->observation);
    if (status == CORRAL_OK) status = policy_actions_check(config);
    if (status == CORRAL_OK) status = policy_body_check(config);
    if (status == CORRAL_OK) status = policy_memory_check(config);
    if (status == CORRAL_OK && config->kind == CORRAL_POLICY_Q && needs_heads(config))
        status = corral_fail(CORRAL_ERROR_UNSUPPORTED, "a Q-network takes one discrete action");
    if (status != CORRAL_OK) return status;
    if (config->observation.part_count > 0 &&
        corral_policy_space_size(&config->observation) != config->observation_size)
        return corral_fail(CORRAL_ERROR_INVALID,
                           "a policy's observation has %zu elements, not the %u that it says",
                           corral_policy_space_size(&config->observation), config->observation_size);
    if (config->hidden.count == 0 || config->hidden.count > CORRAL_SIZES_MAX)
        return corral_fail(CORRAL_ERROR_INVALID, "network.hidden: %u layers, 1 to %d are possible",
                           config->hidden.count, CORRAL_SIZES_MAX);
    for (uint32_t i = 0; i < config->hidden.count; i++)
        if (config->hidden.value[i] == 0)
            return corral_fail(CORRAL_ERROR_INVALID, "network.hidden: layer %u has no units", i);
    return policy_check_q(config);
}

corral_status policy_add_layer(corral_policy *policy, policy_layer *layer, const char *name, size_t in,
                               size_t out, corral_activation activation)
{
    *layer = (policy_layer){.in = in, .out = out, .activation = activation};
    if (out > policy->widest) policy->widest = out;
    char full[64];
    snprintf(full, sizeof full, "%s.weight", name);
    corral_status status = corral_params_add(policy->params, full, 2, (size_t[]){out, in}, &layer->weight);
    if (status != CORRAL_OK) return status;
    snprintf(full, sizeof full, "%s.bias", name);
    return corral_params_add(policy->params, full, 1, (size_t[]){out}, &layer->bias);
}

static corral_status add_layer(corral_policy *policy, policy_tower *tower, const char *name, size_t in,
                               size_t out, corral_activation activation)
{
    return policy_add_layer(policy, &tower->layer[tower->count++], name, in, out, activation);
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

/// What stands before the hidden layers. Writes how wide the first of these is.
static corral_status begin_network(corral_policy *policy, size_t *out_width)
{
    *out_width = policy->widest = policy->config.observation_size;
    return policy->config.cnn == CORRAL_CNN_NONE ? CORRAL_OK : policy_body_build(policy, out_width);
}

static corral_status build_q_network(corral_policy *policy)
{
    const corral_policy_config *config = &policy->config;
    const size_t atoms = policy_atoms(config);
    size_t width;
    corral_status status = begin_network(policy, &width);
    if (status == CORRAL_OK) status = add_hidden(policy, &policy->trunk, "trunk", &width);
    if (status == CORRAL_OK)
        status = add_layer(policy, &policy->actor, config->dueling ? "advantage" : "q", width,
                           config->action_count * atoms, CORRAL_LINEAR);
    if (status == CORRAL_OK && config->dueling)
        status = add_layer(policy, &policy->critic, "value", width, atoms, CORRAL_LINEAR);
    if (status == CORRAL_OK && config->noisy) status = policy_noise_build(policy);
    if (status == CORRAL_OK) status = corral_params_seal(policy->params);
    return status;
}

static corral_status build_network(corral_policy *policy)
{
    if (policy->config.kind == CORRAL_POLICY_Q) return build_q_network(policy);
    const corral_policy_config *config = &policy->config;
    size_t actor_width;
    corral_status status = begin_network(policy, &actor_width);
    size_t critic_width = actor_width;
    // An actor and a critic that share nothing lie one behind the other: see corral_policy_halves().
    if (status != CORRAL_OK) return status;
    if (config->shared) {
        status = add_hidden(policy, &policy->trunk, "trunk", &actor_width);
        if (status == CORRAL_OK && config->memory != CORRAL_MEMORY_NONE)
            status = policy_memory_build(policy, &actor_width);
        critic_width = actor_width;
    } else {
        status = add_hidden(policy, &policy->actor, "actor", &actor_width);
    }
    if (status == CORRAL_OK)
        status = policy->general ? policy_heads_build(policy, actor_width)
                                 : add_layer(policy, &policy->actor, "policy", actor_width,
                                             config->action_count, CORRAL_LINEAR);
    if (status == CORRAL_OK && !config->shared)
        status = add_hidden(policy, &policy->critic, "critic", &critic_width);
    if (status == CORRAL_OK)
        status = add_layer(policy, &policy->critic, "value", critic_width, 1, CORRAL_LINEAR);
    if (status == CORRAL_OK) status = corral_params_seal(policy->params);
    return status;
}

corral_status policy_init_layer(corral_policy *policy, const policy_layer *layer, double gain, uint64_t seed)
{
    const uint64_t key = corral_stream_key(seed, CORRAL_STREAM_INITIALISATION, layer->weight);
    const uint64_t bias_key = corral_stream_key(seed, CORRAL_STREAM_INITIALISATION, layer->bias);
    if (policy->config.initialisation != CORRAL_INIT_FAN_IN)
        return corral_init_orthogonal(policy->params, layer->weight, gain, key);
    const corral_status status = corral_init_uniform_fan_in(policy->params, layer->weight, layer->in, key);
    if (status != CORRAL_OK) return status;
    return corral_init_uniform_fan_in(policy->params, layer->bias, layer->in, bias_key);
}

static corral_status init_tower(corral_policy *policy, const policy_tower *tower, double head_gain,
                                uint64_t seed)
{
    corral_status status = CORRAL_OK;
    for (uint32_t i = 0; i < tower->count && status == CORRAL_OK; i++) {
        const policy_layer *layer = &tower->layer[i];
        const double gain = layer->activation == CORRAL_LINEAR ? head_gain : sqrt(2.0);
        status = policy_init_layer(policy, layer, gain, seed);
    }
    return status;
}

static corral_status init_weights(corral_policy *policy, uint64_t seed)
{
    const double head_gain = policy->config.kind == CORRAL_POLICY_Q ? 1.0 : 0.01;
    corral_status status = policy_body_init(policy, sqrt(2.0), seed);
    if (status == CORRAL_OK) status = init_tower(policy, &policy->trunk, 1.0, seed);
    if (status == CORRAL_OK) status = policy_memory_init(policy, seed);
    if (status == CORRAL_OK) status = init_tower(policy, &policy->actor, head_gain, seed);
    if (status == CORRAL_OK && policy->general) status = policy_heads_init(policy, seed);
    if (status == CORRAL_OK) status = init_tower(policy, &policy->critic, 1.0, seed);
    policy_noise_init(policy);
    corral_params_refresh(policy->params);
    corral_policy_still_noise(policy);
    return status;
}

/// The observation's parts, also where it has none.
static corral_policy_space layout_of(const corral_policy_config *config)
{
    if (config->observation.part_count > 0) return config->observation;
    return (corral_policy_space){
        .row_bytes = config->observation_size * (uint32_t)sizeof(float),
        .part_count = 1,
        .part = {{.kind = CORRAL_PART_NUMBERS, .dtype = CORRAL_PART_F32, .count = config->observation_size}}};
}

static uint32_t count_numbers(const corral_policy_space *space)
{
    uint32_t count = 0;
    for (uint32_t k = 0; k < space->part_count; k++)
        if (space->part[k].kind == CORRAL_PART_NUMBERS) count += space->part[k].count;
    return count;
}

size_t corral_policy_observation_bytes(const corral_policy_config *config)
{
    return config->observation.part_count > 0 ? config->observation.row_bytes
                                              : config->observation_size * sizeof(float);
}

/// Rows of 256 that are very wide take much memory: fewer of them then.
static size_t block_rows_for(size_t widest)
{
    enum { WIDE = 4096, FEW = 16 };
    return widest > WIDE ? FEW : POLICY_BLOCK_ROWS;
}

static corral_status create_scratch(corral_policy *policy)
{
    const policy_actions *actions = &policy->actions;
    corral_status status = CORRAL_OK;
    policy->block_rows = block_rows_for(policy->widest);
    for (int i = 0; i < (policy->general ? 1 : POLICY_SCRATCH) && status == CORRAL_OK; i++) {
        const size_t bytes = policy->block_rows * policy->widest * sizeof(float);
        policy->scratch[i] = aligned_alloc(64, (bytes + 63) / 64 * 64);
        if (policy->scratch[i] == NULL)
            status = corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for layers of %zu units", policy->widest);
    }
    for (int i = 0; i < 2 && policy->body.widest > 0 && status == CORRAL_OK; i++) {
        policy->body.scratch[i] = calloc(policy->block_rows * policy->body.widest, sizeof(float));
        if (policy->body.scratch[i] == NULL)
            status = corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for convolutions");
    }
    if (status != CORRAL_OK || !policy->general) return status;
    const size_t states = policy->block_rows * policy->config.memory_units;
    if (policy->config.memory != CORRAL_MEMORY_NONE) {
        policy->hidden = calloc(states, sizeof *policy->hidden);
        policy->cell = calloc(states, sizeof *policy->cell);
        if (policy->hidden == NULL || policy->cell == NULL)
            return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for what a policy remembers");
    }
    policy->noise_width = corral_policy_noise_width(&policy->config);
    policy->row_scratch = calloc(actions->logits + 2 * actions->numbers, sizeof *policy->row_scratch);
    if (policy->row_scratch == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a policy");
    return corral_tape_create(&policy->tape);
}

corral_status policy_create_uninitialised(const corral_policy_config *config, corral_policy **out_policy)
{
    corral_status status = check_config(config);
    if (status != CORRAL_OK) return status;
    corral_policy *policy = calloc(1, sizeof *policy);
    if (policy == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a policy");
    policy->config = *config;
    policy->layout = layout_of(config);
    policy->general = config->kind == CORRAL_POLICY_ACTOR_CRITIC && needs_heads(config);
    status = corral_params_create(CORRAL_F32, &policy->params);
    const uint32_t numbers = count_numbers(&policy->layout);
    if (numbers == 0) policy->config.normalize_observation = false; // there is nothing to normalise
    if (status == CORRAL_OK) status = policy_filter_init(&policy->filter, numbers);
    if (status == CORRAL_OK && policy->general) status = policy_actions_init(&policy->actions, config);
    if (status == CORRAL_OK) status = build_network(policy);
    if (status == CORRAL_OK) status = create_scratch(policy);
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
    policy_noise_finish(policy);
    corral_params_destroy(policy->params);
    policy_filter_finish(&policy->filter);
    for (int i = 0; i < POLICY_SCRATCH; i++)
        free(policy->scratch[i]);
    free(policy->hidden);
    free(policy->cell);
    free(policy->body.scratch[0]);
    free(policy->body.scratch[1]);
    corral_tape_destroy(policy->tape);
    free(policy->actions.sizes);
    free(policy->row_scratch);
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
        corral_linear_forward(corral_policy_weights(policy), layer->weight, layer->bias, layer->activation,
                              rows, x, y);
        x = y;
    }
}

float *policy_observe(const corral_policy *policy, size_t rows, const void *observation)
{
    corral_policy_filter(policy, rows, observation, policy->scratch[0]);
    if (policy->body.image_count == 0) return policy->scratch[0];
    policy_body_run(policy, rows, policy->scratch[0], policy->scratch[4]);
    return policy->scratch[4];
}

static void act_block(corral_policy *policy, const corral_policy_input *in, const corral_policy_output *out)
{
    const size_t actions = policy->config.action_count, rows = in->rows;
    const float *x;
    if (policy->config.kind == CORRAL_POLICY_Q) {
        policy_act_q(policy, in, out);
        return;
    }
    x = policy_observe(policy, rows, in->observation);
    if (policy->trunk.count > 0) {
        policy_run_tower(policy, &policy->trunk, rows, x, policy->scratch[3]);
        x = policy->scratch[3];
    }
    if (out->value != NULL) policy_run_tower(policy, &policy->critic, rows, x, out->value);
    if (out->logits == NULL) return;
    policy_run_tower(policy, &policy->actor, rows, x, out->logits);
    if (out->action == NULL) return;
    if (in->noise != NULL) {
        float *log_prob = out->log_prob != NULL ? out->log_prob : policy->scratch[1];
        corral_categorical_sample(rows, actions, out->logits, in->noise, out->action, log_prob);
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
            ((int32_t *)out->env_action)[r] = (int32_t)(out->action[r] + policy->config.action_start);
}

/// The rows from `at` on.
static corral_policy_output output_from(const corral_policy_config *config, const corral_policy_output *out,
                                        size_t at)
{
    return (corral_policy_output){
        .action = out->action != NULL ? out->action + at * corral_policy_action_words(config) : NULL,
        .env_action = out->env_action != NULL
                          ? (char *)out->env_action + at * corral_policy_action_bytes(config)
                          : NULL,
        .log_prob = out->log_prob != NULL ? out->log_prob + at : NULL,
        .logits = out->logits != NULL ? out->logits + at * config->action_count : NULL,
        .value = out->value != NULL ? out->value + at : NULL,
        .memory = out->memory != NULL ? out->memory + at * corral_policy_memory_size(config) : NULL,
    };
}

corral_status corral_policy_act_on(corral_policy *policy, const corral_policy_input *in,
                                   const corral_policy_output *out)
{
    const corral_policy_config *config = &policy->config;
    if (out->action == NULL && out->env_action != NULL)
        return corral_fail(CORRAL_ERROR_INVALID, "acting: env_action is wanted without action");
    if (out->logits == NULL && out->action != NULL)
        return corral_fail(CORRAL_ERROR_INVALID, "acting: actions are wanted without memory for logits");
    const size_t noise = corral_policy_noise_width(config), mask = corral_policy_mask_bytes(config);
    const size_t memory = corral_policy_memory_size(config);
    for (size_t at = 0; at < in->rows; at += policy->block_rows) {
        const corral_policy_input block = {
            .rows = in->rows - at < policy->block_rows ? in->rows - at : policy->block_rows,
            .observation = (const char *)in->observation + at * policy->layout.row_bytes,
            .noise = in->noise != NULL ? in->noise + at * noise : NULL,
            .mask = config->masked && in->mask != NULL ? in->mask + at * mask : NULL,
            .memory = in->memory != NULL ? in->memory + at * memory : NULL,
        };
        const corral_policy_output to = output_from(config, out, at);
        corral_status status = CORRAL_OK;
        if (policy->general)
            status = policy_act_heads(policy, &block, &to);
        else
            act_block(policy, &block, &to);
        if (status != CORRAL_OK) return status;
    }
    return CORRAL_OK;
}

corral_status corral_policy_act(corral_policy *policy, size_t rows, const void *observation,
                                const float *uniform, const corral_policy_output *out)
{
    const corral_policy_input in = {.rows = rows, .observation = observation, .noise = uniform};
    return corral_policy_act_on(policy, &in, out);
}

// --- learning ---------------------------------------------------------------------------------------------

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
    if (policy->body.image_count > 0) x = policy_body_graph(policy, x);
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
    if (policy->config.kind != CORRAL_POLICY_ACTOR_CRITIC || policy->config.shared || policy->general ||
        policy->body.image_count > 0)
        return false;
    const size_t cut = corral_params_entry(policy->params, policy->critic.layer[0].weight)->offset;
    *out_actor = (corral_span){0, cut};
    *out_critic = (corral_span){cut, corral_params_count(policy->params) - cut};
    return true;
}

void policy_graph_outputs(const corral_policy *policy, corral_tape *tape, size_t rows, const float *filtered,
                          const policy_past *past, policy_outputs *out)
{
    corral_tensor *x =
        corral_input(tape, CORRAL_F32, 2, (size_t[]){rows, policy->config.observation_size}, filtered);
    if (policy->body.image_count > 0) x = policy_body_graph(policy, x);
    x = graph_tower(&policy->trunk, x);
    if (policy->config.memory != CORRAL_MEMORY_NONE) x = policy_memory_graph(policy, x, past, &out->cell);
    policy_heads_graph(policy, graph_tower(&policy->actor, x), out);
    out->value = graph_tower(&policy->critic, x);
}

bool corral_policy_is_general(const corral_policy *policy)
{
    return policy->general;
}

void corral_policy_action_widths(const corral_policy *policy, size_t *out_choices, size_t *out_logits,
                                 size_t *out_numbers)
{
    const size_t plain = policy->config.action_count;
    *out_choices = policy->general ? policy->actions.choices : 1;
    *out_logits = policy->general ? policy->actions.logits : plain;
    *out_numbers = policy->actions.numbers;
}
