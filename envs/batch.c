// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The host of a batch. One step is:
//
//   actions checked -> rules stepped -> results checked -> episodes counted -> ended and failed ones begun
//   anew
//
// An episode that ends in this step leaves its last observation in `final_observation`, and the first one of
// the next episode in its row. So the caller sees transitions only, never a row that was made by a reset.
//
// A failure stays with its environment: its open episode is dropped, it begins the next one, and the others
// never notice. Only an environment that cannot begin RESET_ATTEMPTS episodes in a row ends the call with an
// error.

#include "batch_internal.h"

#include "batch_rows.h"

#include "corral/base/log.h"
#include "corral/envs/registry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RESET_ATTEMPTS = 8 };

// --- creation

static corral_status check_values(const corral_env_type *type, const double *values)
{
    for (uint32_t i = 0; i < type->param_count; i++) {
        const corral_env_param *p = &type->params[i];
        if (!(values[i] >= p->min && values[i] <= p->max))
            return corral_fail(CORRAL_ERROR_INVALID, "%s: parameter %s: %g is outside [%g, %g]", type->id,
                               p->name, values[i], p->min, p->max);
    }
    return CORRAL_OK;
}

static corral_status create_rules(corral_env_batch *batch, const double *values)
{
    const corral_env_type *type = batch->type;
    const corral_env_host *host = corral_env_host_default();
    corral_env_host_take_error(); // whatever an earlier call has left

    if (corral_rules_create(&batch->rules, type, host, batch->count, values) == 0) return CORRAL_OK;

    const char *said = corral_env_host_take_error();
    return corral_fail(CORRAL_ERROR_ENVIRONMENT, "%s: cannot be created: %s", type->id,
                       said[0] != '\0' ? said : "it gave no reason");
}

static corral_status create_with_defaults(corral_env_batch *batch)
{
    const uint32_t count = batch->type->param_count;
    double *values = calloc(count + 1, sizeof *values);
    if (values == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "%s: no memory", batch->type->id);
    for (uint32_t i = 0; i < count; i++)
        values[i] = batch->type->params[i].default_value;
    const corral_status status = create_rules(batch, values);
    free(values);
    return status;
}

static corral_status allocate(corral_env_batch *batch)
{
    const size_t count = batch->count;
    batch->stream = calloc(count, sizeof *batch->stream);
    batch->begun = calloc(count, sizeof *batch->begun);
    batch->seed = calloc(count, sizeof *batch->seed);
    batch->length = calloc(count, sizeof *batch->length);
    batch->episode_return = calloc(count, sizeof *batch->episode_return);
    batch->mask = calloc(count, 1);
    batch->failed = calloc(count, 1);
    const bool all = batch->stream != NULL && batch->begun != NULL && batch->seed != NULL &&
                     batch->length != NULL && batch->episode_return != NULL && batch->mask != NULL &&
                     batch->failed != NULL;
    return all ? CORRAL_OK
               : corral_fail(CORRAL_ERROR_NO_MEMORY, "%s: no memory for %zu environments", batch->type->id,
                             count);
}

static corral_status check_config(const corral_env_batch_config *config)
{
    const char *id = config->type->id;
    if (config->count == 0)
        return corral_fail(CORRAL_ERROR_INVALID, "%s: a batch needs at least 1 environment", id);
    if (config->max_episode_steps < -1 || config->max_episode_steps > UINT32_MAX)
        return corral_fail(
            CORRAL_ERROR_INVALID,
            "%s: max_episode_steps is %lld; it must be -1 (its own limit), 0 (none) or up to %u", id,
            (long long)config->max_episode_steps, UINT32_MAX);
    return config->param_values != NULL ? check_values(config->type, config->param_values) : CORRAL_OK;
}

corral_status corral_env_batch_create(const corral_env_batch_config *config, corral_env_batch **out_batch)
{
    corral_status status = check_config(config);
    if (status != CORRAL_OK) return status;
    corral_env_batch *batch = calloc(1, sizeof *batch);
    if (batch == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "%s: no memory", config->type->id);

    batch->type = config->type;
    batch->count = config->count;
    batch->first_index = config->first_index;
    batch->before_reset = config->before_reset;
    batch->before_reset_context = config->before_reset_context;
    batch->plain = corral_env_extension(batch->type, CORRAL_ENV_PLAIN_REWARD);
    batch->info_count = corral_env_info_count(batch->type);
    batch->step_limit =
        config->max_episode_steps < 0 ? config->type->max_episode_steps : (uint32_t)config->max_episode_steps;
    status = allocate(batch);
    if (status == CORRAL_OK)
        status = config->param_values != NULL ? create_rules(batch, config->param_values)
                                              : create_with_defaults(batch);
    if (status != CORRAL_OK) {
        corral_env_batch_destroy(batch);
        return status;
    }
    for (uint32_t i = 0; i < batch->count; i++)
        batch->stream[i] =
            corral_stream_key(config->run_seed, config->role, (uint64_t)config->first_index + i);
    *out_batch = batch;
    return CORRAL_OK;
}

void corral_env_batch_destroy(corral_env_batch *batch)
{
    if (batch == NULL) return;
    corral_rules_destroy(&batch->rules);
    free(batch->stream);
    free(batch->begun);
    free(batch->seed);
    free(batch->length);
    free(batch->episode_return);
    free(batch->mask);
    free(batch->failed);
    free(batch);
}

// --- failures

/// Only the first failure of a call is told in full.
static void note_failure(corral_env_batch *batch, uint32_t row, const char *what)
{
    if (batch->failure[0] != '\0') return;
    snprintf(batch->failure, sizeof batch->failure, "%s: environment %llu, seed %llu, step %u: %s",
             batch->type->id, (unsigned long long)batch->first_index + row,
             (unsigned long long)batch->seed[row], batch->length[row], what);
}

const char *corral_env_batch_failure(const corral_env_batch *batch)
{
    return batch->failure;
}

/// What the environment said about the failure of `row`, or what is wrong with the numbers that it left.
static void note_step_failure(corral_env_batch *batch, uint32_t row, double reward, bool reported)
{
    const char *said = corral_env_host_take_error();
    char text[64];
    if (!reported && !isfinite(reward)) {
        snprintf(text, sizeof text, "the reward is %g", reward);
        said = text;
    } else if (!reported) {
        said = "the observation is not finite";
    } else if (said[0] == '\0') {
        said = "it failed and gave no reason";
    }
    note_failure(batch, row, said);
}

static void note_reset_failure(corral_env_batch *batch, uint32_t row)
{
    const char *said = corral_env_host_take_error();
    if (said[0] == '\0') said = batch->failed[row] ? "it gave no reason" : "the observation is not finite";
    char text[300];
    snprintf(text, sizeof text, "reset: %s", said);
    note_failure(batch, row, text);
}

// --- beginning episodes

static void next_episode(corral_env_batch *batch, uint32_t row)
{
    batch->seed[row] = corral_stream_u64(batch->stream[row], batch->begun[row]);
    batch->begun[row]++;
    batch->length[row] = 0;
    batch->episode_return[row] = 0;
}

static void reset_rules(corral_env_batch *batch, const corral_env_rows *observation)
{
    const corral_env_step out = {.size = sizeof out, .observation = observation, .failed = batch->failed};
    memset(batch->failed, 0, batch->count);
    corral_env_host_take_error();
    if (corral_rules_reset(&batch->rules, batch->mask, batch->seed, &out) != 0)
        memset(batch->failed, 1, batch->count);
}

/// Leaves in the mask what could not be begun. Returns how many those are.
static uint32_t keep_failed(corral_env_batch *batch, const corral_env_rows *observation)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < batch->count; i++) {
        if (!batch->mask[i]) continue;
        batch->mask[i] = batch->failed[i] || !corral_rows_finite(&batch->type->spaces, observation, i);
        if (!batch->mask[i]) continue;
        if (left++ == 0) note_reset_failure(batch, i);
    }
    return left;
}

corral_status corral_env_batch_begin(corral_env_batch *batch, const corral_env_rows *observation)
{
    for (int attempt = 0; attempt < RESET_ATTEMPTS; attempt++) {
        for (uint32_t i = 0; i < batch->count; i++)
            if (batch->mask[i]) next_episode(batch, i);
        reset_rules(batch, observation);
        if (keep_failed(batch, observation) == 0) return CORRAL_OK;
        corral_log(CORRAL_LOG_WARNING, "%s", batch->failure);
    }
    return corral_fail(CORRAL_ERROR_ENVIRONMENT, "%s (%d episodes in a row could not begin)", batch->failure,
                       RESET_ATTEMPTS);
}

corral_status corral_env_batch_reset(corral_env_batch *batch, const corral_env_rows *observation)
{
    batch->failure[0] = '\0';
    memset(batch->mask, 1, batch->count);
    const corral_status status = corral_env_batch_begin(batch, observation);
    batch->started = status == CORRAL_OK;
    return status;
}

corral_status corral_env_batch_reset_to(corral_env_batch *batch, uint64_t number,
                                        const corral_env_rows *observation)
{
    for (uint32_t i = 0; i < batch->count; i++)
        batch->begun[i] = number;
    return corral_env_batch_reset(batch, observation);
}

// --- stepping

static void step_rules(corral_env_batch *batch, const corral_env_rows *action,
                       const corral_env_batch_step *step)
{
    const corral_env_step io = {
        .size = sizeof io,
        .action = action,
        .observation = step->observation,
        .reward = step->reward,
        .terminated = step->terminated,
        .truncated = step->truncated,
        .failed = step->failed,
    };
    memset(step->reward, 0, batch->count * sizeof *step->reward);
    memset(step->terminated, 0, batch->count);
    memset(step->truncated, 0, batch->count);
    memset(step->failed, 0, batch->count);
    corral_env_host_take_error();
    if (corral_rules_step(&batch->rules, &io) != 0) memset(step->failed, 1, batch->count); // the whole batch
}

/// Drops the open episode and leaves nothing of the row's results.
static void drop_row(corral_env_batch *batch, corral_env_batch_step *step, uint32_t row)
{
    batch->mask[row] = 1;
    step->reward[row] = 0;
    step->terminated[row] = step->truncated[row] = 0;
    step->failed[row] = 1;
    step->failed_count++;
}

static void end_row(corral_env_batch *batch, corral_env_batch_step *step, uint32_t row)
{
    batch->mask[row] = 1;
    const uint32_t k = step->ended_count++;
    step->ended_row[k] = row;
    step->ended[k] = (corral_episode){
        .episode_return = batch->episode_return[row],
        .length = batch->length[row],
        .environment = batch->first_index + row,
        .number = batch->begun[row] - 1,
        .terminated = step->terminated[row],
        .truncated = step->truncated[row],
    };
    if (step->ended_info != NULL && batch->info_count > 0)
        corral_env_batch_info(batch, row, step->ended_info + (size_t)k * batch->info_count);
    if (step->final_observation != NULL)
        corral_rows_copy(&batch->type->spaces, step->observation, row, step->final_observation, k);
}

/// Failed rows first, while `failed` still tells who reported and whose numbers are bad.
static void drop_failed(corral_env_batch *batch, corral_env_batch_step *step)
{
    bool any = false;
    for (uint32_t i = 0; i < batch->count; i++) {
        const bool bad = step->failed[i] || !isfinite(step->reward[i]);
        if (bad && !any) note_step_failure(batch, i, step->reward[i], step->failed[i] != 0);
        any |= bad;
        if (bad) drop_row(batch, step, i);
    }
    if (!corral_rows_mark_not_finite(&batch->type->spaces, step->observation, batch->count, step->failed))
        return;
    for (uint32_t i = 0; i < batch->count; i++) {
        if (!step->failed[i] || batch->mask[i]) continue;
        if (!any) note_step_failure(batch, i, step->reward[i], false);
        any = true;
        drop_row(batch, step, i);
    }
}

static void count_steps(corral_env_batch *batch, corral_env_batch_step *step)
{
    const double *reward = batch->plain != NULL ? batch->plain->reward(batch->rules.batch) : step->reward;
    for (uint32_t i = 0; i < batch->count; i++) {
        if (step->failed[i]) continue;
        batch->episode_return[i] += reward[i];
        batch->length[i]++;
        step->terminated[i] = step->terminated[i] != 0;
        const bool over_time = batch->step_limit != 0 && batch->length[i] >= batch->step_limit;
        step->truncated[i] = step->truncated[i] != 0 || over_time;
        if (step->terminated[i] || step->truncated[i]) end_row(batch, step, i);
    }
}

corral_status corral_env_batch_step_all(corral_env_batch *batch, const corral_env_rows *action,
                                        corral_env_batch_step *step)
{
    if (!batch->started)
        return corral_fail(CORRAL_ERROR_INVALID, "%s: stepped before its first reset", batch->type->id);
    const corral_status status =
        corral_rows_check_actions(&batch->type->spaces, action, batch->count, batch->first_index);
    if (status != CORRAL_OK) return corral_fail_within(status, "%s", batch->type->id);

    batch->failure[0] = '\0';
    step->ended_count = step->failed_count = 0;
    step_rules(batch, action, step);
    drop_failed(batch, step);
    count_steps(batch, step);
    for (uint32_t k = 0; batch->before_reset != NULL && k < step->ended_count; k++)
        batch->before_reset(batch->before_reset_context, batch, step->ended_row[k]);
    return step->ended_count + step->failed_count == 0 ? CORRAL_OK
                                                       : corral_env_batch_begin(batch, step->observation);
}

// --- asking

uint32_t corral_env_info_count(const corral_env_type *type)
{
    const corral_env_info *info = corral_env_extension(type, CORRAL_ENV_INFO);
    return info != NULL ? info->count : 0;
}

void corral_env_batch_info(const corral_env_batch *batch, uint32_t row, double *out_values)
{
    const corral_env_info *info = corral_env_extension(batch->type, CORRAL_ENV_INFO);
    CORRAL_ASSERT(info != NULL);
    uint32_t index;
    const void *handle = corral_env_batch_handle(batch, row, &index);
    for (uint32_t i = 0; i < info->count; i++)
        out_values[i] = NAN;
    info->info(handle, index, out_values);
    for (uint32_t i = 0; i < info->count; i++)
        if (!isfinite(out_values[i])) out_values[i] = NAN;
}

uint32_t corral_env_batch_count(const corral_env_batch *batch)
{
    return batch->count;
}

const corral_env_spaces *corral_env_batch_spaces(const corral_env_batch *batch)
{
    return &batch->type->spaces;
}

const void *corral_env_batch_handle(const corral_env_batch *batch, uint32_t row, uint32_t *out_index)
{
    CORRAL_ASSERT(row < batch->count);
    return corral_rules_handle(&batch->rules, row, out_index);
}
