// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Switchboard: four lines ring for one of three services each, and an operator connects one of them per step:
// an action names a line and a plug, which is that of a service, or none. The right service gains 1; a wrong
// one loses 1, and the call. A service that has just been connected is busy for a step, and a caller who has
// waited for ten steps hangs up. The mask allows lines that ring, services that are free, and no plug at all.
//
// What has to be seen: a line whose service is free. First come, first served is not the best.

#include "../builtin.h"
#include "../picture.h"

#include <stdbool.h>
#include <string.h>

enum { LINES = 4, SERVICES = 3, NOTHING = SERVICES, PATIENCE = 10 };
enum { BUSY, CALLS, WAITING, LEAVES }; // of an observation, in the order of their keys
enum { RATE, SETTINGS };

typedef struct switchboard_state {
    corral_env_rng rng;
    int32_t call[LINES]; // 0: silent, else 1 + the service it rings for
    int32_t waited[LINES];
    int32_t busy;             // a service, or NOTHING
    int32_t line, plug, gain; // of the last step; plug NOTHING at first
} switchboard_state;

typedef struct switchboard {
    const corral_env_host *host;
    double rate;
    switchboard_state state;
} switchboard;

static int32_t init(void *instance, const corral_env_host *host, const double *values)
{
    switchboard *b = instance;
    b->host = host;
    b->rate = values[RATE];
    return 0;
}

static void observe(const switchboard *b, void *observation)
{
    void *const *leaf = observation;
    const switchboard_state *s = &b->state;
    for (int i = 0; i < SERVICES; i++)
        ((uint8_t *)leaf[BUSY])[i] = s->busy == i;
    for (int i = 0; i < LINES; i++) {
        ((int32_t *)leaf[CALLS])[i] = s->call[i];
        ((float *)leaf[WAITING])[i] = (float)s->waited[i] / PATIENCE;
    }
}

static void ring(switchboard *b, int line)
{
    b->state.call[line] = 1 + (int32_t)b->host->rng_integer(&b->state.rng, SERVICES);
    b->state.waited[line] = 0;
}

/// Silent lines may begin to ring; one does at least.
static void ring_some(switchboard *b)
{
    int ringing = 0;
    for (int i = 0; i < LINES; i++) {
        if (b->state.call[i] == 0 && b->host->rng_double(&b->state.rng) < b->rate) ring(b, i);
        ringing += b->state.call[i] != 0;
    }
    if (ringing == 0) ring(b, (int)b->host->rng_integer(&b->state.rng, LINES));
}

static int32_t reset(void *instance, uint64_t seed, void *observation)
{
    switchboard *b = instance;
    b->state = (switchboard_state){.busy = NOTHING, .plug = NOTHING};
    b->host->rng_seed(&b->state.rng, seed);
    ring_some(b);
    observe(b, observation);
    return 0;
}

static void hang_up(switchboard_state *s, int line)
{
    s->call[line] = s->waited[line] = 0;
}

/// Returns what it gains.
static int32_t connect(switchboard_state *s, int32_t line, int32_t plug)
{
    const int32_t busy = s->busy;
    s->busy = NOTHING;
    if (plug == NOTHING) return 0;
    if (s->call[line] == 0 || plug == busy) return -1;
    const bool right = s->call[line] == 1 + plug;
    hang_up(s, line);
    if (right) s->busy = plug;
    return right ? 1 : -1;
}

static int32_t step(void *instance, const void *action, void *observation, corral_env_result *result)
{
    switchboard *b = instance;
    switchboard_state *s = &b->state;
    s->line = ((const int32_t *)action)[0];
    s->plug = ((const int32_t *)action)[1];
    s->gain = connect(s, s->line, s->plug);
    for (int i = 0; i < LINES; i++)
        if (s->call[i] != 0 && ++s->waited[i] > PATIENCE) hang_up(s, i);
    ring_some(b);
    observe(b, observation);
    result->reward = s->gain;
    return 0;
}

// --- extensions

static void mask(const void *instance, uint32_t index, uint8_t *out_allowed)
{
    const switchboard_state *s = &((const switchboard *)instance)->state;
    (void)index;
    for (int i = 0; i < LINES; i++)
        *out_allowed++ = s->call[i] != 0;
    for (int i = 0; i <= SERVICES; i++)
        *out_allowed++ = i == NOTHING || i != s->busy;
}

static void save(const void *instance, uint32_t index, void *out_state)
{
    (void)index;
    memcpy(out_state, &((const switchboard *)instance)->state, sizeof(switchboard_state));
}

static bool is_sound(const switchboard_state *s)
{
    int ringing = 0;
    for (int i = 0; i < LINES; i++) {
        if (s->call[i] < 0 || s->call[i] > SERVICES || s->waited[i] < 0 || s->waited[i] > PATIENCE)
            return false;
        ringing += s->call[i] != 0;
    }
    return ringing > 0 && s->busy >= 0 && s->busy <= NOTHING && s->line >= 0 && s->line < LINES &&
           s->plug >= 0 && s->plug <= NOTHING;
}

static int32_t load(void *instance, uint32_t index, const void *state)
{
    switchboard *b = instance;
    switchboard_state loaded;
    (void)index;
    memcpy(&loaded, state, sizeof loaded);
    if (!is_sound(&loaded)) {
        b->host->error("no switchboard is like this");
        return 1;
    }
    b->state = loaded;
    return 0;
}

static const uint32_t colors[SERVICES] = {PICTURE_RED, PICTURE_GREEN, PICTURE_BLUE};

static uint32_t draw(const void *instance, uint32_t index, corral_draw *out_items, uint32_t limit)
{
    const switchboard_state *s = &((const switchboard *)instance)->state;
    picture p = {out_items, limit, 0};
    (void)index;
    for (int i = 0; i < LINES; i++) {
        const float y = 60 + 70.0f * (float)i;
        picture_circle(&p, 80, y, 26, PICTURE_DARK);
        picture_circle(&p, 80, y, 20, s->call[i] != 0 ? colors[s->call[i] - 1] : PICTURE_PALE);
        picture_rectangle(&p, 120, y + 14, 120 + 4.0f * (float)s->waited[i], y + 20, PICTURE_YELLOW);
    }
    for (int i = 0; i < SERVICES; i++) {
        const float y = 95 + 70.0f * (float)i;
        picture_rectangle(&p, 330, y - 24, 390, y + 24, colors[i]);
        if (s->busy == i) picture_rectangle(&p, 338, y - 4, 382, y + 4, PICTURE_PAPER);
    }
    if (s->plug != NOTHING)
        picture_line(&p, 106, 60 + 70.0f * (float)s->line, 330, 95 + 70.0f * (float)s->plug, 5,
                     s->gain > 0 ? PICTURE_DARK : PICTURE_PALE);
    return p.count;
}

static const void *extension(const char *name)
{
    static const corral_env_state state = {sizeof state, sizeof(switchboard_state), save, load};
    static const corral_env_render render = {sizeof render, 420, 330, PICTURE_PAPER, draw};
    static const corral_env_action_mask action_mask = {sizeof action_mask, mask};
    if (strcmp(name, CORRAL_ENV_STATE) == 0) return &state;
    if (strcmp(name, CORRAL_ENV_RENDER) == 0) return &render;
    return strcmp(name, CORRAL_ENV_ACTION_MASK) == 0 ? &action_mask : NULL;
}

// --- description

static const int64_t calls[LINES] = {1 + SERVICES, 1 + SERVICES, 1 + SERVICES, 1 + SERVICES};
static const int64_t choices[2] = {LINES, SERVICES + 1};

static const corral_space observation[LEAVES] = {
    [BUSY] = {.path = "busy",
              .kind = CORRAL_SPACE_MULTI_BINARY,
              .dtype = CORRAL_SPACE_U8,
              .dimension_count = 1,
              .shape = {SERVICES}},
    [CALLS] = {.path = "calls",
               .kind = CORRAL_SPACE_MULTI_DISCRETE,
               .dtype = CORRAL_SPACE_I32,
               .dimension_count = 1,
               .shape = {LINES},
               .nvec = calls},
    [WAITING] = {.path = "waiting",
                 .kind = CORRAL_SPACE_BOX,
                 .dtype = CORRAL_SPACE_F32,
                 .dimension_count = 1,
                 .shape = {LINES},
                 .low = 0,
                 .high = 1},
};
static const corral_space action = {.path = "",
                                    .kind = CORRAL_SPACE_MULTI_DISCRETE,
                                    .dtype = CORRAL_SPACE_I32,
                                    .dimension_count = 1,
                                    .shape = {2},
                                    .nvec = choices};

static const corral_env_param params[SETTINGS] = {
    [RATE] = {"rate", 0.4, 0, 1, "chance that a silent line begins to ring"},
};
static const corral_env_single single = {
    .instance_size = sizeof(switchboard), .init = init, .reset = reset, .step = step};

const corral_env_type corral_env_switchboard = {
    .size = sizeof(corral_env_type),
    .id = "Switchboard-v0",
    .summary = "connect callers to the services that they ring for",
    .spaces = {observation, LEAVES, &action, 1},
    .params = params,
    .param_count = SETTINGS,
    .max_episode_steps = 50,
    .reward_threshold = 45,
    .render_fps = 5,
    .single = &single,
    .extension = extension,
};
