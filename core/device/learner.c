// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// What both algorithms share: memory, parameters and moments, and minibatches as graphs. The first minibatch
// of a size runs as it is, so that whatever loads late has loaded; the second one is recorded; all others are
// replayed. Replay and eager run do the very same work.

#include "device/learner.h"

#include "corral/base/log.h"

#include <stdlib.h>
#include <string.h>

static const double first_scale = 65536;

// --- memory -----------------------------------------------------------------------------------------------

void *learner_take(corral_device_learner *l, size_t bytes)
{
    void *memory = NULL;
    if (l->status != CORRAL_OK) return NULL;
    if (l->memory_count == LEARNER_MEMORY)
        l->status = corral_fail(CORRAL_ERROR_FULL, "a network of more layers than a device takes");
    else
        l->status = corral_device_allocate(l->device, bytes, "a learner's block", &memory);
    if (memory != NULL) l->memory[l->memory_count++] = memory;
    return memory;
}

learner_rows learner_take_rows(corral_device_learner *l, size_t count)
{
    learner_rows rows = {0};
    if (l->half)
        rows.half = learner_take(l, count * sizeof(corral_bf16));
    else
        rows.f32 = learner_take(l, count * sizeof(float));
    return rows;
}

static learner_layer make_layer(corral_device_learner *l, const corral_dense_layer *from)
{
    const corral_param *weight = corral_params_entry(l->config.params, from->weight);
    const corral_param *bias = corral_params_entry(l->config.params, from->bias);
    learner_layer layer = {.in = weight->shape[1],
                           .out = weight->shape[0],
                           .weight = weight->offset,
                           .bias = bias->offset,
                           .input = from->input,
                           .activation = from->activation};
    const size_t count = l->config.minibatch * layer.out;
    layer.y = learner_take(l, count * sizeof(float));
    layer.gradient = learner_take(l, count * sizeof(float));
    if (l->half) {
        layer.y_half = learner_take(l, count * sizeof(corral_bf16));
        layer.gradient_half = learner_take(l, count * sizeof(corral_bf16));
    }
    return layer;
}

static void make_blocks(corral_device_learner *l)
{
    const size_t bytes = l->count * sizeof(float), rows = l->config.minibatch;
    size_t widest = 1;
    l->weights.f32 = learner_take(l, bytes);
    if (l->half) l->weights.half = learner_take(l, l->count * sizeof(corral_bf16));
    l->first = learner_take(l, bytes);
    l->second = learner_take(l, bytes);
    l->gradient = learner_take(l, bytes);
    l->squares = learner_take(l, (l->count / CORRAL_DEVICE_CHUNK + 1) * sizeof(double));
    l->partial = learner_take(l, (rows / CORRAL_DEVICE_LOSS_ROWS + 1) * CORRAL_DEVICE_SUMS * sizeof(double));
    l->control = learner_take(l, sizeof *l->control);
    for (uint32_t i = 0; i < l->config.network.count; i++) {
        l->layers[i] = make_layer(l, &l->config.network.layers[i]);
        if (l->layers[i].out > widest) widest = l->layers[i].out;
    }
    l->bias_partial = learner_take(l, (rows / CORRAL_DEVICE_BIAS_ROWS + 1) * widest * sizeof(float));
}

// --- life -------------------------------------------------------------------------------------------------

static corral_status check(const corral_device_learner_config *config)
{
    if (config->optimizer.kind != CORRAL_ADAM)
        return corral_fail(CORRAL_ERROR_UNSUPPORTED, "a device's optimizer is Adam; device=cpu has others");
    if (corral_params_dtype(config->params) != CORRAL_F32)
        return corral_fail(CORRAL_ERROR_UNSUPPORTED, "a device learns in f32; device=cpu has f64");
    for (uint32_t i = 0; i < config->network.count; i++)
        CORRAL_ASSERT(config->network.layers[i].input <= i);
    return CORRAL_OK;
}

corral_status learner_create(corral_device *device, const corral_device_learner_config *config,
                             corral_device_learner **out_learner)
{
    corral_status status = check(config);
    if (status != CORRAL_OK) return status;
    corral_device_learner *l = calloc(1, sizeof *l);
    if (l == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a learner");
    l->device = device;
    l->table = device->table;
    l->config = *config;
    l->half = config->precision == CORRAL_PRECISION_BF16;
    l->count = corral_params_count(config->params);
    l->now = (corral_device_control){.scale = l->half ? first_scale : 1, .scaling = l->half};
    l->work = l->table->stream_create();
    l->copies = l->table->stream_create();
    if (l->work == NULL || l->copies == NULL)
        l->status = corral_fail(CORRAL_ERROR_LOST, "%s gives no streams", device->name);
    make_blocks(l);
    *out_learner = l;
    status = l->status;
    if (status == CORRAL_OK) { // the padding between entries is never written to
        l->table->zero(l->work, l->gradient, l->count * sizeof(float));
        l->table->zero(l->work, l->first, l->count * sizeof(float));
        l->table->zero(l->work, l->second, l->count * sizeof(float));
        status = corral_device_wait(device, l->work);
    }
    return status;
}

void corral_device_learner_destroy(corral_device_learner *l)
{
    if (l == NULL) return;
    if (l->work != NULL) (void)l->table->wait(l->work);
    if (l->copies != NULL) (void)l->table->wait(l->copies);
    for (size_t i = 0; i < l->graph_count; i++)
        l->table->graph_destroy(l->graphs[i].graph);
    for (size_t i = 0; i < LEARNER_SLOTS; i++) {
        if (l->dqn.host[i] != NULL) l->table->unpin(l->dqn.host[i]);
        free(l->dqn.host[i]);
    }
    if (l->ppo.host_order != NULL) l->table->unpin(l->ppo.host_order);
    free(l->ppo.host_order);
    for (size_t i = 0; i < l->memory_count; i++)
        l->table->release(l->memory[i]);
    if (l->work != NULL) l->table->stream_destroy(l->work);
    if (l->copies != NULL) l->table->stream_destroy(l->copies);
    free(l);
}

// --- parameters and moments -------------------------------------------------------------------------------

corral_status corral_device_learner_load(corral_device_learner *l, const corral_device_state *state)
{
    const size_t bytes = l->count * sizeof(float);
    if (state->weights != NULL) {
        l->table->copy(l->work, l->weights.f32, state->weights, bytes);
        if (l->half) l->table->to_bf16(l->work, l->count, l->weights.f32, l->weights.half);
    }
    if (state->first != NULL) l->table->copy(l->work, l->first, state->first, bytes);
    if (state->second != NULL) l->table->copy(l->work, l->second, state->second, bytes);
    l->now.steps = state->steps;
    return corral_device_wait(l->device, l->work);
}

corral_status corral_device_learner_save(corral_device_learner *l, corral_device_state *state)
{
    const size_t bytes = l->count * sizeof(float);
    if (state->weights != NULL) l->table->copy(l->work, state->weights, l->weights.f32, bytes);
    if (state->first != NULL) l->table->copy(l->work, state->first, l->first, bytes);
    if (state->second != NULL) l->table->copy(l->work, state->second, l->second, bytes);
    state->steps = l->now.steps;
    return corral_device_wait(l->device, l->work);
}

corral_status learner_send_control(corral_device_learner *l)
{
    corral_device_control *c = &l->now;
    memset(c->totals, 0, sizeof c->totals);
    c->norm_total = c->first_largest = c->epoch_kl = c->epoch_rows = 0;
    c->minibatches = c->skipped = c->at = 0;
    c->stopped = 0;
    l->table->copy(l->work, l->control, c, sizeof *c);
    return CORRAL_OK;
}

corral_status learner_read_control(corral_device_learner *l)
{
    l->table->copy(l->work, &l->now, l->control, sizeof l->now);
    return corral_device_wait(l->device, l->work);
}

// --- minibatches ------------------------------------------------------------------------------------------

static learner_graph *find_graph(corral_device_learner *l, size_t rows, uint32_t slot)
{
    for (size_t i = 0; i < l->graph_count; i++)
        if (l->graphs[i].rows == rows && l->graphs[i].slot == slot) return &l->graphs[i];
    if (l->graph_count == LEARNER_GRAPHS) {
        if (!l->told)
            corral_log(CORRAL_LOG_WARNING,
                       "a minibatch of %zu rows is one size too many to be recorded: such "
                       "ones run step by step",
                       rows);
        l->told = true;
        return NULL;
    }
    learner_graph *graph = &l->graphs[l->graph_count++];
    *graph = (learner_graph){.rows = rows, .slot = slot};
    return graph;
}

void learner_run(corral_device_learner *l, size_t rows, uint32_t slot)
{
    learner_graph *g = l->config.eager ? NULL : find_graph(l, rows, slot);
    if (g == NULL || !g->seen) {
        l->minibatch(l, rows);
        if (g != NULL) g->seen = true;
        return;
    }
    if (g->graph == NULL) {
        l->table->capture_begin(l->work);
        l->minibatch(l, rows);
        g->graph = l->table->capture_end(l->work);
    }
    if (g->graph != NULL) l->table->graph_launch(g->graph, l->work); // else wait() knows why
}

void learner_step(corral_device_learner *l, size_t rows, corral_device_sums kind)
{
    const corral_optimizer_config *o = &l->config.optimizer;
    const corral_device_step step = {
        .count = l->count,
        .weight = l->weights.f32,
        .first = l->first,
        .second = l->second,
        .gradient = l->gradient,
        .weight_half = l->weights.half,
        .squares = l->squares,
        .partial = l->partial,
        .partial_count = (rows + CORRAL_DEVICE_LOSS_ROWS - 1) / CORRAL_DEVICE_LOSS_ROWS,
        .rows = rows,
        .beta1 = o->beta1,
        .beta2 = o->beta2,
        .epsilon = o->epsilon,
        .max_norm = o->max_grad_norm,
        .kind = (uint8_t)kind,
    };
    l->table->step(l->work, &step, l->control);
}

void learner_fill_result(const corral_device_learner *l, corral_device_result *out)
{
    const corral_device_control *c = &l->now;
    *out = (corral_device_result){.grad_norm = c->norm_total,
                                  .scale = c->scale,
                                  .minibatches = c->minibatches,
                                  .skipped = c->skipped,
                                  .overflows = c->overflows,
                                  .stopped = c->stopped != 0};
}
