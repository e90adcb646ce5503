// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Q-learning on a device. The replay is the host's: it gathers a minibatch into memory that the device may
// read, of which there are two pieces, so that one is filled and copied while the other is learned from. What
// comes with a minibatch lies in one block, and is copied as one.

#include "device/learner.h"

#include <stdlib.h>
#include <string.h>

/// The parts of a block of inputs; the same on the host and on the device.
static corral_device_transitions parts_of(const corral_device_learner *l, void *block)
{
    const size_t rows = l->config.minibatch, wide = rows * l->config.observation_size;
    float *at = block;
    corral_device_transitions t;
    t.observation = at;
    t.next = at + wide;
    t.reward = at + 2 * wide;
    t.discount = t.reward + rows;
    t.weight = t.discount + rows;
    t.action = (int32_t *)(void *)(t.weight + rows);
    return t;
}

static size_t block_bytes(const corral_device_learner *l)
{
    const size_t rows = l->config.minibatch;
    return (2 * rows * l->config.observation_size + 3 * rows) * sizeof(float) + rows * sizeof(int32_t);
}

// --- one minibatch ----------------------------------------------------------------------------------------

/// Filters observations where they are, and brings them to the form that the network reads.
static learner_rows prepare(corral_device_learner *l, size_t rows, float *observation, learner_rows to)
{
    const learner_dqn *d = &l->dqn;
    const size_t width = l->config.observation_size;
    if (d->filters)
        l->table->filter(l->work, rows, width, observation, d->mean, d->inverse, d->clip, observation);
    if (!l->half) return (learner_rows){.f32 = observation};
    l->table->to_bf16(l->work, rows * width, observation, to.half);
    return to;
}

/// The worths of actions; where the network is a dueling one they are put together in `out`.
static const float *worths(corral_device_learner *l, learner_weights weights, size_t rows, learner_rows x,
                           float *out)
{
    const learner_layer *actor = learner_actor(l), *critic = learner_critic(l);
    learner_forward(l, weights, rows, x);
    if (l->config.network.dueling)
        l->table->dueling(l->work, rows, l->config.actions, critic->y, actor->y, out);
    else
        l->table->copy(l->work, out, actor->y, rows * l->config.actions * sizeof(float));
    return out;
}

static void find_targets(corral_device_learner *l, size_t rows, const corral_device_transitions *t)
{
    learner_dqn *d = &l->dqn;
    const learner_rows next = prepare(l, rows, t->next, d->next);
    const float *q_target = worths(l, d->target, rows, next, d->q_target), *q_online = NULL;
    if (d->config.double_q) q_online = worths(l, l->weights, rows, next, d->q_online);
    l->table->dqn_targets(l->work, rows, l->config.actions, t->reward, t->discount, q_target, q_online,
                          d->target_q);
}

static void minibatch(corral_device_learner *l, size_t rows)
{
    learner_dqn *d = &l->dqn;
    const corral_device_transitions t = parts_of(l, d->inputs[d->slot]);
    const learner_layer *actor = learner_actor(l), *critic = learner_critic(l);
    const bool dueling = l->config.network.dueling;
    find_targets(l, rows, &t);
    const learner_rows x = prepare(l, rows, t.observation, d->observation);
    const corral_device_dqn run = {
        .rows = rows,
        .actions = l->config.actions,
        .q = worths(l, l->weights, rows, x, d->q),
        .action = t.action,
        .target = d->target_q,
        .weight = t.weight,
        .huber_delta = d->config.huber_delta,
        .q_grad = dueling ? d->q_gradient : actor->gradient,
        .error = d->error,
        .partial = l->partial,
    };
    l->table->dqn_loss(l->work, &run, l->control);
    if (dueling)
        l->table->dueling_gradient(l->work, rows, l->config.actions, d->q_gradient, critic->gradient,
                                   actor->gradient);
    learner_backward(l, rows, x);
    learner_step(l, rows, CORRAL_DEVICE_SUMS_DQN);
}

// --- making it --------------------------------------------------------------------------------------------

static corral_status make_inputs(corral_device_learner *l)
{
    learner_dqn *d = &l->dqn;
    d->bytes = block_bytes(l);
    for (size_t i = 0; i < LEARNER_SLOTS; i++) {
        d->inputs[i] = learner_take(l, d->bytes);
        d->host[i] = malloc(d->bytes);
        if (d->host[i] == NULL)
            return corral_fail(CORRAL_ERROR_NO_MEMORY,
                               "no memory for the minibatches of DQN; lower dqn.minibatch");
        (void)l->table->pin(d->host[i], d->bytes, false);
    }
    return l->status;
}

static void make_rows(corral_device_learner *l)
{
    learner_dqn *d = &l->dqn;
    const size_t rows = l->config.minibatch, width = l->config.observation_size, f = sizeof(float);
    d->target.f32 = learner_take(l, l->count * f);
    d->mean = learner_take(l, width * sizeof *d->mean);
    d->inverse = learner_take(l, width * sizeof *d->inverse);
    d->q = learner_take(l, rows * l->config.actions * f);
    d->q_target = learner_take(l, rows * l->config.actions * f);
    d->q_online = learner_take(l, rows * l->config.actions * f);
    d->q_gradient = learner_take(l, rows * l->config.actions * f);
    d->target_q = learner_take(l, rows * f);
    d->error = learner_take(l, rows * f);
    if (!l->half) return;
    d->target.half = learner_take(l, l->count * sizeof(corral_bf16));
    d->observation = learner_take_rows(l, rows * width);
    d->next = learner_take_rows(l, rows * width);
}

corral_status corral_device_dqn_create(corral_device *device, const corral_device_dqn_config *config,
                                       corral_device_learner **out_learner)
{
    corral_device_learner *l = NULL;
    corral_status status = learner_create(device, &config->learner, &l);
    if (status == CORRAL_OK) {
        l->dqn.config = *config;
        l->minibatch = minibatch;
        make_rows(l);
        status = make_inputs(l);
    }
    if (status != CORRAL_OK) {
        corral_device_learner_destroy(l);
        return status;
    }
    *out_learner = l;
    return CORRAL_OK;
}

// --- the target network -----------------------------------------------------------------------------------

static void refresh_target(corral_device_learner *l)
{
    if (l->half) l->table->to_bf16(l->work, l->count, l->dqn.target.f32, l->dqn.target.half);
}

corral_status corral_device_dqn_load_target(corral_device_learner *l, const float *weights)
{
    l->table->copy(l->work, l->dqn.target.f32, weights, l->count * sizeof(float));
    refresh_target(l);
    return corral_device_wait(l->device, l->work);
}

corral_status corral_device_dqn_save_target(corral_device_learner *l, float *weights)
{
    l->table->copy(l->work, weights, l->dqn.target.f32, l->count * sizeof(float));
    return corral_device_wait(l->device, l->work);
}

void corral_device_dqn_move_target(corral_device_learner *l, float tau)
{
    l->table->blend(l->work, l->count, tau, l->weights.f32, l->dqn.target.f32);
    refresh_target(l);
}

// --- an update --------------------------------------------------------------------------------------------

corral_status corral_device_dqn_begin(corral_device_learner *l, double learning_rate, const double *mean,
                                      const double *inverse, double clip)
{
    learner_dqn *d = &l->dqn;
    const size_t bytes = l->config.observation_size * sizeof(double);
    l->now.learning_rate = learning_rate;
    d->filters = mean != NULL;
    d->clip = clip;
    if (mean != NULL) {
        l->table->copy(l->work, d->mean, mean, bytes);
        l->table->copy(l->work, d->inverse, inverse, bytes);
    }
    return learner_send_control(l);
}

corral_status corral_device_dqn_next(corral_device_learner *l, corral_device_transitions *out_transitions)
{
    learner_dqn *d = &l->dqn;
    d->slot = 1 - d->slot;
    *out_transitions = parts_of(l, d->host[d->slot]);
    return corral_device_wait(l->device, l->copies); // what was in it has been copied
}

corral_status corral_device_dqn_learn(corral_device_learner *l, float *out_error, bool *out_skipped)
{
    learner_dqn *d = &l->dqn;
    const size_t rows = l->config.minibatch;
    const uint64_t skipped = l->now.skipped;
    l->table->copy(l->copies, d->inputs[d->slot], d->host[d->slot], d->bytes);
    l->table->order(l->copies, l->work);
    // The next copy goes to the other piece: it waits for what learns from that now, and not for this
    // minibatch.
    l->table->order(l->work, l->copies);
    learner_run(l, rows, d->slot);
    *out_skipped = false;
    if (out_error == NULL) return CORRAL_OK;
    l->table->copy(l->work, out_error, d->error, rows * sizeof *out_error);
    const corral_status status = learner_read_control(l);
    *out_skipped = l->now.skipped != skipped;
    return status;
}

corral_status corral_device_dqn_finish(corral_device_learner *l, corral_device_result *out)
{
    const corral_status status = learner_read_control(l);
    learner_fill_result(l, out);
    out->loss = l->now.totals[CORRAL_DQN_SUM_LOSS];
    out->q = l->now.totals[CORRAL_DQN_SUM_Q];
    out->error = l->now.totals[CORRAL_DQN_SUM_ERROR];
    return status;
}
