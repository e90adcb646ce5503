// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Chase: a runner picks up gold, a point each, among pillars, while hunters close in. They are slower than
// the runner but many, and they know where it is: it has to lead them round pillars. Being caught ends the
// episode.
//
// Pillars stand on every second row and column only, some of them, drawn for each episode; so every free cell
// can be reached from every other.

#include "chase.h"

#include "../builtin.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum { STAY, UP, RIGHT, DOWN, LEFT, ACTIONS };
enum { HUNTERS, HUNTER_SPEED, SETTINGS };
enum { PILLAR_VALUE = 60, HUNTER_VALUE = 120, GOLD_VALUE = 180, RUNNER_VALUE = 255 };
enum { CHANCE_BITS = 16, PILLAR_PERCENT = 60, START_DISTANCE = 5 };

static int row_of(int cell)
{
    return cell / CHASE_SIDE;
}

static int column_of(int cell)
{
    return cell % CHASE_SIDE;
}

static int distance(int a, int b)
{
    return abs(row_of(a) - row_of(b)) + abs(column_of(a) - column_of(b));
}

static bool is_pillar(const chase_game *g, int cell)
{
    return g->wall[row_of(cell)] >> column_of(cell) & 1;
}

/// The cell one step from `cell`, or `cell` itself where a pillar or the field's end is in the way.
static int next_cell(const chase_game *g, int cell, int move)
{
    static const int rows[ACTIONS] = {0, -1, 0, 1, 0}, columns[ACTIONS] = {0, 0, 1, 0, -1};
    const int row = row_of(cell) + rows[move], column = column_of(cell) + columns[move];
    if (row < 0 || row >= CHASE_SIDE || column < 0 || column >= CHASE_SIDE) return cell;
    const int next = row * CHASE_SIDE + column;
    return is_pillar(g, next) ? cell : next;
}

/// A free cell at least `away` from the runner.
static int draw_cell(const chase_batch *batch, chase_game *g, int away)
{
    for (;;) {
        const int cell = (int)batch->host->rng_integer(&g->rng, CHASE_CELLS);
        if (!is_pillar(g, cell) && distance(cell, g->runner) >= away) return cell;
    }
}

// --- rules

/// Towards the runner along the longer way that is open; around a pillar if there is none; else it waits.
static int hunt(const chase_game *g, int cell)
{
    const int down = row_of(g->runner) - row_of(cell), right = column_of(g->runner) - column_of(cell);
    const int vertical = down < 0 ? UP : down > 0 ? DOWN : STAY;
    const int horizontal = right < 0 ? LEFT : right > 0 ? RIGHT : STAY;
    const int first = abs(down) >= abs(right) ? vertical : horizontal;
    const int second = first == vertical ? horizontal : vertical;
    int next = next_cell(g, cell, first);
    if (next == cell) next = next_cell(g, cell, second);
    if (next == cell) next = next_cell(g, cell, first == UP || first == DOWN ? RIGHT : DOWN);
    return next;
}

/// Hunters move one after the other, each by its own bits of one draw, and never onto another one.
static void move_hunters(const chase_batch *batch, chase_game *g)
{
    const int count = (int)batch->settings.hunters;
    const uint32_t moves_below = (uint32_t)(batch->settings.hunter_speed * (1 << CHANCE_BITS));
    uint64_t chance = 0;
    for (int h = 0; h < count; h++) {
        if (h % 2 == 0) chance = (uint64_t)batch->host->rng_integer(&g->rng, 1LL << 32);
        const uint32_t mine = (uint32_t)(chance >> (h % 2 * CHANCE_BITS)) & ((1U << CHANCE_BITS) - 1);
        if (mine >= moves_below) continue;
        const int next = hunt(g, g->hunter[h]);
        bool taken = false;
        for (int other = 0; other < count; other++)
            taken |= other != h && g->hunter[other] == next;
        if (!taken) g->hunter[h] = (uint8_t)next;
    }
}

static bool is_caught(const chase_batch *batch, const chase_game *g)
{
    bool caught = false;
    for (int h = 0; h < (int)batch->settings.hunters; h++)
        caught |= g->hunter[h] == g->runner;
    return caught;
}

static double play(const chase_batch *batch, chase_game *g, int32_t action)
{
    g->runner = (uint8_t)next_cell(g, g->runner, action);
    double reward = 0;
    for (int i = 0; i < CHASE_GOLD; i++) {
        if (g->runner != g->gold[i]) continue;
        reward++;
        g->gold[i] = (uint8_t)draw_cell(batch, g, START_DISTANCE);
    }
    if (!is_caught(batch, g)) move_hunters(batch, g); // or it ran into one
    g->caught = is_caught(batch, g);
    return reward;
}

static void draw_cell_value(uint8_t *frame, int cell, uint8_t value)
{
    frame_rectangle(frame, column_of(cell) * CHASE_CELL, row_of(cell) * CHASE_CELL, CHASE_CELL, CHASE_CELL,
                    value);
}

static void draw_frame(const chase_batch *batch, const chase_game *g, uint8_t *frame)
{
    memset(frame, 0, FRAME_BYTES);
    for (int row = 1; row < CHASE_SIDE; row += 2)
        for (unsigned bits = g->wall[row]; bits != 0; bits &= bits - 1)
            draw_cell_value(frame, row * CHASE_SIDE + __builtin_ctz(bits), PILLAR_VALUE);
    for (int i = 0; i < CHASE_GOLD; i++)
        draw_cell_value(frame, g->gold[i], GOLD_VALUE);
    draw_cell_value(frame, g->runner, RUNNER_VALUE);
    for (int h = 0; h < (int)batch->settings.hunters; h++)
        draw_cell_value(frame, g->hunter[h], HUNTER_VALUE);
}

static int32_t chase_step(void *handle, const corral_env_step *io)
{
    chase_batch *batch = handle;
    for (size_t i = 0; i < batch->count; i++) {
        chase_game *g = &batch->game[i];
        io->reward[i] = play(batch, g, frame_action(io, i));
        io->terminated[i] = g->caught;
        draw_frame(batch, g, frame_at(io, i));
    }
    return 0;
}

static void begin(const chase_batch *batch, chase_game *g, uint64_t seed)
{
    *g = (chase_game){0};
    batch->host->rng_seed(&g->rng, seed);
    for (int row = 1; row < CHASE_SIDE; row += 2)
        for (int column = 1; column < CHASE_SIDE; column += 2)
            if (batch->host->rng_integer(&g->rng, 100) < PILLAR_PERCENT)
                g->wall[row] = (uint16_t)(g->wall[row] | 1 << column);
    g->runner = (uint8_t)draw_cell(batch, g, 0);
    for (int i = 0; i < CHASE_GOLD; i++)
        g->gold[i] = (uint8_t)draw_cell(batch, g, 1);
    for (int h = 0; h < (int)batch->settings.hunters; h++)
        g->hunter[h] = (uint8_t)draw_cell(batch, g, START_DISTANCE);
}

static int32_t chase_reset(void *handle, const uint8_t *mask, const uint64_t *seed,
                           const corral_env_step *out)
{
    chase_batch *batch = handle;
    for (uint32_t i = 0; i < batch->count; i++) {
        if (mask != NULL && !mask[i]) continue;
        begin(batch, &batch->game[i], seed[i]);
        draw_frame(batch, &batch->game[i], frame_at(out, i));
    }
    return 0;
}

// --- life and state

static int32_t chase_create(const corral_env_host *host, uint32_t count, const double *values,
                            void **out_batch)
{
    chase_batch *batch = calloc(1, sizeof *batch + count * sizeof batch->game[0]);
    if (batch == NULL) return 1;
    memcpy(&batch->settings, values, sizeof batch->settings);
    batch->settings.hunters = floor(batch->settings.hunters);
    batch->host = host;
    batch->count = count;
    *out_batch = batch;
    return 0;
}

static void chase_save(const void *handle, uint32_t index, void *out_state)
{
    memcpy(out_state, &((const chase_batch *)handle)->game[index], sizeof(chase_game));
}

static int32_t chase_load(void *handle, uint32_t index, const void *state)
{
    chase_batch *batch = handle;
    chase_game g;
    memcpy(&g, state, sizeof g);
    bool fine = g.runner < CHASE_CELLS && g.caught <= 1;
    for (int i = 0; i < CHASE_GOLD; i++)
        fine = fine && g.gold[i] < CHASE_CELLS;
    for (int h = 0; h < CHASE_HUNTERS_MAX; h++)
        fine = fine && g.hunter[h] < CHASE_CELLS;
    for (int row = 0; row < CHASE_SIDE; row++) // pillars on every second row and column
        fine = fine && (g.wall[row] & (row % 2 == 0 ? 0xffff : 0xd555)) == 0;
    if (!fine) {
        batch->host->error("no state of this game");
        return 1;
    }
    batch->game[index] = g;
    return 0;
}

static void chase_keys(const void *handle, uint32_t index, uint32_t held, const corral_env_rows *out_action)
{
    (void)handle;
    (void)index;
    *(int32_t *)out_action[0].data = held & CORRAL_KEY_UP      ? UP
                                     : held & CORRAL_KEY_RIGHT ? RIGHT
                                     : held & CORRAL_KEY_DOWN  ? DOWN
                                     : held & CORRAL_KEY_LEFT  ? LEFT
                                                               : STAY;
}

static const void *chase_extension(const char *name)
{
    static const corral_env_keys keys = {sizeof keys, "the arrows run", chase_keys};
    static const corral_env_state state = {sizeof state, sizeof(chase_game), chase_save, chase_load};
    if (strcmp(name, CORRAL_ENV_STATE) == 0) return &state;
    if (strcmp(name, CORRAL_ENV_RENDER) == 0) return &corral_chase_render;
    if (strcmp(name, CORRAL_ENV_KEYS) == 0) return &keys;
    return NULL;
}

// --- description

static const corral_space observation = FRAME_SPACE;
static const corral_space action = {
    .path = "", .kind = CORRAL_SPACE_DISCRETE, .dtype = CORRAL_SPACE_I32, .n = ACTIONS};
static const corral_env_param params[SETTINGS] = {
    [HUNTERS] = {"hunters", 3, 0, CHASE_HUNTERS_MAX, "how many hunters there are"},
    [HUNTER_SPEED] = {"hunter_speed", 0.5, 0, 1,
                      "chance that a hunter moves in a step; the runner always may"},
};
static const corral_env_batch_functions functions = {chase_create, free, chase_reset, chase_step};

const corral_env_type corral_env_chase = {
    .size = sizeof(corral_env_type),
    .id = "Chase-v0",
    .summary = "pick up gold and escape hunters: stay, up, right, down, left; 42x42 grey pixels",
    .spaces = {&observation, 1, &action, 1},
    .params = params,
    .param_count = SETTINGS,
    .max_episode_steps = 500,
    .reward_threshold = 20,
    .render_fps = 8,
    .batch = &functions,
    .extension = chase_extension,
};
