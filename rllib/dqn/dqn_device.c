// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "dqn_device.h"

#include <stdlib.h>
#include <string.h>

struct dqn_device {
    corral_dqn_config config;
    size_t width;
    corral_policy *policy, *target;
    corral_optimizer *optimizer;
    corral_device_learner *learner;
    bool loaded, ahead; // the device has what the host had at the start; and newer moments and target
};

static corral_status create_learner(dqn_device *d, corral_device *device, corral_precision precision)
{
    const corral_policy_config *policy = corral_policy_get_config(d->policy);
    corral_device_dqn_config settings = {
        .learner =
            {
                .params = corral_policy_params(d->policy),
                .optimizer = corral_optimizer_config_default(),
                .precision = precision,
                .observation_size = policy->observation_size,
                .actions = policy->action_count,
                .minibatch = (size_t)d->config.minibatch,
            },
        .huber_delta = (float)d->config.huber_delta,
        .double_q = d->config.double_q,
    };
    settings.learner.optimizer.epsilon = d->config.adam_epsilon;
    settings.learner.optimizer.max_grad_norm = d->config.max_grad_norm;
    const corral_status status = corral_policy_dense(d->policy, &settings.learner.network);
    return status == CORRAL_OK ? corral_device_dqn_create(device, &settings, &d->learner) : status;
}

corral_status dqn_device_create(const corral_dqn_config *config, corral_device *device,
                                corral_precision precision, corral_policy *policy, corral_policy *target,
                                corral_optimizer *optimizer, dqn_device **out_device)
{
    dqn_device *d = calloc(1, sizeof *d);
    if (d == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for DQN on a device");
    d->config = *config;
    d->width = corral_policy_get_config(policy)->observation_size;
    d->policy = policy;
    d->target = target;
    d->optimizer = optimizer;
    const corral_status status = create_learner(d, device, precision);
    if (status != CORRAL_OK) {
        dqn_device_destroy(d);
        return status;
    }
    *out_device = d;
    return CORRAL_OK;
}

void dqn_device_destroy(dqn_device *d)
{
    if (d == NULL) return;
    corral_device_learner_destroy(d->learner);
    free(d);
}

// --- what moves between host and device -------------------------------------------------------------------

static corral_device_state moments_of(dqn_device *d)
{
    return (corral_device_state){.first = corral_optimizer_state(d->optimizer, 0, NULL),
                                 .second = corral_optimizer_state(d->optimizer, 1, NULL),
                                 .steps = corral_optimizer_steps(d->optimizer)};
}

/// What the host has by now: of a new run, or from a checkpoint.
static corral_status load(dqn_device *d)
{
    if (d->loaded) return CORRAL_OK;
    corral_device_state state = moments_of(d);
    state.weights = corral_params_data(corral_policy_params(d->policy));
    d->loaded = true;
    const corral_status status = corral_device_learner_load(d->learner, &state);
    if (status != CORRAL_OK) return status;
    return corral_device_dqn_load_target(d->learner, corral_params_data(corral_policy_params(d->target)));
}

corral_status dqn_device_fetch(dqn_device *d)
{
    if (!d->ahead) return CORRAL_OK;
    corral_device_state state = moments_of(d);
    corral_params *target = corral_policy_params(d->target);
    corral_status status = corral_device_learner_save(d->learner, &state);
    corral_optimizer_set_steps(d->optimizer, state.steps);
    if (status == CORRAL_OK) status = corral_device_dqn_save_target(d->learner, corral_params_data(target));
    corral_params_refresh(target);
    d->ahead = status != CORRAL_OK;
    return status;
}

// --- an update --------------------------------------------------------------------------------------------

corral_status dqn_device_begin(dqn_device *d, double learning_rate)
{
    const double *mean, *inverse;
    if (!corral_policy_statistics(d->policy, &mean, &inverse)) mean = inverse = NULL;
    const corral_status status = load(d);
    d->ahead = true;
    if (status != CORRAL_OK) return status;
    return corral_device_dqn_begin(d->learner, learning_rate, mean, inverse,
                                   corral_policy_get_config(d->policy)->observation_clip);
}

/// Plain numbers are filtered on the device; what has parts is encoded here.
static void encode(const dqn_device *d, const void *observation, float *out)
{
    if (corral_policy_get_config(d->policy)->observation.part_count > 0)
        corral_policy_filter(d->policy, 1, observation, out);
    else
        memcpy(out, observation, d->width * sizeof *out);
}

corral_status dqn_device_learn(dqn_device *d, const replay *r, const replay_draw *draws, float *out_error,
                               bool *out_skipped)
{
    corral_device_transitions to;
    const corral_status status = corral_device_dqn_next(d->learner, &to);
    if (status != CORRAL_OK) return status;
    for (size_t i = 0; i < (size_t)d->config.minibatch; i++) {
        const replay_transition t = replay_at(r, &draws[i]);
        encode(d, t.observation, to.observation + i * d->width);
        encode(d, t.next, to.next + i * d->width);
        to.action[i] = t.action;
        to.reward[i] = t.reward;
        to.discount[i] = t.discount;
        to.weight[i] = draws[i].weight;
    }
    return corral_device_dqn_learn(d->learner, out_error, out_skipped);
}

void dqn_device_move_target(dqn_device *d)
{
    corral_device_dqn_move_target(d->learner, (float)d->config.tau);
}

corral_status dqn_device_finish(dqn_device *d, dqn_result *result)
{
    corral_device_result done;
    corral_status status = corral_device_dqn_finish(d->learner, &done);
    if (status != CORRAL_OK) return status;
    result->loss = done.loss;
    result->q = done.q;
    result->error = done.error;
    result->grad_norm = done.grad_norm;
    result->minibatches = done.minibatches;
    result->skipped = done.skipped;
    corral_params *params = corral_policy_params(d->policy);
    corral_device_state state = {.weights = corral_params_data(params)};
    status = corral_device_learner_save(d->learner, &state);
    corral_params_refresh(params);
    return status;
}
