// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Noisy layers (Fortunato et al. 2018), with factorised noise:
///
///   w = mu + sigma * e        e_ij = f(x_i) f(y_j) of weights, f(x_i) of biases
///   f(x) = sgn(x) sqrt|x|     x of each output and y of each input, drawn from a normal distribution
///
/// What noise makes of the weights is a second block of them, laid out as the first entries of the policy's:
/// that is what acting and learning multiply with. The sigmas come behind those entries. So the gradient of
/// the second block is at the same time that of the mu, and that of a sigma is the same number times e.
#include "policy_internal.h"

#include "corral/base/rng.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double shaped(double x)
{
    return copysign(sqrt(fabs(x)), x);
}

/// Normal numbers, shaped: two of each pair of draws (Box and Muller 1958).
static void fill(float *out, size_t count, uint64_t key, uint64_t *counter)
{
    for (size_t i = 0; i < count; i += 2) {
        const double radius = sqrt(-2 * log(1 - corral_stream_double(key, *counter)));
        const double angle = 6.283185307179586 * corral_stream_double(key, *counter + 1);
        *counter += 2;
        out[i] = (float)shaped(radius * cos(angle));
        if (i + 1 < count) out[i + 1] = (float)shaped(radius * sin(angle));
    }
}

// --- building ---------------------------------------------------------------------------------------------

static void list_tower(policy_noise *noise, const policy_tower *tower)
{
    for (uint32_t i = 0; i < tower->count; i++)
        noise->layer[noise->count++] = (policy_noisy_layer){.mu = tower->layer[i]};
}

static corral_status add_sigma(corral_policy *policy, uint32_t mu, uint32_t *out_sigma)
{
    const corral_param *entry = corral_params_entry(policy->params, mu);
    char name[96];
    snprintf(name, sizeof name, "%s.sigma", entry->name);
    return corral_params_add(policy->params, name, entry->dimension_count, entry->shape, out_sigma);
}

corral_status policy_noise_build(corral_policy *policy)
{
    policy_noise *noise = &policy->noise;
    corral_status status = corral_params_create(CORRAL_F32, &noise->weights);
    const uint32_t plain = corral_params_entry_count(policy->params);
    for (uint32_t i = 0; i < plain && status == CORRAL_OK; i++) {
        const corral_param *entry = corral_params_entry(policy->params, i);
        uint32_t same;
        status = corral_params_add(noise->weights, entry->name, entry->dimension_count, entry->shape, &same);
    }
    if (status == CORRAL_OK) status = corral_params_seal(noise->weights);
    list_tower(noise, &policy->trunk);
    list_tower(noise, &policy->actor);
    list_tower(noise, &policy->critic);
    for (uint32_t i = 0; i < noise->count && status == CORRAL_OK; i++) {
        policy_noisy_layer *layer = &noise->layer[i];
        layer->of_output = calloc(layer->mu.out + layer->mu.in, sizeof *layer->of_output);
        if (layer->of_output == NULL)
            return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for the noise of %zu units", layer->mu.out);
        layer->of_input = layer->of_output + layer->mu.out;
        status = add_sigma(policy, layer->mu.weight, &layer->sigma_weight);
        if (status == CORRAL_OK) status = add_sigma(policy, layer->mu.bias, &layer->sigma_bias);
    }
    return status;
}

void policy_noise_init(corral_policy *policy)
{
    float *weights = corral_params_data(policy->params);
    for (uint32_t i = 0; i < policy->noise.count; i++) {
        const policy_noisy_layer *layer = &policy->noise.layer[i];
        const float sigma = (float)(policy->config.noisy_sigma / sqrt((double)layer->mu.in));
        const uint32_t entries[2] = {layer->sigma_weight, layer->sigma_bias};
        for (int k = 0; k < 2; k++) {
            const corral_param *entry = corral_params_entry(policy->params, entries[k]);
            for (size_t j = 0; j < entry->count; j++)
                weights[entry->offset + j] = sigma;
        }
    }
}

void policy_noise_finish(corral_policy *policy)
{
    for (uint32_t i = 0; i < policy->noise.count; i++)
        free(policy->noise.layer[i].of_output);
    corral_params_destroy(policy->noise.weights);
}

// --- using ------------------------------------------------------------------------------------------------

const corral_params *corral_policy_weights(const corral_policy *policy)
{
    return policy->config.noisy ? policy->noise.weights : policy->params;
}

/// Where the four entries of a layer lie in the policy's block.
typedef struct places {
    size_t weight, bias, sigma_weight, sigma_bias;
} places;

static places places_of(const corral_policy *policy, const policy_noisy_layer *layer)
{
    return (places){corral_params_entry(policy->params, layer->mu.weight)->offset,
                    corral_params_entry(policy->params, layer->mu.bias)->offset,
                    corral_params_entry(policy->params, layer->sigma_weight)->offset,
                    corral_params_entry(policy->params, layer->sigma_bias)->offset};
}

static void disturb(const corral_policy *policy, const policy_noisy_layer *layer, float *weights)
{
    const float *own = corral_params_data_const(policy->params);
    const places at = places_of(policy, layer);
    for (size_t o = 0; o < layer->mu.out; o++) {
        const size_t row = o * layer->mu.in;
        for (size_t i = 0; i < layer->mu.in; i++)
            weights[at.weight + row + i] +=
                own[at.sigma_weight + row + i] * (layer->of_output[o] * layer->of_input[i]);
        weights[at.bias + o] += own[at.sigma_bias + o] * layer->of_output[o];
    }
}

/// The plain weights.
static float *copy_mu(corral_policy *policy)
{
    float *weights = corral_params_data(policy->noise.weights);
    memcpy(weights, corral_params_data_const(policy->params),
           corral_params_count(policy->noise.weights) * sizeof *weights);
    return weights;
}

void corral_policy_draw_noise(corral_policy *policy, uint64_t key)
{
    if (!policy->config.noisy) return;
    float *weights = copy_mu(policy);
    uint64_t counter = 0;
    for (uint32_t i = 0; i < policy->noise.count; i++) {
        policy_noisy_layer *layer = &policy->noise.layer[i];
        fill(layer->of_output, layer->mu.out, key, &counter);
        fill(layer->of_input, layer->mu.in, key, &counter);
        disturb(policy, layer, weights);
    }
    corral_params_refresh(policy->noise.weights);
}

void corral_policy_still_noise(corral_policy *policy)
{
    if (!policy->config.noisy) return;
    copy_mu(policy);
    corral_params_refresh(policy->noise.weights);
}

void corral_policy_noise_gradient(const corral_policy *policy, float *gradient)
{
    if (!policy->config.noisy) return;
    for (uint32_t i = 0; i < policy->noise.count; i++) {
        const policy_noisy_layer *layer = &policy->noise.layer[i];
        const places at = places_of(policy, layer);
        for (size_t o = 0; o < layer->mu.out; o++) {
            const size_t row = o * layer->mu.in;
            for (size_t k = 0; k < layer->mu.in; k++)
                gradient[at.sigma_weight + row + k] =
                    gradient[at.weight + row + k] * (layer->of_output[o] * layer->of_input[k]);
            gradient[at.sigma_bias + o] = gradient[at.bias + o] * layer->of_output[o];
        }
    }
}
