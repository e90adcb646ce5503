// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Recall: a light is green or red in the first observation, and never again. After `delay` steps a bell
// rings, and the action of that step has to name the light: +1 or -1, and the episode ends. A policy without
// a memory gets 0 on average, whatever it does.

#include "../builtin.h"
#include "../picture.h"

#include <stdbool.h>
#include <string.h>

enum { DELAY, SETTINGS };
enum { LIGHT, BELL, NUMBERS }; // of an observation

typedef struct recall_state {
    corral_env_rng rng;
    int32_t light; // 0 red, 1 green
    uint32_t step;
    int32_t answer; // -1 before the end
    uint32_t unused;
} recall_state;

typedef struct recall {
    const corral_env_host *host;
    uint32_t delay;
    recall_state state;
} recall;

static int32_t init(void *instance, const corral_env_host *host, const double *values)
{
    recall *r = instance;
    r->host = host;
    r->delay = (uint32_t)values[DELAY];
    return 0;
}

static void observe(const recall *r, float *observation)
{
    const recall_state *s = &r->state;
    observation[LIGHT] = s->step > 0 ? 0.0f : s->light ? 1.0f : -1.0f;
    observation[BELL] = s->step == r->delay ? 1.0f : 0.0f;
}

static int32_t reset(void *instance, uint64_t seed, void *observation)
{
    recall *r = instance;
    r->state = (recall_state){.answer = -1};
    r->host->rng_seed(&r->state.rng, seed);
    r->state.light = (int32_t)r->host->rng_integer(&r->state.rng, 2);
    observe(r, observation);
    return 0;
}

static int32_t step(void *instance, const void *action, void *observation, corral_env_result *result)
{
    recall *r = instance;
    recall_state *s = &r->state;
    const int32_t answer = *(const int32_t *)action;
    if (s->step == r->delay) {
        s->answer = answer;
        result->reward = answer == s->light ? 1 : -1;
        result->terminated = 1;
    }
    s->step++;
    observe(r, observation);
    return 0;
}

// --- extensions

static void save(const void *instance, uint32_t index, void *out_state)
{
    (void)index;
    memcpy(out_state, &((const recall *)instance)->state, sizeof(recall_state));
}

static int32_t load(void *instance, uint32_t index, const void *state)
{
    recall *r = instance;
    recall_state loaded;
    (void)index;
    memcpy(&loaded, state, sizeof loaded);
    if ((loaded.light & ~1) != 0 || loaded.step > r->delay + 1) {
        r->host->error("no light is like this, or the episode is over");
        return 1;
    }
    r->state = loaded;
    return 0;
}

static uint32_t draw(const void *instance, uint32_t index, corral_draw *out_items, uint32_t limit)
{
    const recall *r = instance;
    const recall_state *s = &r->state;
    picture p = {out_items, limit, 0};
    (void)index;
    const bool shows = s->step == 0 || s->answer >= 0;
    const uint32_t light = s->light ? PICTURE_GREEN : PICTURE_RED;
    picture_circle(&p, 200, 130, 74, PICTURE_DARK);
    picture_circle(&p, 200, 130, 64, shows ? light : PICTURE_PALE);
    const float done = (float)(s->step < r->delay ? s->step : r->delay) / (float)r->delay;
    picture_rectangle(&p, 40, 240, 360, 252, PICTURE_PALE);
    picture_rectangle(&p, 40, 240, 40 + 320 * done, 252, PICTURE_BLUE);
    if (s->answer >= 0)
        picture_text(&p, 40, 290, 18, PICTURE_INK, "answer: %s", s->answer ? "green" : "red");
    else if (s->step == r->delay)
        picture_text(&p, 40, 290, 18, PICTURE_INK, "which was it?");
    return p.count;
}

static const void *extension(const char *name)
{
    static const corral_env_state state = {sizeof state, sizeof(recall_state), save, load};
    static const corral_env_render render = {sizeof render, 400, 310, PICTURE_PAPER, draw};
    if (strcmp(name, CORRAL_ENV_STATE) == 0) return &state;
    return strcmp(name, CORRAL_ENV_RENDER) == 0 ? &render : NULL;
}

// --- description

static const corral_space observation = {.path = "",
                                         .kind = CORRAL_SPACE_BOX,
                                         .dtype = CORRAL_SPACE_F32,
                                         .dimension_count = 1,
                                         .shape = {NUMBERS},
                                         .low = -1,
                                         .high = 1};
static const corral_space action = {
    .path = "", .kind = CORRAL_SPACE_DISCRETE, .dtype = CORRAL_SPACE_I32, .n = 2};

static const corral_env_param params[SETTINGS] = {
    [DELAY] = {"delay", 50, 1, 10000, "steps between the light and the bell"},
};
static const corral_env_single single = {
    .instance_size = sizeof(recall), .init = init, .reset = reset, .step = step};

const corral_env_type corral_env_recall = {
    .size = sizeof(corral_env_type),
    .id = "Recall-v0",
    .summary = "say at the end which light was on at the beginning",
    .spaces = {&observation, 1, &action, 1},
    .params = params,
    .param_count = SETTINGS,
    .reward_threshold = 0.95,
    .render_fps = 15,
    .single = &single,
    .extension = extension,
};
