// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// PPO on a device. The batch's columns are copied once per update and its advantages are estimated there. The
// orders of all epochs have their places in one array, into which each is copied while the epochs before it
// are still at work; where a minibatch begins in it is in the control block.

#include "device/learner.h"

#include <stdlib.h>
#include <string.h>

static size_t rows_of(const learner_ppo *p)
{
    return p->config.envs * p->config.steps;
}

// --- one minibatch ----------------------------------------------------------------------------------------

static void gather(corral_device_learner *l, size_t rows)
{
    learner_ppo *p = &l->ppo;
    const corral_device_gather g = {
        .rows = rows,
        .width = l->config.observation_size,
        .actions = l->config.actions,
        .order = p->order,
        .observation = p->observation,
        .log_prob = p->log_prob,
        .value = p->value,
        .advantage = p->advantage,
        .target = p->target,
        .log_probs = p->log_probs,
        .action = p->action,
        .out_observation = p->mini_observation.f32,
        .out_observation_half = p->mini_observation.half,
        .out_log_prob = p->mini_log_prob,
        .out_value = p->mini_value,
        .out_advantage = p->mini_advantage,
        .out_target = p->mini_target,
        .out_log_probs = p->mini_log_probs,
        .out_action = p->mini_action,
    };
    l->table->advantage_moments(l->work, rows, p->order, p->advantage, p->moments, l->control);
    l->table->gather(l->work, &g, l->control);
}

static void loss(corral_device_learner *l, size_t rows)
{
    learner_ppo *p = &l->ppo;
    const learner_layer *actor = learner_actor(l), *critic = learner_critic(l);
    const corral_device_ppo run = {
        .rows = rows,
        .actions = l->config.actions,
        .logits = actor->y,
        .value = critic->y,
        .action = p->mini_action,
        .old_log_prob = p->mini_log_prob,
        .old_value = p->mini_value,
        .advantage = p->mini_advantage,
        .target = p->mini_target,
        .old_log_probs = p->mini_log_probs,
        .value_clip_range = p->config.value_clip_range,
        .value_error_clip = p->config.value_error_clip,
        .value_coefficient = p->config.value_coefficient,
        .logits_grad = actor->gradient,
        .value_grad = critic->gradient,
        .partial = l->partial,
    };
    l->table->ppo_loss(l->work, &run, l->control);
}

static void minibatch(corral_device_learner *l, size_t rows)
{
    gather(l, rows);
    learner_forward(l, l->weights, rows, l->ppo.mini_observation);
    loss(l, rows);
    learner_backward(l, rows, l->ppo.mini_observation);
    learner_step(l, rows, CORRAL_DEVICE_SUMS_PPO);
}

// --- making it --------------------------------------------------------------------------------------------

static void make_columns(corral_device_learner *l)
{
    learner_ppo *p = &l->ppo;
    const size_t rows = rows_of(p), width = l->config.observation_size, f = sizeof(float);
    p->observation = learner_take(l, rows * width * f);
    p->action = learner_take(l, rows * sizeof *p->action);
    p->log_prob = learner_take(l, rows * f);
    p->reward = learner_take(l, rows * f);
    p->value = learner_take(l, rows * f);
    p->last_value = learner_take(l, p->config.envs * f);
    p->final_value = learner_take(l, rows * f);
    p->advantage = learner_take(l, rows * f);
    p->target = learner_take(l, rows * f);
    p->terminated = learner_take(l, rows);
    p->truncated = learner_take(l, rows);
    p->mean = learner_take(l, width * sizeof *p->mean);
    p->inverse = learner_take(l, width * sizeof *p->inverse);
    p->order = learner_take(l, p->epochs_room * sizeof *p->order);
    if (p->config.penalised) p->log_probs = learner_take(l, rows * l->config.actions * f);
}

static void make_minibatch(corral_device_learner *l)
{
    learner_ppo *p = &l->ppo;
    const size_t rows = l->config.minibatch, f = sizeof(float);
    p->mini_observation = learner_take_rows(l, rows * l->config.observation_size);
    p->mini_action = learner_take(l, rows * sizeof *p->mini_action);
    p->mini_log_prob = learner_take(l, rows * f);
    p->mini_value = learner_take(l, rows * f);
    p->mini_advantage = learner_take(l, rows * f);
    p->mini_target = learner_take(l, rows * f);
    p->moments = learner_take(l, (rows / CORRAL_DEVICE_CHUNK + 1) * 3 * sizeof *p->moments);
    if (p->config.penalised) p->mini_log_probs = learner_take(l, rows * l->config.actions * f);
}

corral_status corral_device_ppo_create(corral_device *device, const corral_device_ppo_config *config,
                                       corral_device_learner **out_learner)
{
    CORRAL_ASSERT(config->learner.network.critic < config->learner.network.count);
    corral_device_learner *l = NULL;
    corral_status status = learner_create(device, &config->learner, &l);
    if (status == CORRAL_OK) {
        l->ppo.config = *config;
        l->ppo.epochs_room = rows_of(&l->ppo) * config->epochs;
        l->minibatch = minibatch;
        l->now.normalize_advantage = config->normalize_advantage;
        make_columns(l);
        make_minibatch(l);
        status = l->status;
    }
    if (status == CORRAL_OK) {
        const size_t bytes = l->ppo.epochs_room * sizeof *l->ppo.host_order;
        l->ppo.host_order = malloc(bytes);
        if (l->ppo.host_order == NULL)
            status = corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for the order of %zu rows",
                                 l->ppo.epochs_room);
        else
            (void)l->table->pin(l->ppo.host_order, bytes, false);
    }
    if (status != CORRAL_OK) {
        corral_device_learner_destroy(l);
        return status;
    }
    *out_learner = l;
    return CORRAL_OK;
}

// --- an update --------------------------------------------------------------------------------------------

static void copy_observations(corral_device_learner *l, const corral_device_batch *batch)
{
    learner_ppo *p = &l->ppo;
    const size_t rows = rows_of(p), width = l->config.observation_size;
    l->table->copy(l->copies, p->observation, batch->observation, rows * width * sizeof(float));
    if (batch->mean == NULL) return;
    l->table->copy(l->copies, p->mean, batch->mean, width * sizeof *p->mean);
    l->table->copy(l->copies, p->inverse, batch->inverse, width * sizeof *p->inverse);
    l->table->filter(l->copies, rows, width, p->observation, p->mean, p->inverse, batch->clip,
                     p->observation);
}

static void copy_columns(corral_device_learner *l, const corral_device_batch *b)
{
    learner_ppo *p = &l->ppo;
    const size_t rows = rows_of(p), f = sizeof(float);
    l->table->copy(l->copies, p->action, b->action, rows * sizeof *p->action);
    l->table->copy(l->copies, p->log_prob, b->log_prob, rows * f);
    l->table->copy(l->copies, p->reward, b->reward, rows * f);
    l->table->copy(l->copies, p->value, b->value, rows * f);
    l->table->copy(l->copies, p->last_value, b->last_value, p->config.envs * f);
    l->table->copy(l->copies, p->final_value, b->final_value, rows * f);
    l->table->copy(l->copies, p->terminated, b->terminated, rows);
    l->table->copy(l->copies, p->truncated, b->truncated, rows);
    if (p->log_probs != NULL)
        l->table->copy(l->copies, p->log_probs, b->log_probs, rows * l->config.actions * f);
}

static void estimate_advantages(corral_device_learner *l)
{
    learner_ppo *p = &l->ppo;
    const corral_device_gae g = {
        .envs = p->config.envs,
        .steps = p->config.steps,
        .reward = p->reward,
        .value = p->value,
        .last_value = p->last_value,
        .final_value = p->final_value,
        .terminated = p->terminated,
        .truncated = p->truncated,
        .gamma = p->config.gamma,
        .lambda = p->config.lambda,
        .advantage = p->advantage,
        .target = p->target,
    };
    l->table->gae(l->work, &g);
}

corral_status corral_device_ppo_begin(corral_device_learner *l, const corral_device_batch *batch,
                                      const corral_device_ppo_moment *now)
{
    l->now.learning_rate = now->learning_rate;
    l->now.stop_kl = now->stop_kl;
    l->now.clip_range = now->clip_range;
    l->now.entropy_coefficient = now->entropy_coefficient;
    l->now.kl_coefficient = now->kl_coefficient;
    l->ppo.batch = *batch;
    l->ppo.order_used = 0;
    const corral_status status = learner_send_control(l);
    copy_observations(l, batch);
    copy_columns(l, batch);
    l->table->order(l->copies, l->work);
    estimate_advantages(l);
    return status;
}

corral_status corral_device_ppo_epoch(corral_device_learner *l, const uint32_t *order, size_t count,
                                      bool *out_stop)
{
    learner_ppo *p = &l->ppo;
    const size_t size = l->config.minibatch, at = p->order_used;
    CORRAL_ASSERT(count <= p->epochs_room - at);
    memcpy(p->host_order + at, order, count * sizeof *order);
    l->table->copy(l->copies, p->order + at, p->host_order + at, count * sizeof *order);
    l->table->order(l->copies, l->work);
    l->table->zero(l->work, &l->control->epoch_kl, sizeof(double));
    l->table->zero(l->work, &l->control->epoch_rows, sizeof(double));
    p->order_used += count;
    for (size_t done = 0; done < count; done += size)
        learner_run(l, count - done < size ? count - done : size, 0);
    *out_stop = false;
    if (!(l->now.stop_kl > 0)) return CORRAL_OK;
    const corral_status status = learner_read_control(l);
    *out_stop = l->now.stopped != 0;
    return status;
}

corral_status corral_device_ppo_finish(corral_device_learner *l, corral_device_result *out)
{
    const learner_ppo *p = &l->ppo;
    const size_t bytes = rows_of(p) * sizeof(float);
    l->table->copy(l->work, p->batch.advantage, p->advantage, bytes);
    l->table->copy(l->work, p->batch.target, p->target, bytes);
    const corral_status status = learner_read_control(l);
    const double *totals = l->now.totals;
    learner_fill_result(l, out);
    out->policy_loss = totals[CORRAL_PPO_SUM_POLICY_LOSS];
    out->value_loss = totals[CORRAL_PPO_SUM_VALUE_LOSS];
    out->entropy = totals[CORRAL_PPO_SUM_ENTROPY];
    out->approx_kl = totals[CORRAL_PPO_SUM_APPROX_KL];
    out->clip_fraction = totals[CORRAL_PPO_SUM_CLIPPED];
    out->kl = totals[CORRAL_PPO_SUM_KL];
    out->infinite_kl = totals[CORRAL_PPO_SUM_INFINITE_KL];
    out->first_ratio_deviation = l->now.first_largest;
    out->epoch_kl = l->now.epoch_rows > 0 ? l->now.epoch_kl / l->now.epoch_rows : 0;
    return status;
}
