// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "ppo_device.h"

#include "corral/base/rng.h"

#include <stdlib.h>

enum { PINNED = 16 };

struct ppo_device {
    corral_ppo_config config;
    uint64_t run_seed;
    corral_device *device;
    corral_policy *policy;
    corral_optimizer *optimizer;
    corral_device_learner *learner;
    uint32_t *order; // [rows]
    bool loaded;     // the device has what the host had at the start
    bool ahead;      // its moments are newer than the optimizer's
    void *pinned[PINNED];
    size_t pinned_count;
};

// --- life -------------------------------------------------------------------------------------------------

static corral_status create_learner(ppo_device *d, const ppo_placement *placement)
{
    const corral_ppo_config *config = &d->config;
    const corral_policy_config *policy = corral_policy_get_config(d->policy);
    const size_t rows = placement->envs * placement->steps, minibatch = (size_t)config->minibatch;
    corral_device_ppo_config settings = {
        .learner =
            {
                .params = corral_policy_params(d->policy),
                .optimizer = corral_optimizer_config_default(),
                .precision = placement->precision,
                .observation_size = policy->observation_size,
                .actions = policy->action_count,
                .minibatch = minibatch < rows ? minibatch : rows,
            },
        .envs = placement->envs,
        .steps = placement->steps,
        .epochs = (size_t)config->epochs,
        .gamma = config->gamma,
        .lambda = config->lambda,
        .value_clip_range = (float)config->value_clip_range,
        .value_error_clip = (float)config->value_error_clip,
        .value_coefficient = (float)config->value_coefficient,
        .normalize_advantage = config->normalize_advantage,
        .penalised = config->kl_coefficient > 0,
    };
    settings.learner.optimizer.epsilon = config->adam_epsilon;
    settings.learner.optimizer.max_grad_norm = config->max_grad_norm;
    const corral_status status = corral_policy_dense(d->policy, &settings.learner.network);
    return status == CORRAL_OK ? corral_device_ppo_create(d->device, &settings, &d->learner) : status;
}

corral_status ppo_device_create(const corral_ppo_config *config, uint64_t run_seed,
                                const ppo_placement *placement, corral_policy *policy,
                                corral_optimizer *optimizer, ppo_device **out_device)
{
    ppo_device *d = calloc(1, sizeof *d);
    if (d == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for PPO on a device");
    d->config = *config;
    d->run_seed = run_seed;
    d->device = placement->device;
    d->policy = policy;
    d->optimizer = optimizer;
    d->order = calloc(placement->envs * placement->steps + 1, sizeof *d->order);
    corral_status status = d->order == NULL
                               ? corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory to shuffle a rollout's rows")
                               : create_learner(d, placement);
    if (status != CORRAL_OK) {
        ppo_device_destroy(d);
        return status;
    }
    *out_device = d;
    return CORRAL_OK;
}

void ppo_device_destroy(ppo_device *d)
{
    if (d == NULL) return;
    corral_device_learner_destroy(d->learner);
    for (size_t i = 0; i < d->pinned_count; i++)
        corral_device_unpin(d->device, d->pinned[i]);
    free(d->order);
    free(d);
}

// --- what moves between host and device -------------------------------------------------------------------

static corral_device_state moments_of(ppo_device *d)
{
    return (corral_device_state){.first = corral_optimizer_state(d->optimizer, 0, NULL),
                                 .second = corral_optimizer_state(d->optimizer, 1, NULL),
                                 .steps = corral_optimizer_steps(d->optimizer)};
}

static void pin(ppo_device *d, void *memory, size_t bytes)
{
    if (d->pinned_count < PINNED && corral_device_pin(d->device, memory, bytes, false))
        d->pinned[d->pinned_count++] = memory;
}

/// Plain numbers are filtered on the device; what has parts has been encoded by the host.
static const float *observations_of(const ppo_device *d, const batch *b)
{
    const double *mean, *inverse;
    return corral_policy_statistics(d->policy, &mean, &inverse) ? (const float *)(const void *)b->raw
                                                                : b->observation;
}

/// What the host has by now: of a new run, or from a checkpoint. The batch stays where it is for all of the
/// run.
static corral_status load(ppo_device *d, batch *b)
{
    corral_device_state state = moments_of(d);
    state.weights = corral_params_data(corral_policy_params(d->policy));
    if (d->loaded) return CORRAL_OK;
    const float *observations = observations_of(d, b);
    if (observations == NULL)
        return corral_fail(CORRAL_ERROR_UNSUPPORTED,
                           "device: the observations of %zu rows are too many to be kept as the network sees "
                           "them; lower envs or ppo.steps",
                           b->rows);
    d->loaded = true;
    pin(d, (void *)(uintptr_t)observations, b->rows * b->observation_size * sizeof *observations);
    pin(d, b->action, b->rows * sizeof *b->action);
    float *const columns[] = {b->log_prob, b->value, b->reward, b->advantage, b->target, b->final_value};
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        pin(d, columns[i], b->rows * sizeof(float));
    pin(d, b->terminated, b->rows);
    pin(d, b->truncated, b->rows);
    return corral_device_learner_load(d->learner, &state);
}

corral_status ppo_device_fetch(ppo_device *d)
{
    if (!d->ahead) return CORRAL_OK;
    corral_device_state state = moments_of(d);
    const corral_status status = corral_device_learner_save(d->learner, &state);
    corral_optimizer_set_steps(d->optimizer, state.steps);
    d->ahead = status != CORRAL_OK;
    return status;
}

static corral_status fetch_weights(ppo_device *d)
{
    corral_params *params = corral_policy_params(d->policy);
    corral_device_state state = {.weights = corral_params_data(params)};
    const corral_status status = corral_device_learner_save(d->learner, &state);
    corral_params_refresh(params);
    d->ahead = true;
    return status;
}

// --- the update -------------------------------------------------------------------------------------------

static corral_status begin(ppo_device *d, batch *b, const ppo_result *result)
{
    corral_device_batch columns = {
        .observation = observations_of(d, b),
        .clip = corral_policy_get_config(d->policy)->observation_clip,
        .action = b->action,
        .log_prob = b->log_prob,
        .reward = b->reward,
        .value = b->value,
        .last_value = b->last_value,
        .final_value = b->final_value,
        .terminated = b->terminated,
        .truncated = b->truncated,
        .log_probs = b->log_probs,
        .advantage = b->advantage,
        .target = b->target,
    };
    const corral_device_ppo_moment moment = {
        .learning_rate = result->learning_rate,
        .stop_kl = 1.5 * d->config.target_kl,
        .clip_range = (float)result->clip_range,
        .entropy_coefficient = (float)result->entropy_coefficient,
        .kl_coefficient = (float)result->kl_coefficient,
    };
    if (!corral_policy_statistics(d->policy, &columns.mean, &columns.inverse))
        columns.mean = columns.inverse = NULL;
    return corral_device_ppo_begin(d->learner, &columns, &moment);
}

static corral_status run_epochs(ppo_device *d, const batch *b, const ppo_moment *now, ppo_result *result)
{
    bool stop = false;
    for (int64_t epoch = 0; epoch < d->config.epochs && !stop; epoch++) {
        const uint64_t number = now->update * (uint64_t)d->config.epochs + (uint64_t)epoch;
        batch_shuffle(b, corral_stream_key(d->run_seed, CORRAL_STREAM_SHUFFLE, number), d->order);
        const corral_status status = corral_device_ppo_epoch(d->learner, d->order, b->usable_count, &stop);
        if (status != CORRAL_OK) return status;
        result->epochs++;
    }
    return CORRAL_OK;
}

static void fill(const corral_device_result *from, ppo_result *result)
{
    result->policy_loss = from->policy_loss;
    result->value_loss = from->value_loss;
    result->entropy = from->entropy;
    result->approx_kl = from->approx_kl;
    result->clip_fraction = from->clip_fraction;
    result->kl = from->kl;
    result->last_kl = from->epoch_kl;
    result->infinite_kl = (uint64_t)from->infinite_kl;
    result->grad_norm = from->grad_norm;
    result->first_ratio_deviation = from->first_ratio_deviation;
    result->minibatches = from->minibatches;
    result->skipped = from->skipped;
}

corral_status ppo_device_update(ppo_device *d, batch *b, const ppo_moment *now, ppo_result *result)
{
    corral_status status = load(d, b);
    if (status == CORRAL_OK) status = begin(d, b, result);
    if (status == CORRAL_OK && b->usable_count > 0) status = run_epochs(d, b, now, result);
    corral_device_result done;
    if (status == CORRAL_OK) status = corral_device_ppo_finish(d->learner, &done);
    if (status != CORRAL_OK) return status;
    fill(&done, result);
    return fetch_weights(d);
}
