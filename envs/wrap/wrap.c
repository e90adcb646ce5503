// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The rules of a wrapped type: the inner rules with one stage in front.

#include "wrap.h"

#include "corral/envs/registry.h"

#include <stdlib.h>
#include <string.h>

static void *memory_of(const wrapped *b, uint32_t row)
{
    return b->memory + row * b->w->memory;
}

/// The inner batch that plays `row`, and its row there.
static const corral_rules *inner_of(const wrapped *b, uint32_t row, uint32_t *out_row)
{
    *out_row = b->inner_count == 1 ? row : 0;
    return &b->inner[b->inner_count == 1 ? 0 : row];
}

// --- life

static void destroy(void *handle)
{
    wrapped *b = handle;
    const corral_env_spaces *spaces = &b->w->inner->spaces;
    for (uint32_t i = 0; b->inner != NULL && i < b->inner_count; i++)
        corral_rules_destroy(&b->inner[i]);
    for (uint32_t k = 0; b->action != NULL && k < spaces->action_count; k++)
        free(b->action[k].data);
    for (uint32_t k = 0; b->observation != NULL && k < spaces->observation_count; k++)
        free(b->observation[k].data);
    free(b->action);
    free(b->observation);
    free(b->inner);
    free(b->memory);
    free(b->plain_reward);
    free(b);
}

/// Rows for the leaves of an inner space; NULL without memory.
static corral_env_rows *create_rows(const corral_space *leaves, uint32_t leaf_count, uint32_t count)
{
    corral_env_rows *rows = calloc(leaf_count, sizeof *rows);
    bool all = rows != NULL;
    for (uint32_t k = 0; all && k < leaf_count; k++) {
        rows[k].stride = corral_space_bytes(&leaves[k]);
        rows[k].data = calloc(count, rows[k].stride);
        all = rows[k].data != NULL;
    }
    if (all || rows == NULL) return rows;
    for (uint32_t k = 0; k < leaf_count; k++)
        free(rows[k].data);
    free(rows);
    return NULL;
}

static bool allocate(wrapped *b)
{
    const wrapper_kind *kind = b->w->kind;
    const corral_env_spaces *spaces = &b->w->inner->spaces;
    b->inner = calloc(b->inner_count, sizeof *b->inner);
    b->memory = calloc(b->count, b->w->memory + 1);
    b->plain_reward = calloc(b->count, sizeof *b->plain_reward);
    if (kind->act != NULL) b->action = create_rows(spaces->action, spaces->action_count, b->count);
    if (kind->observe != NULL || kind->step != NULL)
        b->observation = create_rows(spaces->observation, spaces->observation_count, b->count);
    return b->inner != NULL && b->memory != NULL && b->plain_reward != NULL &&
           (b->action != NULL) == (kind->act != NULL) &&
           (b->observation != NULL) == (kind->observe != NULL || kind->step != NULL);
}

static int32_t create(const corral_env_type *type, const corral_env_host *host, uint32_t count,
                      const double *values, void **out_batch)
{
    wrapped *b = calloc(1, sizeof *b);
    if (b == NULL) return 1;
    b->w = type->context;
    b->count = count;
    b->inner_count = b->w->kind->step != NULL ? count : 1;
    int32_t result = allocate(b) ? 0 : 1;
    if (result != 0) host->error("no memory for its wrapper");
    for (uint32_t i = 0; i < b->inner_count && result == 0; i++)
        result = corral_rules_create(&b->inner[i], b->w->inner, host, count / b->inner_count, values);
    if (result != 0) {
        destroy(b);
        return result;
    }
    *out_batch = b;
    return 0;
}

// --- playing

static void act(wrapped *b, const corral_env_rows *outer)
{
    const wrapper *w = b->w;
    for (uint32_t k = 0; k < w->type.spaces.action_count; k++)
        for (uint32_t i = 0; i < b->count; i++) {
            const void *from = (const char *)outer[k].data + i * outer[k].stride;
            void *to = (char *)b->action[k].data + i * b->action[k].stride;
            if (w->changed[k])
                w->kind->act(w, k, from, to);
            else
                memcpy(to, from, b->action[k].stride);
        }
}

static void observe_row(const wrapped *b, uint32_t row, bool first, const corral_env_rows *out)
{
    const void *inner[WRAP_LEAVES];
    void *outer[WRAP_LEAVES];
    for (uint32_t k = 0; k < b->w->inner->spaces.observation_count; k++)
        inner[k] = (const char *)b->observation[k].data + row * b->observation[k].stride;
    for (uint32_t k = 0; k < b->w->type.spaces.observation_count; k++)
        outer[k] = (char *)out[k].data + row * out[k].stride;
    b->w->kind->observe(b->w, memory_of(b, row), first, inner, outer);
}

/// Rules that step one environment each: the reset of row i is that of inner batch i.
static int32_t reset_each(const wrapped *b, const uint8_t *mask, const uint64_t *seed,
                          const corral_env_step *out)
{
    const uint32_t leaves = b->w->inner->spaces.observation_count;
    for (uint32_t i = 0; i < b->count; i++) {
        if (mask != NULL && !mask[i]) continue;
        corral_env_rows rows[WRAP_LEAVES];
        for (uint32_t k = 0; k < leaves; k++)
            rows[k] = (corral_env_rows){(char *)out->observation[k].data + i * out->observation[k].stride,
                                        out->observation[k].stride};
        const corral_env_step one = {.size = sizeof one, .observation = rows, .failed = &out->failed[i]};
        if (corral_rules_reset(&b->inner[i], NULL, &seed[i], &one) != 0) out->failed[i] = 1;
    }
    return 0;
}

static int32_t reset(void *handle, const uint8_t *mask, const uint64_t *seed, const corral_env_step *out)
{
    wrapped *b = handle;
    if (b->w->kind->step != NULL) return reset_each(b, mask, seed, out);
    corral_env_step inner = *out;
    if (b->observation != NULL) inner.observation = b->observation;
    const int32_t result = corral_rules_reset(&b->inner[0], mask, seed, &inner);
    if (result != 0 || b->observation == NULL) return result;
    for (uint32_t i = 0; i < b->count; i++)
        if ((mask == NULL || mask[i]) && !out->failed[i]) observe_row(b, i, true, out->observation);
    return 0;
}

static const double *inner_plain_reward(const wrapped *b, uint32_t inner)
{
    const corral_env_plain_reward *plain = corral_env_extension(b->w->inner, CORRAL_ENV_PLAIN_REWARD);
    return plain != NULL ? plain->reward(b->inner[inner].batch) : NULL;
}

static void change_rewards(wrapped *b, double *reward)
{
    const double *plain = inner_plain_reward(b, 0);
    memcpy(b->plain_reward, plain != NULL ? plain : reward, b->count * sizeof *reward);
    for (uint32_t i = 0; b->w->kind->reward != NULL && i < b->count; i++)
        reward[i] = b->w->kind->reward(b->w, reward[i]);
}

static int32_t step(void *handle, const corral_env_step *io)
{
    wrapped *b = handle;
    const wrapper_kind *kind = b->w->kind;
    if (kind->step != NULL) return kind->step(b, io);
    corral_env_step inner = *io;
    if (kind->act != NULL) {
        act(b, io->action);
        inner.action = b->action;
    }
    if (kind->observe != NULL) inner.observation = b->observation;
    const int32_t result = corral_rules_step(&b->inner[0], &inner);
    if (result != 0) return result;
    for (uint32_t i = 0; kind->observe != NULL && i < b->count; i++)
        if (!io->failed[i]) observe_row(b, i, false, io->observation);
    change_rewards(b, io->reward);
    return 0;
}

static const corral_env_batch_functions functions = {NULL, destroy, reset, step};

// --- abilities

/// What the inner type's abilities know this row by.
static void *inner_handle_of(const wrapped *b, uint32_t index, uint32_t *out_index)
{
    uint32_t row;
    const corral_rules *inner = inner_of(b, index, &row);
    return corral_rules_handle(inner, row, out_index);
}

static void save(const void *handle, uint32_t index, void *out_state)
{
    const wrapped *b = handle;
    memcpy(out_state, memory_of(b, index), b->w->memory);
    const void *inner_handle = inner_handle_of(b, index, &index);
    b->w->inner_state->save(inner_handle, index, (char *)out_state + b->w->memory);
}

static int32_t load(void *handle, uint32_t index, const void *state)
{
    wrapped *b = handle;
    uint32_t inner_index;
    void *inner_handle = inner_handle_of(b, index, &inner_index);
    const int32_t result =
        b->w->inner_state->load(inner_handle, inner_index, (const char *)state + b->w->memory);
    if (result == 0) memcpy(memory_of(b, index), state, b->w->memory);
    return result;
}

static uint32_t draw(const void *handle, uint32_t index, corral_draw *out_items, uint32_t limit)
{
    const wrapped *b = handle;
    const void *inner_handle = inner_handle_of(b, index, &index);
    return b->w->inner_render->draw(inner_handle, index, out_items, limit);
}

static void allowed(const void *handle, uint32_t index, uint8_t *out_allowed)
{
    const wrapped *b = handle;
    const void *inner_handle = inner_handle_of(b, index, &index);
    b->w->inner_mask->mask(inner_handle, index, out_allowed);
}

static void info(const void *handle, uint32_t index, double *out_values)
{
    const wrapped *b = handle;
    const void *inner_handle = inner_handle_of(b, index, &index);
    b->w->inner_info->info(inner_handle, index, out_values);
}

static void play_by_keys(const void *handle, uint32_t index, uint32_t held, const corral_env_rows *out_action)
{
    const wrapped *b = handle;
    const void *inner_handle = inner_handle_of(b, index, &index);
    b->w->inner_keys->action(inner_handle, index, held, out_action);
}

static const double *plain_reward(const void *handle)
{
    return ((const wrapped *)handle)->plain_reward;
}

static const void *extension_for(const corral_env_type *type, const char *name)
{
    static const corral_env_plain_reward plain = {sizeof plain, plain_reward};
    const wrapper *w = type->context;
    if (strcmp(name, CORRAL_ENV_STATE) == 0) return w->inner_state != NULL ? &w->state : NULL;
    if (strcmp(name, CORRAL_ENV_RENDER) == 0) return w->inner_render != NULL ? &w->render : NULL;
    if (strcmp(name, CORRAL_ENV_ACTION_MASK) == 0) return w->inner_mask != NULL ? &w->mask : NULL;
    if (strcmp(name, CORRAL_ENV_KEYS) == 0) return w->inner_keys != NULL ? &w->keys : NULL;
    if (strcmp(name, CORRAL_ENV_INFO) == 0) return w->inner_info != NULL ? &w->info : NULL;
    return strcmp(name, CORRAL_ENV_PLAIN_REWARD) == 0 ? &plain : NULL;
}

/// Before the plan: everything as the inner type has it.
static void copy_inner(wrapper *w)
{
    const corral_env_type *inner = w->inner;
    memcpy(w->observation, inner->spaces.observation,
           inner->spaces.observation_count * sizeof *w->observation);
    memcpy(w->action, inner->spaces.action, inner->spaces.action_count * sizeof *w->action);
    w->type = (corral_env_type){
        .size = sizeof w->type,
        .id = w->id,
        .summary = inner->summary,
        .spaces = {w->observation, inner->spaces.observation_count, w->action, inner->spaces.action_count},
        .params = inner->params,
        .param_count = inner->param_count,
        .max_episode_steps = inner->max_episode_steps,
        .reward_threshold = inner->reward_threshold,
        .render_fps = inner->render_fps,
        .batch = &functions,
        .context = w,
        .create_for = create,
        .extension_for = extension_for,
    };
}

/// After it: abilities, whose sizes depend on the plan.
static void find_abilities(wrapper *w)
{
    w->inner_state = corral_env_extension(w->inner, CORRAL_ENV_STATE);
    w->inner_render = corral_env_extension(w->inner, CORRAL_ENV_RENDER);
    w->inner_mask = corral_env_extension(w->inner, CORRAL_ENV_ACTION_MASK);
    if (w->inner_state != NULL)
        w->state =
            (corral_env_state){sizeof w->state, (uint32_t)w->memory + w->inner_state->state_size, save, load};
    if (w->inner_render != NULL) {
        w->render = *w->inner_render;
        w->render.size = sizeof w->render;
        w->render.draw = draw;
    }
    w->mask = (corral_env_action_mask){sizeof w->mask, allowed};
    const corral_env_spaces *outer = &w->type.spaces, *inner = &w->inner->spaces;
    if (outer->action_count == inner->action_count &&
        memcmp(outer->action, inner->action, inner->action_count * sizeof *inner->action) == 0)
        w->inner_keys = corral_env_extension(w->inner, CORRAL_ENV_KEYS);
    if (w->inner_keys != NULL) w->keys = (corral_env_keys){sizeof w->keys, w->inner_keys->help, play_by_keys};
    w->inner_info = corral_env_extension(w->inner, CORRAL_ENV_INFO);
    if (w->inner_info != NULL)
        w->info = (corral_env_info){sizeof w->info, w->inner_info->count, w->inner_info->name, info};
}

corral_status corral_wrap_finish(wrapper *w)
{
    copy_inner(w);
    const corral_status status = w->kind->plan(w);
    if (status == CORRAL_OK) find_abilities(w);
    return status;
}
