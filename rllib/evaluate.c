// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "corral/rllib/evaluate.h"

#include "spaces.h"

#include "corral/base/rng.h"
#include "corral/envs/batch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// A share of the episodes, played side by side: environment i plays episode i and is then ignored.
typedef struct share {
    uint32_t first, count;
    corral_status status;
    char error[512];
    char failure[256]; // what the first failed episode said
} share;

typedef struct evaluation {
    const corral_evaluation_request *request;
    const corral_policy *policy;
    environment_spaces spaces;
    share *shares;
    double *episode_return; // [episodes]
    uint32_t *length;       // [episodes]; 0: failed
    uint32_t info_count;    // numbers that an environment says of itself
    double *info;           // [episodes][info_count], at their ends
    char failure[256];      // what the first failed one said
} evaluation;

/// The memory of one share's steps.
typedef struct stage {
    corral_env_batch *batch;
    corral_policy *policy;
    unsigned char *observation;
    corral_env_rows observation_rows[SPACES_LEAVES_MAX];
    float *logits, *noise;
    uint8_t *mask;
    float *remembered; // of the episodes that are played; others may hold anything
    int32_t *action;
    unsigned char *env_action;
    corral_env_rows action_rows[SPACES_LEAVES_MAX];
    size_t noise_width;
    double *reward;
    uint8_t *terminated, *truncated, *failed, *done;
    corral_episode *ended;
    uint32_t *ended_row;
    double *ended_info;
    uint64_t *noise_key;
} stage;

static void stage_finish(stage *s)
{
    corral_env_batch_destroy(s->batch);
    corral_policy_destroy(s->policy);
    void *const memory[] = {s->observation, s->logits, s->noise,      s->action,
                            s->env_action,  s->reward, s->terminated, s->truncated,
                            s->failed,      s->done,   s->ended,      s->ended_row,
                            s->noise_key,   s->mask,   s->remembered, s->ended_info};
    for (size_t i = 0; i < sizeof memory / sizeof memory[0]; i++)
        free(memory[i]);
}

static corral_status stage_init(stage *s, const evaluation *e, uint32_t first, uint32_t count)
{
    const corral_evaluation_request *request = e->request;
    const corral_policy_config *policy = corral_policy_get_config(e->policy);
    const corral_env_batch_config batch = {
        .type = request->type,
        .count = count,
        .first_index = (uint32_t)(request->first_index + first),
        .run_seed = request->seed,
        .role = CORRAL_STREAM_EVALUATION,
        .max_episode_steps = request->max_episode_steps,
        .param_values = request->param_values,
    };
    corral_status status = corral_env_batch_create(&batch, &s->batch);
    if (status == CORRAL_OK) status = corral_policy_clone(e->policy, &s->policy);
    if (status != CORRAL_OK) return status;
    s->observation = calloc(count, e->spaces.observation_bytes);
    s->logits = calloc((size_t)count * policy->action_count, sizeof *s->logits);
    s->noise_width = corral_policy_noise_width(policy);
    s->noise = calloc(count * s->noise_width, sizeof *s->noise);
    s->mask = calloc(count, corral_policy_mask_bytes(policy) + 1);
    s->remembered = calloc(count * corral_policy_memory_size(policy) + 1, sizeof *s->remembered);
    s->action = calloc(count * corral_policy_action_words(policy), sizeof *s->action);
    s->env_action = calloc(count, e->spaces.action_bytes);
    s->reward = calloc(count, sizeof *s->reward);
    s->terminated = calloc(count, 1);
    s->truncated = calloc(count, 1);
    s->failed = calloc(count, 1);
    s->done = calloc(count, 1);
    s->ended = calloc(count, sizeof *s->ended);
    s->ended_row = calloc(count, sizeof *s->ended_row);
    s->ended_info = calloc((size_t)count * e->info_count + 1, sizeof *s->ended_info);
    s->noise_key = calloc(count, sizeof *s->noise_key);
    if (s->observation == NULL || s->logits == NULL || s->noise == NULL || s->mask == NULL ||
        s->remembered == NULL || s->action == NULL || s->env_action == NULL || s->reward == NULL ||
        s->terminated == NULL || s->truncated == NULL || s->failed == NULL || s->done == NULL ||
        s->ended == NULL || s->ended_row == NULL || s->ended_info == NULL || s->noise_key == NULL)
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory to evaluate %u episodes", count);
    environment_observation_rows(&e->spaces, s->observation, e->spaces.observation_bytes,
                                 s->observation_rows);
    environment_action_rows(&e->spaces, s->env_action, e->spaces.action_bytes, s->action_rows);
    for (uint32_t i = 0; i < count; i++)
        s->noise_key[i] = corral_stream_key(request->seed, CORRAL_STREAM_EVALUATION_ACTION,
                                            request->first_index + first + i);
    return CORRAL_OK;
}

static corral_status play_step(stage *s, const evaluation *e, share *sh, uint64_t step, uint32_t *remaining)
{
    const uint32_t first = sh->first, count = sh->count;
    const corral_policy_config *policy = corral_policy_get_config(s->policy);
    for (uint32_t i = 0; e->request->stochastic && i < count; i++)
        corral_policy_draw(policy, s->noise_key[i], step, step == 0, s->noise + i * s->noise_width);
    corral_status status = policy->masked ? corral_env_batch_masks(s->batch, s->mask) : CORRAL_OK;
    if (status != CORRAL_OK) return status;
    const corral_policy_input in = {.rows = count,
                                    .observation = s->observation,
                                    .noise = e->request->stochastic ? s->noise : NULL,
                                    .mask = s->mask,
                                    .memory = s->remembered};
    const corral_policy_output acted = {
        .memory = s->remembered, .action = s->action, .env_action = s->env_action, .logits = s->logits};
    status = corral_policy_act_on(s->policy, &in, &acted);
    if (status != CORRAL_OK) return status;
    corral_env_batch_step out = {.observation = s->observation_rows,
                                 .reward = s->reward,
                                 .terminated = s->terminated,
                                 .truncated = s->truncated,
                                 .ended = s->ended,
                                 .ended_row = s->ended_row,
                                 .ended_info = s->ended_info,
                                 .failed = s->failed};
    status = corral_env_batch_step_all(s->batch, s->action_rows, &out);
    if (status != CORRAL_OK) return status;
    for (uint32_t k = 0; k < out.ended_count; k++) {
        const uint32_t row = s->ended_row[k];
        if (s->done[row]) continue;
        s->done[row] = 1;
        e->episode_return[first + row] = s->ended[k].episode_return;
        e->length[first + row] = s->ended[k].length;
        memcpy(e->info + (size_t)(first + row) * e->info_count, s->ended_info + (size_t)k * e->info_count,
               e->info_count * sizeof *e->info);
        --*remaining;
    }
    if (out.failed_count > 0 && sh->failure[0] == '\0')
        snprintf(sh->failure, sizeof sh->failure, "%s", corral_env_batch_failure(s->batch));
    for (uint32_t i = 0; out.failed_count > 0 && i < count; i++) {
        if (!s->failed[i] || s->done[i]) continue;
        s->done[i] = 1; // counted as failed: its length stays 0
        --*remaining;
    }
    return CORRAL_OK;
}

static corral_status play(const evaluation *e, share *sh)
{
    stage s = {0};
    corral_status status = stage_init(&s, e, sh->first, sh->count);
    if (status == CORRAL_OK) status = corral_env_batch_reset(s.batch, s.observation_rows);
    uint32_t remaining = sh->count;
    for (uint64_t step = 0; status == CORRAL_OK && remaining > 0; step++)
        status = play_step(&s, e, sh, step, &remaining);
    stage_finish(&s);
    return status;
}

static void play_share(void *context, size_t index, unsigned thread)
{
    (void)thread;
    const evaluation *e = context;
    share *sh = &e->shares[index];
    sh->status = play(e, sh);
    if (sh->status != CORRAL_OK) snprintf(sh->error, sizeof sh->error, "%s", corral_last_error());
}

static corral_status play_all(evaluation *e)
{
    const uint32_t episodes = e->request->episodes;
    const unsigned threads = e->request->team != NULL ? corral_team_size(e->request->team) : 1;
    const uint32_t count = threads < episodes ? threads : episodes;
    share shares[64] = {{0}};
    const uint32_t parts = count < 64 ? count : 64;
    e->shares = shares;
    for (uint32_t i = 0; i < parts; i++) {
        shares[i].first = (uint32_t)((uint64_t)episodes * i / parts);
        shares[i].count = (uint32_t)((uint64_t)episodes * (i + 1) / parts) - shares[i].first;
    }
    if (e->request->team != NULL)
        corral_team_run(e->request->team, parts, play_share, e);
    else
        play_share(e, 0, 0);
    for (uint32_t i = 0; i < parts; i++) {
        if (e->failure[0] == '\0') memcpy(e->failure, shares[i].failure, sizeof e->failure);
        if (shares[i].status != CORRAL_OK) return corral_fail(shares[i].status, "%s", shares[i].error);
    }
    return CORRAL_OK;
}

/// The mean of one number over the episodes that said it.
static double mean_info(const evaluation *e, uint32_t number)
{
    double sum = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < e->request->episodes; i++) {
        const double value = e->info[(size_t)i * e->info_count + number];
        if (e->length[i] == 0 || isnan(value)) continue;
        sum += value;
        count++;
    }
    return count > 0 ? sum / count : NAN;
}

static void summarise(const evaluation *e, corral_evaluation_result *out)
{
    *out = (corral_evaluation_result){.min_return = INFINITY, .max_return = -INFINITY};
    memcpy(out->failure, e->failure, sizeof out->failure);
    double sum = 0, lengths = 0;
    for (uint32_t i = 0; i < e->request->episodes; i++) {
        if (e->length[i] == 0) {
            out->failures++;
            continue;
        }
        out->episodes++;
        sum += e->episode_return[i];
        lengths += e->length[i];
        out->min_return = fmin(out->min_return, e->episode_return[i]);
        out->max_return = fmax(out->max_return, e->episode_return[i]);
    }
    if (out->episodes == 0) return;
    out->mean_return = sum / out->episodes;
    out->mean_length = lengths / out->episodes;
    double m2 = 0;
    for (uint32_t i = 0; i < e->request->episodes; i++)
        if (e->length[i] > 0)
            m2 += (e->episode_return[i] - out->mean_return) * (e->episode_return[i] - out->mean_return);
    out->std_return = sqrt(m2 / out->episodes);
    for (uint32_t k = 0; k < e->info_count; k++)
        out->info[k] = mean_info(e, k);
}

corral_status corral_evaluate(const corral_evaluation_request *request, const corral_policy *policy,
                              corral_evaluation_result *out_result)
{
    if (request->episodes == 0) return corral_fail(CORRAL_ERROR_INVALID, "episodes: 0 is below 1");
    evaluation e = {.request = request, .policy = policy};
    corral_status status = environment_spaces_init(&e.spaces, request->type);
    if (status == CORRAL_OK)
        status = environment_spaces_fit(&e.spaces, request->type->id, corral_policy_get_config(policy));
    if (status != CORRAL_OK) return status;
    e.episode_return = calloc(request->episodes, sizeof *e.episode_return);
    e.length = calloc(request->episodes, sizeof *e.length);
    e.info_count = corral_env_info_count(request->type);
    e.info = calloc((size_t)request->episodes * e.info_count + 1, sizeof *e.info);
    if (e.episode_return == NULL || e.length == NULL || e.info == NULL)
        status = corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory to evaluate %u episodes", request->episodes);
    if (status == CORRAL_OK) status = play_all(&e);
    if (status == CORRAL_OK) summarise(&e, out_result);
    free(e.episode_return);
    free(e.length);
    free(e.info);
    return status;
}
