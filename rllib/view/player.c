// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The batch of one environment always stands at the cursor, apart from one case: a step that ends an episode
// has begun the next one inside the batch already. The last moment is saved and drawn just before, and what
// the batch stands at afterwards is never used: the next episode comes from a batch of its own, with the
// number that evaluation gives it.

#include "player.h"

#include "spaces.h"

#include "corral/core/distributions.h"
#include "corral/envs/registry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HISTORY_MAX = 1 << 16 };
static const size_t history_bytes = (size_t)256 << 20;

typedef struct leaf_memory {
    corral_env_rows *rows; // [leaf count]
    uint32_t count;
    char *bytes;
    size_t size;
} leaf_memory;

struct player {
    player_config config;
    double *values;
    environment_spaces spaces; // filled where there is a policy
    corral_env_batch *batch;
    bool exact; // states are whole
    leaf_memory observation, final_observation, action;
    size_t state_size;
    moment *moments; // [limit]
    char *saved;     // [limit, state_size + observation.size + memory_bytes]
    uint32_t count, limit, cursor;
    char *ending; // [state_size] of the last moment of an episode, saved inside the step
    corral_status ending_status;
    scene scene;
    float *logits, *shares; // [action count] of the policy
    float *noise;
    uint8_t *mask;
    size_t memory_bytes;       // of a recurrent policy, per moment
    float *remembered, *after; // before the cursor's observation, and after it
    int32_t *words;            // of the action that the policy would take now
    int32_t choice;            // the same where it is one plain choice, else -1
    float value;
};

// --- memory -----------------------------------------------------------------------------------------------

/// `offset` NULL: each leaf begins at a multiple of 16 bytes.
static corral_status leaves_init(leaf_memory *m, const corral_space *leaves, uint32_t count,
                                 const uint32_t *offset)
{
    m->rows = calloc(count + 1, sizeof *m->rows);
    m->count = count;
    for (uint32_t i = 0; i < count; i++)
        m->size += (corral_space_bytes(&leaves[i]) + 15) / 16 * 16;
    m->bytes = calloc(1, m->size + 16);
    if (m->rows == NULL || m->bytes == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory to play");
    size_t end = 0;
    for (uint32_t i = 0; i < count; i++) {
        m->rows[i] =
            (corral_env_rows){m->bytes + (offset != NULL ? offset[i] : end), corral_space_bytes(&leaves[i])};
        end += (corral_space_bytes(&leaves[i]) + 15) / 16 * 16;
    }
    return CORRAL_OK;
}

static void leaves_finish(leaf_memory *m)
{
    free(m->rows);
    free(m->bytes);
}

static size_t saved_bytes(const player *p)
{
    return p->state_size + p->observation.size + p->memory_bytes;
}

static char *saved_at(const player *p, uint32_t index)
{
    return p->saved + index * saved_bytes(p);
}

/// Room for one more moment: twice as many, or the oldest half makes way.
static corral_status make_room(player *p)
{
    if (p->count < p->limit) return CORRAL_OK;
    const bool full = p->limit >= HISTORY_MAX || p->limit * 2 * saved_bytes(p) > history_bytes;
    if (full && p->limit >= 4) {
        const uint32_t gone = p->count / 2;
        memmove(p->moments, p->moments + gone, (p->count - gone) * sizeof *p->moments);
        memmove(p->saved, saved_at(p, gone), (p->count - gone) * saved_bytes(p));
        p->count -= gone;
        p->cursor -= gone;
        return CORRAL_OK;
    }
    const uint32_t limit = p->limit == 0 ? 64 : p->limit * 2;
    moment *moments = realloc(p->moments, limit * sizeof *moments);
    if (moments != NULL) p->moments = moments;
    char *saved = realloc(p->saved, limit * saved_bytes(p));
    if (saved != NULL) p->saved = saved;
    if (moments == NULL || saved == NULL)
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for the history");
    p->limit = limit;
    return CORRAL_OK;
}

// --- moments ----------------------------------------------------------------------------------------------

static void draw_from(player *p, const corral_env_batch *batch, uint32_t row)
{
    uint32_t index;
    const void *handle = corral_env_batch_handle(batch, row, &index);
    p->ending_status = scene_capture(&p->scene, p->config.type, handle, index);
}

static void before_reset(void *context, const corral_env_batch *batch, uint32_t row)
{
    player *p = context;
    corral_env_batch_save(batch, row, p->ending);
    draw_from(p, batch, row);
}

static float noise(const player *p, uint32_t salt)
{
    const moment *m = &p->moments[p->cursor];
    const uint64_t key = corral_stream_key(p->config.seed, CORRAL_STREAM_EVALUATION_ACTION, m->episode);
    return corral_stream_float(key, m->step + (uint64_t)salt * UINT32_MAX);
}

static void soften(const float *logits, uint32_t count, float *out)
{
    float highest = -INFINITY, sum = 0;
    for (uint32_t i = 0; i < count; i++)
        highest = fmaxf(highest, logits[i]);
    for (uint32_t i = 0; i < count; i++)
        sum += out[i] = expf(logits[i] - highest);
    for (uint32_t i = 0; i < count; i++)
        out[i] /= sum;
}

/// From the worst action, which keeps a stub, to the best one.
static void compare(const float *worth, uint32_t count, float *out)
{
    float low = INFINITY, high = -INFINITY;
    for (uint32_t i = 0; i < count; i++) {
        low = fminf(low, worth[i]);
        high = fmaxf(high, worth[i]);
    }
    for (uint32_t i = 0; i < count; i++)
        out[i] = high > low ? 0.12f + 0.88f * (worth[i] - low) / (high - low) : 1;
}

static bool is_q(const player *p)
{
    return corral_policy_get_config(p->config.policy)->kind == CORRAL_POLICY_Q;
}

/// What the policy says about the cursor's moment.
static corral_status consult(player *p)
{
    p->choice = -1;
    if (p->config.policy == NULL) return CORRAL_OK;
    const corral_policy_config *policy = corral_policy_get_config(p->config.policy);
    const moment *m = &p->moments[p->cursor];
    const uint64_t key = corral_stream_key(p->config.seed, CORRAL_STREAM_EVALUATION_ACTION, m->episode);
    if (p->config.stochastic) corral_policy_draw(policy, key, m->step, true, p->noise);
    // After an end the batch has begun another episode: its masks are not of this moment.
    const bool masked = policy->masked && !m->ended;
    corral_status status = masked ? corral_env_batch_masks(p->batch, p->mask) : CORRAL_OK;
    if (status != CORRAL_OK) return status;
    const corral_policy_input in = {.rows = 1,
                                    .observation = p->observation.bytes,
                                    .noise = p->config.stochastic ? p->noise : NULL,
                                    .mask = masked ? p->mask : NULL,
                                    .memory = p->remembered};
    status = corral_policy_act_on(
        p->config.policy, &in,
        &(corral_policy_output){
            .memory = p->after, .action = p->words, .logits = p->logits, .value = &p->value});
    if (status != CORRAL_OK) return status;
    const uint32_t count = player_action_count(p);
    if (count > 0) p->choice = p->words[0];
    if (masked && count > 0) corral_mask_logits_forward(count, p->logits, p->mask, p->logits);
    if (count > 0) (is_q(p) ? compare : soften)(p->logits, count, p->shares);
    p->moments[p->cursor].value = p->value;
    return CORRAL_OK;
}

/// Appends what the player stands at now. `state` NULL: the batch has it.
static corral_status append(player *p, moment m, const char *state)
{
    corral_status status = make_room(p);
    if (status != CORRAL_OK) return status;
    if (!p->exact) p->count = 0; // the newest only
    p->cursor = p->count++;
    p->moments[p->cursor] = m;
    if (state != NULL)
        memcpy(saved_at(p, p->cursor), state, p->state_size);
    else
        corral_env_batch_save(p->batch, 0, saved_at(p, p->cursor));
    memcpy(saved_at(p, p->cursor) + p->state_size, p->observation.bytes, p->observation.size);
    // What was remembered before the first moment of an episode is nothing.
    if (m.step == 0)
        memset(p->remembered, 0, p->memory_bytes);
    else
        memcpy(p->remembered, p->after, p->memory_bytes);
    memcpy(saved_at(p, p->cursor) + p->state_size + p->observation.size, p->remembered, p->memory_bytes);
    return consult(p);
}

/// Goes to a moment that was played before.
static corral_status visit(player *p, uint32_t index)
{
    p->cursor = index;
    memcpy(p->observation.bytes, saved_at(p, index) + p->state_size, p->observation.size);
    memcpy(p->remembered, saved_at(p, index) + p->state_size + p->observation.size, p->memory_bytes);
    corral_status status =
        corral_env_batch_load(p->batch, saved_at(p, index), p->state_size, p->observation.rows);
    if (status != CORRAL_OK) return status;
    draw_from(p, p->batch, 0);
    return p->ending_status == CORRAL_OK ? consult(p) : p->ending_status;
}

// --- playing ----------------------------------------------------------------------------------------------

corral_status player_begin(player *p, uint32_t episode)
{
    corral_env_batch_destroy(p->batch);
    p->batch = NULL;
    const corral_env_batch_config config = {
        .type = p->config.type,
        .count = 1,
        .first_index = episode,
        .run_seed = p->config.seed,
        .role = CORRAL_STREAM_EVALUATION,
        .max_episode_steps = p->config.max_episode_steps,
        .param_values = p->values,
        .before_reset = before_reset,
        .before_reset_context = p,
    };
    corral_status status = corral_env_batch_create(&config, &p->batch);
    if (status == CORRAL_OK) status = corral_env_batch_reset(p->batch, p->observation.rows);
    if (status != CORRAL_OK) return status;
    draw_from(p, p->batch, 0);
    if (p->ending_status != CORRAL_OK) return p->ending_status;
    if (p->state_size == 0) {
        p->exact = corral_env_batch_state_exact(p->batch);
        p->state_size = corral_env_batch_state_size(p->batch);
        p->ending = calloc(1, p->state_size);
        if (p->ending == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory to play");
    }
    return append(p, (moment){.episode = episode, .action = -1}, NULL);
}

corral_status player_seed(player *p, uint64_t seed)
{
    p->config.seed = seed;
    p->count = 0;
    return player_begin(p, 0);
}

static void step_of(player *p, corral_env_batch_step *out, double *reward, uint8_t *flags,
                    corral_episode *ended, uint32_t *ended_row, double *ended_info)
{
    *out = (corral_env_batch_step){.observation = p->observation.rows,
                                   .final_observation = p->final_observation.rows,
                                   .reward = reward,
                                   .terminated = &flags[0],
                                   .truncated = &flags[1],
                                   .failed = &flags[2],
                                   .ended = ended,
                                   .ended_row = ended_row,
                                   .ended_info = ended_info};
}

/// One step with the action that lies ready; what was played after the cursor is forgotten.
static corral_status step(player *p, int32_t action)
{
    double reward;
    uint8_t flags[3];
    corral_episode ended;
    uint32_t ended_row;
    corral_env_batch_step out;
    double info[CORRAL_ENV_INFO_MOST];
    step_of(p, &out, &reward, flags, &ended, &ended_row, info);
    const moment before = p->moments[p->cursor];
    p->count = p->cursor + 1;
    corral_status status = corral_env_batch_step_all(p->batch, p->action.rows, &out);
    if (status != CORRAL_OK) return status;
    if (out.failed_count > 0)
        return corral_fail(CORRAL_ERROR_ENVIRONMENT, "%s", corral_env_batch_failure(p->batch));
    const bool over = out.ended_count > 0;
    if (over)
        memcpy(p->observation.bytes, p->final_observation.bytes, p->observation.size);
    else
        draw_from(p, p->batch, 0);
    if (p->ending_status != CORRAL_OK) return p->ending_status;
    if (!over && corral_env_info_count(p->config.type) > 0) corral_env_batch_info(p->batch, 0, info);
    moment after = {.episode = before.episode,
                    .step = before.step + 1,
                    .ended = over,
                    .terminated = flags[0],
                    .truncated = flags[1],
                    .reward = reward,
                    .episode_return = before.episode_return + reward,
                    .action = action};
    memcpy(after.info, info, corral_env_info_count(p->config.type) * sizeof *info);
    return append(p, after, over ? p->ending : NULL);
}

static void fill_box(const corral_space *leaf, void *row, size_t i, double share)
{
    double low = leaf->low_each != NULL ? leaf->low_each[i] : leaf->low;
    double high = leaf->high_each != NULL ? leaf->high_each[i] : leaf->high;
    low = fmax(low, -1e6);
    high = fmin(high, 1e6);
    const double value = low + (high - low) * share;
    switch (leaf->dtype) {
    case CORRAL_SPACE_F32:
        ((float *)row)[i] = fminf(fmaxf((float)value, (float)low), (float)high);
        break;
    case CORRAL_SPACE_F64:
        ((double *)row)[i] = value;
        break;
    case CORRAL_SPACE_U8:
        ((uint8_t *)row)[i] = (uint8_t)value;
        break;
    default:
        ((int32_t *)row)[i] = (int32_t)value;
        break;
    }
}

/// Sets one element of an action; `share` 0..1 of what it may be.
static void fill_element(const corral_space *leaf, void *row, size_t i, double share)
{
    share = fmin(fmax(share, 0), 1);
    const double below_one = fmin(share, 0x1.fffffep-1);
    switch (leaf->kind) {
    case CORRAL_SPACE_DISCRETE:
        ((int32_t *)row)[0] = (int32_t)(leaf->start + (int64_t)(below_one * (double)leaf->n));
        break;
    case CORRAL_SPACE_MULTI_DISCRETE:
        ((int32_t *)row)[i] = (int32_t)(below_one * (double)leaf->nvec[i]);
        break;
    case CORRAL_SPACE_MULTI_BINARY:
        ((uint8_t *)row)[i] = share >= 0.5;
        break;
    default:
        fill_box(leaf, row, i, share);
        break;
    }
}

/// `share` < 0 draws every element.
static void fill_action(player *p, double share)
{
    const corral_env_spaces *spaces = &p->config.type->spaces;
    uint32_t salt = 1;
    for (uint32_t k = 0; k < spaces->action_count; k++)
        for (size_t i = 0; i < corral_space_count(&spaces->action[k]); i++)
            fill_element(&spaces->action[k], p->action.rows[k].data, i, share < 0 ? noise(p, salt++) : share);
}

static int32_t single_action(const player *p)
{
    return player_action_count(p) == 0
               ? -1
               : (int32_t)(*(const int32_t *)p->action.rows[0].data - p->config.type->spaces.action[0].start);
}

static corral_status step_by_itself(player *p)
{
    if (p->config.policy == NULL)
        fill_action(p, -1);
    else
        corral_policy_env_action(corral_policy_get_config(p->config.policy), p->words, p->action.bytes);
    return step(p, single_action(p));
}

corral_status player_forward(player *p)
{
    if (p->cursor + 1 < p->count) return visit(p, p->cursor + 1);
    const moment *m = player_moment(p);
    return m->ended ? player_begin(p, m->episode + 1) : step_by_itself(p);
}

corral_status player_back(player *p, bool *out_moved)
{
    *out_moved = player_can_go_back(p);
    return *out_moved ? visit(p, p->cursor - 1) : CORRAL_OK;
}

const corral_env_keys *player_keys(const player *p)
{
    return corral_env_extension(p->config.type, CORRAL_ENV_KEYS);
}

corral_status player_act(player *p, const person *who)
{
    if (player_moment(p)->ended) return player_begin(p, player_moment(p)->episode + 1);
    const uint32_t actions = player_action_count(p);
    const corral_env_keys *keys = player_keys(p);
    uint32_t index;
    const void *handle = corral_env_batch_handle(p->batch, 0, &index);
    if (keys != NULL)
        keys->action(handle, index, who->keys, p->action.rows);
    else
        fill_action(p, actions > 0 ? (who->choice + 0.5) / actions : (who->choice + 1) / 2);
    return step(p, single_action(p));
}

// --- asking -----------------------------------------------------------------------------------------------

const moment *player_moment(const player *p)
{
    return &p->moments[p->cursor];
}

uint32_t player_past(const player *p, uint32_t limit, const moment **out_moments)
{
    uint32_t first = p->cursor;
    while (first > 0 && p->cursor - first + 1 < limit && p->moments[first].step > 0)
        first--;
    *out_moments = &p->moments[first];
    return p->cursor - first + 1;
}

const moment *player_next(const player *p)
{
    return p->cursor + 1 < p->count ? &p->moments[p->cursor + 1] : NULL;
}

bool player_can_go_back(const player *p)
{
    return p->cursor > 0;
}

const scene *player_scene(const player *p)
{
    return &p->scene;
}

static float number_at(const corral_space *leaf, const void *row, size_t i)
{
    switch (leaf->dtype) {
    case CORRAL_SPACE_F32:
        return ((const float *)row)[i];
    case CORRAL_SPACE_F64:
        return (float)((const double *)row)[i];
    case CORRAL_SPACE_U8:
        return (float)((const uint8_t *)row)[i];
    default:
        return (float)((const int32_t *)row)[i];
    }
}

uint32_t player_observation(const player *p, float *out_values, uint32_t limit)
{
    const corral_space *leaf = &p->config.type->spaces.observation[0];
    const size_t count = corral_space_count(leaf);
    for (size_t i = 0; i < count && i < limit; i++)
        out_values[i] = number_at(leaf, p->observation.rows[0].data, i);
    return (uint32_t)count;
}

opinion player_opinion(const player *p)
{
    if (p->config.policy == NULL) return (opinion){0};
    const bool worths = is_q(p);
    return (opinion){player_action_count(p), p->shares, worths ? p->logits : p->shares, worths};
}

int32_t player_choice(const player *p)
{
    return p->choice;
}

uint32_t player_action_count(const player *p)
{
    const corral_env_spaces *spaces = &p->config.type->spaces;
    return spaces->action_count == 1 && spaces->action[0].kind == CORRAL_SPACE_DISCRETE
               ? (uint32_t)spaces->action[0].n
               : 0;
}

const player_config *player_get_config(const player *p)
{
    return &p->config;
}

double player_fps(const player *p)
{
    const double fps = p->config.type->render_fps;
    return fps >= 0.1 && fps <= 1000 ? fps : 30;
}

// --- beginning and end ------------------------------------------------------------------------------------

static corral_status allocate(player *p)
{
    const corral_env_type *type = p->config.type;
    const corral_env_spaces *spaces = &type->spaces;
    if (p->config.param_values != NULL) {
        p->values = calloc(type->param_count + 1, sizeof *p->values);
        if (p->values != NULL)
            memcpy(p->values, p->config.param_values, type->param_count * sizeof *p->values);
    }
    p->config.param_values = p->values;
    if (p->config.policy != NULL)
        p->memory_bytes =
            corral_policy_memory_size(corral_policy_get_config(p->config.policy)) * sizeof(float);
    p->remembered = calloc(1, p->memory_bytes + 1);
    p->after = calloc(1, p->memory_bytes + 1);
    if (p->remembered == NULL || p->after == NULL)
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory to play");
    if (p->config.policy != NULL) {
        const corral_policy_config *policy = corral_policy_get_config(p->config.policy);
        p->logits = calloc(policy->action_count, sizeof *p->logits);
        p->shares = calloc(policy->action_count, sizeof *p->shares);
        p->noise = calloc(corral_policy_noise_width(policy), sizeof *p->noise);
        p->mask = calloc(corral_policy_mask_bytes(policy) + 1, 1);
        p->words = calloc(corral_policy_action_words(policy), sizeof *p->words);
        if (p->logits == NULL || p->shares == NULL || p->noise == NULL || p->mask == NULL || p->words == NULL)
            return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory to play");
    }
    // A policy takes observations in rows of its own order.
    const uint32_t *offset = p->config.policy != NULL ? p->spaces.observation_offset : NULL;
    const uint32_t *action_offset = p->config.policy != NULL ? p->spaces.action_offset : NULL;
    corral_status status =
        leaves_init(&p->observation, spaces->observation, spaces->observation_count, offset);
    if (status == CORRAL_OK)
        status = leaves_init(&p->final_observation, spaces->observation, spaces->observation_count, offset);
    if (status == CORRAL_OK)
        status = leaves_init(&p->action, spaces->action, spaces->action_count, action_offset);
    return status;
}

corral_status player_create(const player_config *config, player **out_player)
{
    player *p = calloc(1, sizeof *p);
    if (p == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory to play");
    p->config = *config;
    corral_status status = CORRAL_OK;
    if (config->policy != NULL) {
        status = environment_spaces_init(&p->spaces, config->type);
        if (status == CORRAL_OK)
            status = environment_spaces_fit(&p->spaces, config->type->id,
                                            corral_policy_get_config(config->policy));
    }
    if (status == CORRAL_OK) status = allocate(p);
    if (status == CORRAL_OK) status = player_begin(p, config->first_episode);
    if (status != CORRAL_OK) {
        player_destroy(p);
        return status;
    }
    *out_player = p;
    return CORRAL_OK;
}

void player_destroy(player *p)
{
    if (p == NULL) return;
    corral_env_batch_destroy(p->batch);
    leaves_finish(&p->observation);
    leaves_finish(&p->final_observation);
    leaves_finish(&p->action);
    scene_finish(&p->scene);
    free(p->values);
    free(p->moments);
    free(p->saved);
    free(p->ending);
    free(p->logits);
    free(p->shares);
    free(p->remembered);
    free(p->after);
    free(p->noise);
    free(p->mask);
    free(p->words);
    free(p);
}
