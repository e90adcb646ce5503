// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "follower.h"

#include "corral/envs/registry.h"

#include <stdlib.h>
#include <string.h>

corral_status follower_init(follower *f, const environment_setup *setup, const rollout_config *rollout,
                            uint32_t cell, uint32_t environment)
{
    *f = (follower){.setup = setup, .rollout = rollout, .cell = cell, .environment = environment};
    pthread_mutex_init(&f->lock, NULL);
    const environment_spaces *spaces = &setup->spaces;
    f->words = corral_policy_action_words(&rollout->policy);
    f->observation = calloc(1, spaces->observation_bytes + 64);
    f->action = calloc(1, spaces->action_bytes + 64);
    f->taken = calloc(f->words, sizeof *f->taken);
    f->waiting = calloc((size_t)FOLLOWER_ROOM * f->words, sizeof *f->waiting);
    f->items = calloc(LIVE_ITEMS_MAX, sizeof *f->items);
    const corral_status status = live_list_init(&f->sent);
    if (status != CORRAL_OK || f->observation == NULL || f->action == NULL || f->taken == NULL ||
        f->waiting == NULL || f->items == NULL) {
        follower_finish(f);
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory to follow an environment");
    }
    environment_observation_rows(spaces, f->observation, spaces->observation_bytes, f->rows);
    environment_action_rows(spaces, f->action, spaces->action_bytes, f->action_rows);
    return CORRAL_OK;
}

void follower_finish(follower *f)
{
    corral_env_batch_destroy(f->batch);
    live_list_finish(&f->sent);
    free(f->observation);
    free(f->action);
    free(f->taken);
    free(f->waiting);
    free(f->items);
    f->batch = NULL;
    f->observation = NULL;
    f->action = NULL;
    f->taken = NULL;
    f->waiting = NULL;
    f->items = NULL;
}

// --- taking -----------------------------------------------------------------------------------------------

static bool all_valid(const corral_fragment *fragment, uint32_t row)
{
    const uint32_t steps = fragment->header.spec.steps;
    const uint8_t *valid = fragment->valid + (size_t)row * steps;
    for (uint32_t t = 0; t < steps; t++)
        if (!valid[t]) return false;
    return true;
}

/// Where in the fragment the last episode begins whose number is known. False where none does.
static bool find_beginning(const corral_fragment *fragment, uint32_t row, uint32_t *out_step,
                           uint64_t *out_number)
{
    bool found = fragment->header.first_step == 0;
    *out_step = 0;
    *out_number = 0;
    for (uint32_t k = 0; k < fragment->header.ended_count; k++) {
        const corral_fragment_ended ended = corral_fragment_ended_at(fragment, k, NULL);
        if (ended.environment != row) continue;
        *out_step = ended.step + 1;
        *out_number = ended.number + 1;
        found = true;
    }
    return found;
}

static void append(follower *f, const corral_fragment *fragment, uint32_t row, uint32_t from)
{
    const uint32_t steps = fragment->header.spec.steps;
    const int32_t *action = fragment->action + (size_t)row * steps * f->words;
    if (f->put - f->got + (steps - from) > FOLLOWER_ROOM) {
        f->taking = false; // the rest of this episode is not shown
        return;
    }
    for (uint32_t t = from; t < steps; t++)
        memcpy(f->waiting + f->put++ % FOLLOWER_ROOM * f->words, action + t * f->words,
               f->words * sizeof *action);
    f->next_step = fragment->header.first_step + steps;
    f->worker = fragment->header.worker;
    f->policy_version = fragment->header.policy_version;
}

static void take(follower *f, const corral_fragment *fragment, uint32_t row)
{
    uint32_t from = 0;
    const bool whole = all_valid(fragment, row);
    if (f->taking && (!whole || fragment->header.first_step != f->next_step)) f->taking = false;
    if (!whole) return;
    if (!f->taking) {
        if (f->put != f->got) return; // first what waits
        if (!find_beginning(fragment, row, &from, &f->number)) return;
        f->taking = f->fresh = true;
    }
    append(f, fragment, row, from);
}

void follower_take(follower *f, const corral_fragment *fragments, uint32_t count)
{
    pthread_mutex_lock(&f->lock);
    for (uint32_t i = 0; i < count; i++) {
        const corral_fragment_header *head = &fragments[i].header;
        if (f->environment >= head->env_begin && f->environment < head->env_begin + head->spec.env_count)
            take(f, &fragments[i], f->environment - head->env_begin);
    }
    pthread_mutex_unlock(&f->lock);
}

void follower_skip(follower *f)
{
    pthread_mutex_lock(&f->lock);
    f->taking = f->fresh = false;
    f->got = f->put;
    pthread_mutex_unlock(&f->lock);
    f->playing = false;
}

void follower_forget(follower *f)
{
    follower_skip(f);
    corral_env_batch_destroy(f->batch); // with its Python, where it has one
    f->batch = NULL;
}

uint32_t follower_waiting(follower *f)
{
    pthread_mutex_lock(&f->lock);
    const uint32_t count = (uint32_t)(f->put - f->got);
    pthread_mutex_unlock(&f->lock);
    return count;
}

// --- playing ----------------------------------------------------------------------------------------------

static void draw(follower *f, const corral_env_batch *batch)
{
    const corral_env_type *type = f->setup->type;
    const corral_env_render *render = type->extension != NULL ? type->extension(CORRAL_ENV_RENDER) : NULL;
    f->item_count = 0;
    if (render == NULL) return;
    uint32_t index;
    const void *handle = corral_env_batch_handle(batch, 0, &index);
    const uint32_t count = render->draw(handle, index, f->items, LIVE_ITEMS_MAX);
    f->item_count = count < LIVE_ITEMS_MAX ? count : LIVE_ITEMS_MAX;
}

static void before_reset(void *context, const corral_env_batch *batch, uint32_t row)
{
    (void)row;
    draw(context, batch);
}

static bool create_batch(follower *f)
{
    const corral_env_batch_config config = {
        .type = f->setup->type,
        .count = 1,
        .first_index = f->environment,
        .run_seed = f->rollout->run_seed,
        .role = CORRAL_STREAM_ENVIRONMENT,
        .max_episode_steps = f->rollout->max_episode_steps,
        .param_values = f->setup->values,
        .before_reset = before_reset,
        .before_reset_context = f,
    };
    return f->batch != NULL || corral_env_batch_create(&config, &f->batch) == CORRAL_OK;
}

static void start_frame(follower *f, uint64_t episode)
{
    f->now = (live_frame){.cell = f->cell, .environment = f->environment, .episode = episode};
}

/// Shows the beginning of the episode that the first waiting action belongs to.
static bool begin(follower *f, uint64_t number)
{
    f->playing = create_batch(f) && corral_env_batch_reset_to(f->batch, number, f->rows) == CORRAL_OK;
    if (!f->playing) return false;
    start_frame(f, number);
    draw(f, f->batch);
    return true;
}

static bool step(follower *f)
{
    if (f->now.ended) start_frame(f, f->now.episode + 1); // its first moment is left out
    corral_policy_env_action(&f->rollout->policy, f->taken, f->action);
    double reward;
    uint8_t flags[3];
    corral_episode ended;
    uint32_t ended_row;
    corral_env_batch_step out = {.observation = f->rows,
                                 .reward = &reward,
                                 .terminated = &flags[0],
                                 .truncated = &flags[1],
                                 .ended = &ended,
                                 .ended_row = &ended_row,
                                 .failed = &flags[2]};
    if (corral_env_batch_step_all(f->batch, f->action_rows, &out) != CORRAL_OK || out.failed_count > 0)
        return false;
    f->now.step++;
    f->now.reward = reward;
    f->now.episode_return += reward;
    f->now.ended = out.ended_count > 0;
    f->now.terminated = flags[0];
    if (!f->now.ended) draw(f, f->batch); // else it was drawn as it ended
    return true;
}

bool follower_play(follower *f)
{
    pthread_mutex_lock(&f->lock);
    const bool any = f->put != f->got, fresh = f->fresh;
    const uint64_t number = f->number, version = f->policy_version;
    const uint32_t worker = f->worker;
    f->fresh = false;
    if (any && !fresh)
        memcpy(f->taken, f->waiting + f->got++ % FOLLOWER_ROOM * f->words, f->words * sizeof *f->taken);
    pthread_mutex_unlock(&f->lock);
    const bool gone_on = fresh ? begin(f, number) : any && f->playing && step(f);
    if (!gone_on && (fresh || any)) follower_skip(f);
    f->now.worker = worker;
    f->now.policy_version = version;
    return gone_on;
}
