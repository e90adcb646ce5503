// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// CliffWalking: along the edge of a cliff from the lower left corner of a 4 x 12 board to the lower right
// one. A step costs 1; a fall costs 100 and leads back to the start, without an end of the episode. Sutton
// and Barto, "Reinforcement Learning", example 6.6. The state is row * 12 + column; actions are up, right,
// down, left. Slippery, a step goes where it should, or to the left or right of there, one third each.

#include "grid.h"
#include "table.h"

#include "../builtin.h"

#include <math.h>
#include <stdbool.h>

enum { ROWS = 4, COLUMNS = 12, STATES = ROWS * COLUMNS, START = 36, GOAL = 47 };
enum { SLIPPERY, SETTINGS };

static const uint8_t heading_of[4] = {GRID_UP, GRID_RIGHT, GRID_DOWN, GRID_LEFT}; // by action

static bool is_cliff(int32_t state)
{
    return state > START && state < GOAL;
}

static void add_step(corral_table *table, int32_t state, int32_t action, int32_t moved, double probability)
{
    const int heading = heading_of[moved];
    const int32_t row = grid_clamp(state / COLUMNS + grid_row_step[heading], ROWS);
    const int32_t column = grid_clamp(state % COLUMNS + grid_column_step[heading], COLUMNS);
    const int32_t next = row * COLUMNS + column;
    if (is_cliff(next))
        corral_table_add(table, state, action, probability, START, -100, false);
    else
        corral_table_add(table, state, action, probability, next, -1, next == GOAL);
}

static int32_t create(const corral_env_host *host, uint32_t count, const double *values, void **out_batch)
{
    if (corral_table_create(host, count, values, SETTINGS, STATES, 4, out_batch) != 0) return 1;
    corral_table *table = *out_batch;
    const bool slippery = values[SLIPPERY] != 0;
    for (int32_t state = 0; state < STATES; state++)
        for (int32_t action = 0; action < 4; action++)
            for (int turn = slippery ? -1 : 0; turn <= (slippery ? 1 : 0); turn++)
                add_step(table, state, action, (action + turn + 4) % 4, slippery ? 1.0 / 3.0 : 1.0);
    const double chance[STATES] = {[START] = 1.0};
    corral_table_set_start(table, chance);
    return 0;
}

// --- picture: 720 x 240

#define SIDE 60.0f

static uint32_t draw(const void *handle, uint32_t index, corral_draw *out_items, uint32_t limit)
{
    const corral_table *table = handle;
    const corral_table_instance *one = &table->instance[index];
    picture p = {out_items, limit, 0};
    for (int32_t s = 0; s < STATES; s++) {
        const uint32_t grass = (s / COLUMNS + s % COLUMNS) % 2 == 0 ? 0xcfe3c4ff : 0xc4dbb8ff;
        grid_square(&p, s / COLUMNS, s % COLUMNS, SIDE, is_cliff(s) ? 0x5b4636ff : grass);
    }
    picture_line(&p, SIDE, 3 * SIDE, 11 * SIDE, 3 * SIDE, 5, 0x8a6a4fff);
    grid_flag(&p, ROWS - 1, COLUMNS - 1, SIDE);
    grid_agent(&p, one->state / COLUMNS, one->state % COLUMNS, SIDE, heading_of[one->action], PICTURE_RED);
    return p.count;
}

static const void *extension(const char *name)
{
    static const corral_env_state state = {sizeof state, sizeof(corral_table_instance), corral_table_save,
                                           corral_table_load};
    static const corral_env_render render = {sizeof render, COLUMNS * SIDE, ROWS * SIDE, 0x9fb893ff, draw};
    if (strcmp(name, CORRAL_ENV_STATE) == 0) return &state;
    if (strcmp(name, CORRAL_ENV_RENDER) == 0) return &render;
    return NULL;
}

// --- description

static const corral_space observation = {
    .path = "", .kind = CORRAL_SPACE_DISCRETE, .dtype = CORRAL_SPACE_I32, .n = STATES};
static const corral_space action = {
    .path = "", .kind = CORRAL_SPACE_DISCRETE, .dtype = CORRAL_SPACE_I32, .n = 4};

#define HELP "1: a step may go to the left or right of where it should"
static const corral_env_param params[SETTINGS] = {{"is_slippery", 0, 0, 1, HELP}};
static const corral_env_param params_slippery[SETTINGS] = {{"is_slippery", 1, 0, 1, HELP}};
#undef HELP
static const corral_env_batch_functions functions = {create, corral_table_destroy, corral_table_reset,
                                                     corral_table_step};

#define CLIFF(name, text, parameters)                                                                        \
    {                                                                                                        \
        .size = sizeof(corral_env_type), .id = (name), .summary = (text),                                    \
        .spaces = {&observation, 1, &action, 1}, .params = (parameters), .param_count = SETTINGS,            \
        .reward_threshold = NAN, .render_fps = 4, .batch = &functions, .extension = extension,               \
    }
const corral_env_type corral_env_cliff_walking =
    CLIFF("CliffWalking-v1", "walk along the edge of a cliff to the other side", params);
const corral_env_type corral_env_cliff_walking_slippery = CLIFF(
    "CliffWalkingSlippery-v1", "walk along the slippery edge of a cliff to the other side", params_slippery);
#undef CLIFF
