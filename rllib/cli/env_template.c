// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/* Template: an environment for Corral in one file. It is a whole game to change into yours: an apple falls
 * from the top of a field, and a basket at the bottom moves to catch it.
 *
 *     cc -O2 -shared -fPIC -I INCLUDE_FOLDER Template.c -o Template.so
 *     corral env check ./Template.so
 *     corral train --algo ppo --env ./Template.so
 *
 * corral/env.h says everything about what is possible and which rules there are. */
#include <corral/env.h>

#include <string.h>

enum { LEFT, STAY, RIGHT, ACTIONS };
enum { COLUMNS = 9, ROWS = 8 };

/* One instance. The host zeroes it, makes many and decides when an episode is over by time. Keep everything
 * that an episode needs in here: there may be no globals. */
typedef struct game {
    const corral_env_host *host;
    double wind;        /* a parameter, see `params` */
    corral_env_rng rng; /* the only source of chance */
    int32_t basket, apple_column, apple_row;
} game;

/* --- rules */

/* What the agent sees, each number within the bounds that `observation` states below. */
static void observe(const game *g, float *out)
{
    out[0] = (float)g->basket / (COLUMNS - 1);
    out[1] = (float)g->apple_column / (COLUMNS - 1);
    out[2] = (float)g->apple_row / ROWS;
}

static int32_t clamp(int32_t column)
{
    return column < 0 ? 0 : column >= COLUMNS ? COLUMNS - 1 : column;
}

static int32_t game_init(void *instance, const corral_env_host *host, const double *values)
{
    game *g = instance;
    g->host = host;
    g->wind = values[0]; /* in the order of `params` */
    return 0;            /* anything else, after host->error("a sentence"), is a failure */
}

/* A new episode: the same seed has to give the same one. */
static int32_t game_reset(void *instance, uint64_t seed, void *out_observation)
{
    game *g = instance;
    g->host->rng_seed(&g->rng, seed);
    g->basket = COLUMNS / 2;
    g->apple_column = (int32_t)g->host->rng_integer(&g->rng, COLUMNS);
    g->apple_row = 0;
    observe(g, out_observation);
    return 0;
}

static int32_t game_step(void *instance, const void *action, void *out_observation, corral_env_result *result)
{
    game *g = instance;
    g->basket = clamp(g->basket + *(const int32_t *)action - STAY);
    g->apple_row++;
    if (g->host->rng_double(&g->rng) < g->wind)
        g->apple_column = clamp(g->apple_column + (int32_t)g->host->rng_integer(&g->rng, 3) - 1);
    result->terminated = g->apple_row == ROWS;
    if (result->terminated) result->reward = g->basket == g->apple_column ? 1 : -1;
    observe(g, out_observation);
    return 0;
}

/* --- state: with it, a run that is stopped goes on exactly where it was */

typedef struct saved_game {
    corral_env_rng rng;
    int32_t basket, apple_column, apple_row, unused;
} saved_game;

static void game_save(const void *instance, uint32_t index, void *out_state)
{
    const game *g = instance;
    const saved_game saved = {g->rng, g->basket, g->apple_column, g->apple_row, 0};
    (void)index;
    memcpy(out_state, &saved, sizeof saved);
}

static int32_t game_load(void *instance, uint32_t index, const void *state)
{
    game *g = instance;
    saved_game saved;
    (void)index;
    memcpy(&saved, state, sizeof saved);
    g->rng = saved.rng;
    g->basket = clamp(saved.basket);
    g->apple_column = clamp(saved.apple_column);
    g->apple_row = saved.apple_row;
    return 0;
}

/* --- picture: a list of shapes, bottom to top, in units of the frame; y grows downwards */

#define SIDE 50.0f

static uint32_t game_draw(const void *instance, uint32_t index, corral_draw *out_items, uint32_t limit)
{
    const game *g = instance;
    const float x = (float)g->basket * SIDE, apple_x = ((float)g->apple_column + 0.5f) * SIDE;
    const corral_draw items[] = {
        {.kind = CORRAL_DRAW_CIRCLE,
         .color = 0xc8553dff,
         .size = SIDE * 0.3f,
         .point_count = 1,
         .point = {{apple_x, ((float)g->apple_row + 0.5f) * SIDE}}},
        {.kind = CORRAL_DRAW_POLYGON,
         .color = 0x8a6a4fff,
         .point_count = 4,
         .point = {{x, ROWS * SIDE + 20},
                   {x + SIDE, ROWS * SIDE + 20},
                   {x + SIDE * 0.8f, (ROWS + 1) * SIDE},
                   {x + SIDE * 0.2f, (ROWS + 1) * SIDE}}},
    };
    const uint32_t count = sizeof items / sizeof *items;
    uint32_t i;
    (void)index;
    for (i = 0; i < count && i < limit; i++)
        out_items[i] = items[i];
    return count;
}

static const void *game_extension(const char *name)
{
    static const corral_env_state state = {sizeof(corral_env_state), sizeof(saved_game), game_save,
                                           game_load};
    static const corral_env_render render = {sizeof(corral_env_render), COLUMNS * SIDE, (ROWS + 1) * SIDE,
                                             0xe8f1f7ff, game_draw};
    if (strcmp(name, CORRAL_ENV_STATE) == 0) return &state;
    if (strcmp(name, CORRAL_ENV_RENDER) == 0) return &render;
    return NULL;
}

/* --- description */

static const corral_space observation = {.path = "",
                                         .kind = CORRAL_SPACE_BOX,
                                         .dtype = CORRAL_SPACE_F32,
                                         .dimension_count = 1,
                                         .shape = {3},
                                         .low = 0,
                                         .high = 1};
static const corral_space move = {
    .path = "", .kind = CORRAL_SPACE_DISCRETE, .dtype = CORRAL_SPACE_I32, .n = ACTIONS};

static const corral_env_param params[] = {
    {"wind", 0, 0, 1, "chance in a step that the apple is blown aside"}};
static const corral_env_single functions = {sizeof(game), game_init, NULL, game_reset, game_step};

static const corral_env_type types[] = {{.size = sizeof(corral_env_type),
                                         .id = "Template-v0",
                                         .summary = "catch the apple that falls",
                                         .spaces = {&observation, 1, &move, 1},
                                         .params = params,
                                         .param_count = 1,
                                         .max_episode_steps = 100,
                                         .reward_threshold = 0.95,
                                         .render_fps = 8,
                                         .single = &functions,
                                         .extension = game_extension}};
CORRAL_ENV_EXPORT(types, 1);
