// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "replay_internal.h"

#include "corral/base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double least_error = 1e-6; // so that a row without any error is still drawn now and then

// --- life -------------------------------------------------------------------------------------------------

static size_t row_bytes(const replay_config *config)
{
    return 2 * (size_t)config->observation_size * sizeof(float) + sizeof(int32_t) + 2 * sizeof(float);
}

size_t replay_bytes(const replay_config *config)
{
    size_t bytes;
    if (config->capacity > SIZE_MAX / 64 ||
        __builtin_mul_overflow(config->capacity, row_bytes(config), &bytes))
        return SIZE_MAX;
    const size_t rest = n_step_bytes(config->envs, config->n_step, config->observation_size) +
                        (config->alpha > 0 ? sum_tree_bytes(config->capacity) : 0);
    return bytes < SIZE_MAX - rest ? bytes + rest : SIZE_MAX;
}

/// The kernel promises more memory than there is; a run should not find out in the middle.
static corral_status check_bytes(const replay_config *config)
{
    const size_t bytes = replay_bytes(config);
    const double machine = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    if ((double)bytes <= machine) return CORRAL_OK;
    return corral_fail(CORRAL_ERROR_NO_MEMORY,
                       "a replay of %zu rows takes %.3g GB, this machine has %.3g; lower dqn.buffer_size",
                       config->capacity, (double)bytes * 1e-9, machine * 1e-9);
}

static corral_status allocate(replay *r)
{
    const size_t rows = r->config.capacity, elements = rows * r->config.observation_size;
    r->observation = calloc(elements, sizeof *r->observation);
    r->next = calloc(elements, sizeof *r->next);
    r->action = calloc(rows, sizeof *r->action);
    r->reward = calloc(rows, sizeof *r->reward);
    r->discount = calloc(rows, sizeof *r->discount);
    if (r->observation == NULL || r->next == NULL || r->action == NULL || r->reward == NULL ||
        r->discount == NULL)
        return corral_fail(CORRAL_ERROR_NO_MEMORY,
                           "no memory for a replay of %zu rows; lower dqn.buffer_size", rows);
    corral_status status = n_step_init(&r->waiting, r->config.envs, r->config.n_step,
                                       r->config.observation_size, r->config.gamma);
    if (status == CORRAL_OK && r->config.alpha > 0) status = sum_tree_init(&r->priority, rows);
    return status;
}

corral_status replay_create(const replay_config *config, replay **out_replay)
{
    CORRAL_ASSERT(config->capacity > 0 && config->capacity <= UINT32_MAX && config->n_step > 0);
    corral_status status = check_bytes(config);
    if (status != CORRAL_OK) return status;
    replay *r = calloc(1, sizeof *r);
    if (r == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a replay");
    r->config = *config;
    r->largest_error = 1;
    status = allocate(r);
    if (status != CORRAL_OK) {
        replay_destroy(r);
        return status;
    }
    *out_replay = r;
    return CORRAL_OK;
}

void replay_destroy(replay *r)
{
    if (r == NULL) return;
    n_step_finish(&r->waiting);
    sum_tree_finish(&r->priority);
    free(r->observation);
    free(r->next);
    free(r->action);
    free(r->reward);
    free(r->discount);
    free(r);
}

// --- filling ----------------------------------------------------------------------------------------------

static void store(void *context, const replay_transition *transition)
{
    replay *r = context;
    const size_t row = r->place, width = r->config.observation_size;
    memcpy(r->observation + row * width, transition->observation, width * sizeof(float));
    memcpy(r->next + row * width, transition->next, width * sizeof(float));
    r->action[row] = transition->action;
    r->reward[row] = transition->reward;
    r->discount[row] = transition->discount;
    if (r->config.alpha > 0) sum_tree_set(&r->priority, row, pow(r->largest_error, r->config.alpha));
    r->place = (row + 1) % r->config.capacity;
    if (r->count < r->config.capacity) r->count++;
}

void replay_push(replay *r, uint32_t environment, const replay_step *step)
{
    n_step_push(&r->waiting, environment, step, store, r);
}

void replay_forget(replay *r, uint32_t environment)
{
    n_step_forget(&r->waiting, environment);
}

size_t replay_size(const replay *r)
{
    return replay_bytes(&r->config);
}

size_t replay_count(const replay *r)
{
    return r->count;
}

replay_transition replay_at(const replay *r, size_t row)
{
    CORRAL_ASSERT(row < r->count);
    return (replay_transition){
        .observation = r->observation + row * r->config.observation_size,
        .next = r->next + row * r->config.observation_size,
        .action = r->action[row],
        .reward = r->reward[row],
        .discount = r->discount[row],
    };
}

// --- drawing ----------------------------------------------------------------------------------------------

/// The total is cut into as many equal parts as rows are drawn, and each part gives one: with less chance in
/// it than free draws have, and as many of each row on average.
static void sample_by_priority(const replay *r, uint64_t key, size_t count, double beta, uint32_t *out_rows,
                               float *out_weights)
{
    const double total = sum_tree_total(&r->priority);
    double largest = 0;
    for (size_t i = 0; i < count; i++) {
        const double part = ((double)i + corral_stream_double(key, i)) / (double)count;
        out_rows[i] = (uint32_t)sum_tree_find(&r->priority, part * total);
        const double share = sum_tree_get(&r->priority, out_rows[i]) / total;
        const double weight = pow((double)r->count * share, -beta);
        out_weights[i] = (float)weight;
        largest = fmax(largest, weight);
    }
    for (size_t i = 0; i < count; i++)
        out_weights[i] = (float)((double)out_weights[i] / largest);
}

void replay_sample(const replay *r, uint64_t key, size_t count, double beta, uint32_t *out_rows,
                   float *out_weights)
{
    CORRAL_ASSERT(r->count > 0);
    if (r->config.alpha > 0) {
        sample_by_priority(r, key, count, beta, out_rows, out_weights);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        // The high 32 bits over at most 2^32 rows: no draw is wasted, and the bias is below 2^-32.
        out_rows[i] = (uint32_t)((corral_stream_u64(key, i) >> 32) * r->count >> 32);
        out_weights[i] = 1;
    }
}

void replay_tell_errors(replay *r, const uint32_t *rows, const float *errors, size_t count)
{
    if (!(r->config.alpha > 0)) return;
    for (size_t i = 0; i < count; i++) {
        const double error = fabs((double)errors[i]) + least_error;
        if (!isfinite(error)) continue;
        r->largest_error = fmax(r->largest_error, error);
        sum_tree_set(&r->priority, rows[i], pow(error, r->config.alpha));
    }
}
