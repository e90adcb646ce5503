// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// One step in three loops over fixed pieces of the flat block, each spread over the team:
//
//   1. chunks: sum the lanes in a fixed tree into `total`, and the squares of the chunk
//   2. chunks: clip and update the weights
//   3. matrices: refresh their packed forms
//
// The norm is the sum of the chunks' squares in order, in f64. No loop depends on who takes which piece.

#include "optim/updates.h"
#include "tensor/params.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1024, STATES = 2, ALIGNMENT = 64 };

struct corral_optimizer {
    corral_optimizer_config config;
    corral_params *params;
    const corral_update_table *updates;
    size_t count, element_size, chunk_count;
    uint64_t steps;
    uint32_t state_count;
    void *lanes[CORRAL_LANES]; // one allocation, at lanes[0]
    void *total;
    void *state[STATES];
    double *squares; // [chunk_count]
};

/// What the pieces of one step share.
typedef struct step_context {
    corral_optimizer *optimizer;
    size_t lane_count;
    corral_update update;
} step_context;

corral_optimizer_config corral_optimizer_config_default(void)
{
    return (corral_optimizer_config){.kind = CORRAL_ADAM, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8};
}

static bool is_fraction(double x)
{
    return x >= 0.0 && x < 1.0;
}

static corral_status check_config(const corral_optimizer_config *config)
{
    if (config->kind != CORRAL_SGD && config->kind != CORRAL_ADAM) {
        return corral_fail(CORRAL_ERROR_INVALID, "optimizer: %d is no kind; use CORRAL_SGD or CORRAL_ADAM",
                           (int)config->kind);
    }
    if (config->kind == CORRAL_ADAM && (!is_fraction(config->beta1) || !is_fraction(config->beta2))) {
        return corral_fail(CORRAL_ERROR_INVALID, "optimizer: Adam's betas %g and %g must be in [0, 1)",
                           config->beta1, config->beta2);
    }
    // Without it, a weight that never had a gradient would be divided 0 by 0.
    if (config->kind == CORRAL_ADAM && !((float)config->epsilon > 0.0f)) {
        return corral_fail(CORRAL_ERROR_INVALID, "optimizer: Adam's epsilon %g must be above 0",
                           config->epsilon);
    }
    if (config->kind == CORRAL_SGD && !is_fraction(config->momentum)) {
        return corral_fail(CORRAL_ERROR_INVALID, "optimizer: momentum %g must be in [0, 1)",
                           config->momentum);
    }
    if (!(config->max_grad_norm >= 0.0)) {
        return corral_fail(CORRAL_ERROR_INVALID,
                           "optimizer: max_grad_norm %g is below 0; 0 turns clipping off",
                           config->max_grad_norm);
    }
    return CORRAL_OK;
}

static void *allocate_zeroed(size_t size)
{
    const size_t rounded = (size + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
    void *block = aligned_alloc(ALIGNMENT, rounded);
    if (block != NULL) memset(block, 0, rounded);
    return block;
}

/// Bytes from one lane's block to the next: not a multiple of the cache's way size, so that the same element
/// of all lanes does not fall into one set.
static size_t lane_stride(size_t block_size)
{
    return (block_size + 4095) / 4096 * 4096 + 3 * ALIGNMENT;
}

static bool allocate_blocks(corral_optimizer *optimizer)
{
    const size_t size = optimizer->count * optimizer->element_size, stride = lane_stride(size);
    optimizer->lanes[0] = allocate_zeroed(CORRAL_LANES * stride);
    optimizer->total = allocate_zeroed(size);
    optimizer->squares = calloc(optimizer->chunk_count + 1, sizeof *optimizer->squares);
    if (optimizer->lanes[0] == NULL || optimizer->total == NULL || optimizer->squares == NULL) return false;
    for (size_t i = 1; i < CORRAL_LANES; i++)
        optimizer->lanes[i] = (char *)optimizer->lanes[0] + i * stride;
    for (uint32_t i = 0; i < optimizer->state_count; i++) {
        optimizer->state[i] = allocate_zeroed(size);
        if (optimizer->state[i] == NULL) return false;
    }
    return true;
}

corral_status corral_optimizer_create(const corral_optimizer_config *config, corral_params *params,
                                      corral_optimizer **out_optimizer)
{
    corral_status status = check_config(config);
    if (status != CORRAL_OK) return status;
    if (!params->sealed) {
        return corral_fail(CORRAL_ERROR_INVALID, "optimizer: seal the parameters first");
    }
    corral_optimizer *optimizer = calloc(1, sizeof *optimizer);
    if (optimizer == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "optimizer: no memory");
    optimizer->config = *config;
    optimizer->params = params;
    optimizer->updates = params->dtype == CORRAL_F64 ? &corral_updates_f64 : &corral_updates_f32;
    optimizer->count = params->count;
    optimizer->element_size = corral_dtype_size(params->dtype);
    optimizer->chunk_count = (params->count + CHUNK - 1) / CHUNK;
    optimizer->state_count = config->kind == CORRAL_ADAM ? 2 : 1;
    if (!allocate_blocks(optimizer)) {
        corral_optimizer_destroy(optimizer);
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "optimizer: no memory for %zu parameters", params->count);
    }
    *out_optimizer = optimizer;
    return CORRAL_OK;
}

void corral_optimizer_destroy(corral_optimizer *optimizer)
{
    if (optimizer == NULL) return;
    for (size_t i = 0; i < STATES; i++)
        free(optimizer->state[i]);
    free(optimizer->squares);
    free(optimizer->total);
    free(optimizer->lanes[0]);
    free(optimizer);
}

void *corral_optimizer_lane(corral_optimizer *optimizer, size_t lane)
{
    CORRAL_ASSERT(lane < CORRAL_LANES);
    return memset(optimizer->lanes[lane], 0, optimizer->count * optimizer->element_size);
}

/// Elements of chunk `index`.
static size_t chunk_size(const corral_optimizer *optimizer, size_t index)
{
    const size_t rest = optimizer->count - index * CHUNK;
    return rest < CHUNK ? rest : CHUNK;
}

/// Where chunk `index` begins in a block of the parameters' layout.
static void *chunk_at(const corral_optimizer *optimizer, void *block, size_t index)
{
    return block == NULL ? NULL : (char *)block + index * CHUNK * optimizer->element_size;
}

static void sum_chunk(void *context, size_t index, unsigned thread)
{
    (void)thread;
    const step_context *step = context;
    corral_optimizer *o = step->optimizer;
    void *lanes[CORRAL_LANES];
    for (size_t lane = 0; lane < step->lane_count; lane++)
        lanes[lane] = chunk_at(o, o->lanes[lane], index);
    o->squares[index] =
        o->updates->sum_lanes(chunk_size(o, index), step->lane_count, lanes, chunk_at(o, o->total, index));
}

static void update_chunk(void *context, size_t index, unsigned thread)
{
    (void)thread;
    const step_context *step = context;
    corral_optimizer *o = step->optimizer;
    void *const state[STATES] = {chunk_at(o, o->state[0], index), chunk_at(o, o->state[1], index)};
    o->updates->apply[o->config.kind](&step->update, chunk_size(o, index),
                                      chunk_at(o, o->params->data, index), chunk_at(o, o->total, index),
                                      state);
}

static void refresh_matrix(void *context, size_t index, unsigned thread)
{
    (void)thread;
    const step_context *step = context;
    corral_params_refresh_matrix(step->optimizer->params, index);
}

static void run(corral_team *team, size_t count, void (*task)(void *, size_t, unsigned), step_context *step)
{
    if (team != NULL && count > 1) {
        corral_team_run(team, count, task, step);
        return;
    }
    for (size_t i = 0; i < count; i++)
        task(step, i, 0);
}

static double clip_scale(double norm, double max_norm)
{
    const double scale = max_norm / (norm + 1e-6);
    return max_norm > 0.0 && scale < 1.0 ? scale : 1.0;
}

corral_status corral_optimizer_step(corral_optimizer *optimizer, size_t lane_count, double learning_rate,
                                    corral_team *team, double *out_norm)
{
    CORRAL_ASSERT(lane_count <= CORRAL_LANES);
    if (lane_count == 0) {
        return corral_fail(CORRAL_ERROR_INVALID, "optimizer: a step without lanes; a minibatch needs a row");
    }
    step_context step = {.optimizer = optimizer, .lane_count = lane_count};
    run(team, optimizer->chunk_count, sum_chunk, &step);
    double squares = 0.0;
    for (size_t i = 0; i < optimizer->chunk_count; i++)
        squares += optimizer->squares[i];
    const double norm = sqrt(squares);
    if (out_norm != NULL) *out_norm = norm;
    if (!isfinite(norm)) {
        return corral_fail(CORRAL_ERROR_NOT_FINITE,
                           "optimizer: the gradient's norm is %g after %llu steps; "
                           "this step is skipped",
                           norm, (unsigned long long)optimizer->steps);
    }

    const corral_optimizer_config *config = &optimizer->config;
    optimizer->steps++;
    step.update = (corral_update){
        .scale = clip_scale(norm, config->max_grad_norm),
        .learning_rate = learning_rate,
        .beta1 = config->beta1,
        .beta2 = config->beta2,
        .epsilon = config->epsilon,
        .first_correction = 1.0 - pow(config->beta1, (double)optimizer->steps),
        .second_correction = 1.0 - pow(config->beta2, (double)optimizer->steps),
        .momentum = config->momentum,
    };
    run(team, optimizer->chunk_count, update_chunk, &step);
    run(team, optimizer->params->matrix_count, refresh_matrix, &step);
    return CORRAL_OK;
}

uint64_t corral_optimizer_steps(const corral_optimizer *optimizer)
{
    return optimizer->steps;
}

void corral_optimizer_set_steps(corral_optimizer *optimizer, uint64_t steps)
{
    optimizer->steps = steps;
}

uint32_t corral_optimizer_state_count(const corral_optimizer *optimizer)
{
    return optimizer->state_count;
}

void *corral_optimizer_state(corral_optimizer *optimizer, uint32_t index, const char **out_name)
{
    CORRAL_ASSERT(index < optimizer->state_count);
    static const char *const names[2][STATES] = {
        [CORRAL_SGD] = {"velocity"},
        [CORRAL_ADAM] = {"first_moment", "second_moment"},
    };
    if (out_name != NULL) *out_name = names[optimizer->config.kind][index];
    return optimizer->state[index];
}
