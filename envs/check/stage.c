// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "stage.h"

#include "../batch_rows.h"

#include "corral/base/rng.h"
#include "corral/envs/registry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// What a call has to write is filled with this before: a float of it is no number, an int32 is -1.
enum { POISON = 0xff };

// --- life

static bool allocate_leaves(const corral_space *leaves, uint32_t leaf_count, uint32_t count, guarded *rows,
                            guarded *before, corral_env_rows *out_rows)
{
    bool all = true;
    for (uint32_t k = 0; k < leaf_count; k++) {
        all &= corral_guarded_create(&rows[k], count, corral_space_bytes(&leaves[k]));
        all &= corral_guarded_create(&before[k], count, corral_space_bytes(&leaves[k]));
        out_rows[k] = (corral_env_rows){rows[k].data, rows[k].stride};
    }
    return all;
}

static bool allocate(stage *s)
{
    const corral_env_spaces *spaces = &s->type->spaces;
    bool all = allocate_leaves(spaces->observation, spaces->observation_count, s->count, s->observation,
                               s->observation_before, s->observation_rows);
    all &= allocate_leaves(spaces->action, spaces->action_count, s->count, s->action, s->action_before,
                           s->action_rows);
    all &= corral_guarded_create(&s->reward, 1, s->count * sizeof(double));
    all &= corral_guarded_create(&s->terminated, 1, s->count);
    all &= corral_guarded_create(&s->truncated, 1, s->count);
    all &= corral_guarded_create(&s->failed, 1, s->count);
    s->episode = calloc(s->count, sizeof *s->episode);
    s->seed = calloc(s->count, sizeof *s->seed);
    s->length = calloc(s->count, sizeof *s->length);
    s->mask = calloc(s->count, 1);
    return all && s->episode != NULL && s->seed != NULL && s->length != NULL && s->mask != NULL;
}

static bool create_rules(stage *s)
{
    const corral_env_host *host = corral_env_host_default();
    corral_env_host_take_error();
    corral_exam_enter(s->exam, "create", 0, 0);
    const int32_t result = corral_rules_create(&s->rules, s->type, host, s->count, s->exam->values);
    if (result == 0) return true;
    if (result == CORRAL_RULES_NOTHING)
        return corral_exam_fail(s->exam, "create returned 0 but made no batch");
    return corral_exam_fail(s->exam, "a batch of %u cannot be created: %s", s->count,
                            corral_exam_said("it gave no reason"));
}

bool corral_stage_open(stage *s, corral_exam *exam, uint32_t first, uint32_t count)
{
    *s = (stage){.exam = exam, .type = exam->type, .count = count, .first = first};
    bool ok = allocate(s) || corral_exam_fail(exam, "no memory for the examination");
    ok = ok && create_rules(s);
    if (!ok) corral_stage_close(s);
    return ok;
}

void corral_stage_close(stage *s)
{
    corral_exam_enter(s->exam, "destroy", 0, 0);
    corral_rules_destroy(&s->rules);
    for (uint32_t k = 0; k < STAGE_LEAVES; k++) {
        corral_guarded_destroy(&s->observation[k]);
        corral_guarded_destroy(&s->observation_before[k]);
        corral_guarded_destroy(&s->action[k]);
        corral_guarded_destroy(&s->action_before[k]);
    }
    corral_guarded_destroy(&s->reward);
    corral_guarded_destroy(&s->terminated);
    corral_guarded_destroy(&s->truncated);
    corral_guarded_destroy(&s->failed);
    free(s->episode);
    free(s->seed);
    free(s->length);
    free(s->mask);
    *s = (stage){0};
}

void *corral_stage_handle(const stage *s, uint32_t environment, uint32_t *out_index)
{
    return corral_rules_handle(&s->rules, environment, out_index);
}

// --- watching

static void poison_observation(stage *s, uint32_t environment)
{
    for (uint32_t k = 0; k < s->type->spaces.observation_count; k++)
        memset(guarded_row(&s->observation[k], environment), POISON, s->observation[k].width);
}

/// After a call: who failed, and what is watched.
static bool judge(stage *s, int32_t result, const char *call, bool reset)
{
    if (result != 0)
        return STAGE_FAIL(s, 0, "%s failed for the whole batch: %s", call,
                          corral_exam_said("it gave no reason"));
    for (uint32_t i = 0; i < s->count; i++)
        if (stage_failed(s)[i] && (!reset || s->mask[i]))
            return STAGE_FAIL(s, i, "%s failed: %s", call, corral_exam_said("it gave no reason"));
    if ((s->watch & STAGE_WATCH_MEMORY) && !corral_stage_inspect_memory(s, reset)) return false;
    if ((s->watch & STAGE_WATCH_VALUES) && !corral_stage_inspect_values(s, reset)) return false;
    return true;
}

// --- episodes

bool corral_stage_begin(stage *s)
{
    uint32_t begun = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        if (!s->mask[i]) continue;
        s->seed[i] = corral_stream_u64(
            corral_stream_key(s->exam->config->seed, CORRAL_STREAM_ENVIRONMENT, s->first + i), s->episode[i]);
        s->episode[i]++;
        s->length[i] = 0;
        poison_observation(s, i);
        begun++;
    }
    if (begun == 0) return true;

    memset(stage_failed(s), 0, s->count);
    if (s->watch & STAGE_WATCH_MEMORY) corral_stage_remember(s);
    const corral_env_step out = {
        .size = sizeof out, .observation = s->observation_rows, .failed = stage_failed(s)};
    corral_env_host_take_error();
    corral_exam_enter(s->exam, "reset", s->seed[0], 0);
    const int32_t result = corral_rules_reset(&s->rules, s->mask, s->seed, &out);
    const bool ok = judge(s, result, "reset", true);
    memset(s->mask, 0, s->count);
    return ok;
}

bool corral_stage_begin_all(stage *s, uint64_t episode)
{
    for (uint32_t i = 0; i < s->count; i++) {
        s->episode[i] = episode;
        s->mask[i] = 1;
    }
    return corral_stage_begin(s);
}

// --- actions

static double bounded(const corral_space *leaf, size_t index, double u)
{
    double low, high;
    corral_rows_bounds(leaf, index, &low, &high);
    if (leaf->dtype == CORRAL_SPACE_I32 || leaf->dtype == CORRAL_SPACE_U8)
        return fmin(low + floor(u * (high - low + 1)), high);
    if (isinf(low)) low = isinf(high) ? -1 : high - 2;
    if (isinf(high)) high = low + 2;
    return low * (1 - u) + high * u; // the difference of two bounds may be too large for a number
}

static void put(const corral_space *leaf, void *row, size_t index, double value)
{
    double low, high;
    corral_rows_bounds(leaf, index, &low, &high);
    if (leaf->dtype == CORRAL_SPACE_F32)
        ((float *)row)[index] = (float)fmin(fmax(value, low), high);
    else if (leaf->dtype == CORRAL_SPACE_F64)
        ((double *)row)[index] = fmin(fmax(value, low), high);
    else if (leaf->dtype == CORRAL_SPACE_U8)
        ((uint8_t *)row)[index] = (uint8_t)value;
    else
        ((int32_t *)row)[index] = (int32_t)value;
}

static void draw_actions(stage *s)
{
    for (uint32_t i = 0; i < s->count; i++) {
        const uint64_t key = corral_stream_key(s->seed[i], CORRAL_STREAM_ACTION, s->length[i]);
        uint64_t counter = 0;
        for (uint32_t k = 0; k < s->type->spaces.action_count; k++) {
            const corral_space *leaf = &s->type->spaces.action[k];
            const size_t elements = corral_space_count(leaf);
            for (size_t e = 0; e < elements; e++)
                put(leaf, guarded_row(&s->action[k], i), e,
                    bounded(leaf, e, corral_stream_double(key, counter++)));
        }
    }
}

// --- a step

static bool step_rules(stage *s)
{
    for (uint32_t i = 0; i < s->count; i++)
        poison_observation(s, i);
    memset(stage_reward(s), POISON, s->count * sizeof(double));
    memset(stage_terminated(s), POISON, s->count);
    memset(stage_truncated(s), 0, s->count);
    memset(stage_failed(s), 0, s->count);
    if (s->watch & STAGE_WATCH_MEMORY) corral_stage_remember(s);
    const corral_env_step io = {
        .size = sizeof io,
        .action = s->action_rows,
        .observation = s->observation_rows,
        .reward = stage_reward(s),
        .terminated = stage_terminated(s),
        .truncated = stage_truncated(s),
        .failed = stage_failed(s),
    };
    corral_env_host_take_error();
    corral_exam_enter(s->exam, "step", s->seed[0], s->length[0] + 1);
    const int32_t result = corral_rules_step(&s->rules, &io);
    for (uint32_t i = 0; i < s->count; i++)
        s->length[i]++;
    return judge(s, result, "step", false);
}

bool corral_stage_step(stage *s, stage_seen *seen, void *context)
{
    draw_actions(s);
    if (!step_rules(s)) return false;
    const uint32_t limit = s->type->max_episode_steps;
    uint32_t ended[EXAM_ENVIRONMENTS], ended_count = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        if (seen != NULL) seen(context, s, i, false);
        const bool over = stage_terminated(s)[i] || stage_truncated(s)[i];
        if (!over && (limit == 0 || s->length[i] < limit)) continue;
        s->mask[i] = 1;
        ended[ended_count++] = i;
    }
    if (!corral_stage_begin(s)) return false;
    for (uint32_t k = 0; k < ended_count && seen != NULL; k++)
        seen(context, s, ended[k], true);
    return true;
}
