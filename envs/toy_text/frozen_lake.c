// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// FrozenLake: cross the ice from S to G without falling into a hole H. On slippery ice a step goes where it
// should with the chance `success_rate`, else to the left or the right of there, each with half of the rest.
// The state is row * side + column; actions are left, down, right, up. The maps are Gymnasium's.

#include "grid.h"
#include "table.h"

#include "../builtin.h"

#include <math.h>
#include <stdbool.h>

enum { SLIPPERY, SUCCESS_RATE, REWARD_GOAL, REWARD_HOLE, REWARD_ICE, SETTINGS };

typedef struct lake_map {
    int32_t side;
    const char *tiles; // rows one after the other
} lake_map;

static const lake_map lake4 = {4, "SFFF"
                                  "FHFH"
                                  "FFFH"
                                  "HFFG"};
static const lake_map lake8 = {8, "SFFFFFFF"
                                  "FFFFFFFF"
                                  "FFFHFFFF"
                                  "FFFFFHFF"
                                  "FFFHFFFF"
                                  "FHHFFFHF"
                                  "FHFFHFHF"
                                  "FFFHFFFG"};

static void add_step(corral_table *table, const lake_map *lake, int32_t state, int32_t action, int heading,
                     double probability)
{
    const int32_t row = grid_clamp(state / lake->side + grid_row_step[heading], lake->side);
    const int32_t column = grid_clamp(state % lake->side + grid_column_step[heading], lake->side);
    const int32_t next = row * lake->side + column;
    const char tile = lake->tiles[next];
    const double reward = table->settings[tile == 'G' ? REWARD_GOAL : tile == 'H' ? REWARD_HOLE : REWARD_ICE];
    corral_table_add(table, state, action, probability, next, reward, tile == 'G' || tile == 'H');
}

static void add_entry(corral_table *table, const lake_map *lake, int32_t state, int32_t action)
{
    const char tile = lake->tiles[state];
    if (tile == 'G' || tile == 'H') {
        corral_table_add(table, state, action, 1.0, state, 0, true);
    } else if (table->settings[SLIPPERY] == 0) {
        add_step(table, lake, state, action, action, 1.0);
    } else {
        const double success = table->settings[SUCCESS_RATE], slip = (1.0 - success) / 2.0;
        for (int turn = -1; turn <= 1; turn++)
            add_step(table, lake, state, action, (action + turn + 4) % 4, turn == 0 ? success : slip);
    }
}

static int32_t create(const lake_map *lake, const corral_env_host *host, uint32_t count, const double *values,
                      void **out_batch)
{
    const int32_t states = lake->side * lake->side;
    if (corral_table_create(host, count, values, SETTINGS, states, 4, out_batch) != 0) return 1;
    corral_table *table = *out_batch;
    for (int32_t state = 0; state < states; state++)
        for (int32_t action = 0; action < 4; action++)
            add_entry(table, lake, state, action);
    const double chance[64] = {1.0}; // the first tile is the only S
    corral_table_set_start(table, chance);
    return 0;
}

static int32_t create4(const corral_env_host *host, uint32_t count, const double *values, void **out_batch)
{
    return create(&lake4, host, count, values, out_batch);
}

static int32_t create8(const corral_env_host *host, uint32_t count, const double *values, void **out_batch)
{
    return create(&lake8, host, count, values, out_batch);
}

// --- picture: 512 x 512

#define SIZE 512.0f

static uint32_t draw(const void *handle, uint32_t index, corral_draw *out_items, uint32_t limit)
{
    const corral_table *table = handle;
    const corral_table_instance *one = &table->instance[index];
    const lake_map *lake = table->states == 16 ? &lake4 : &lake8;
    const float side = SIZE / (float)lake->side;
    picture p = {out_items, limit, 0};
    for (int32_t s = 0; s < table->states; s++) {
        const int32_t row = s / lake->side, column = s % lake->side;
        grid_square(&p, row, column, side, lake->tiles[s] == 'S' ? 0xcfe3d4ff : 0xd6e9f5ff);
        if (lake->tiles[s] == 'G') grid_flag(&p, row, column, side);
        if (lake->tiles[s] != 'H') continue;
        picture_circle(&p, ((float)column + 0.5f) * side, ((float)row + 0.5f) * side, side * 0.38f,
                       0x9cc3dcff);
        picture_circle(&p, ((float)column + 0.5f) * side, ((float)row + 0.5f) * side, side * 0.32f,
                       0x29506bff);
    }
    const bool fallen = lake->tiles[one->state] == 'H';
    grid_agent(&p, one->state / lake->side, one->state % lake->side, side, one->action,
               fallen ? PICTURE_BLUE : PICTURE_RED);
    return p.count;
}

static const void *extension(const char *name)
{
    static const corral_env_state state = {sizeof state, sizeof(corral_table_instance), corral_table_save,
                                           corral_table_load};
    static const corral_env_render render = {sizeof render, SIZE, SIZE, 0xb5d3e6ff, draw};
    if (strcmp(name, CORRAL_ENV_STATE) == 0) return &state;
    if (strcmp(name, CORRAL_ENV_RENDER) == 0) return &render;
    return NULL;
}

// --- description

static const corral_space observation4 = {
    .path = "", .kind = CORRAL_SPACE_DISCRETE, .dtype = CORRAL_SPACE_I32, .n = 16};
static const corral_space observation8 = {
    .path = "", .kind = CORRAL_SPACE_DISCRETE, .dtype = CORRAL_SPACE_I32, .n = 64};
static const corral_space action = {
    .path = "", .kind = CORRAL_SPACE_DISCRETE, .dtype = CORRAL_SPACE_I32, .n = 4};

static const corral_env_param params[SETTINGS] = {
    [SLIPPERY] = {"is_slippery", 1, 0, 1, "1: a step may go to the left or right of where it should"},
    [SUCCESS_RATE] = {"success_rate", 1.0 / 3.0, 0, 1, "chance that a step on slippery ice goes right"},
    [REWARD_GOAL] = {"reward_goal", 1, -1000, 1000, "reward for the goal"},
    [REWARD_HOLE] = {"reward_hole", 0, -1000, 1000, "reward for a hole"},
    [REWARD_ICE] = {"reward_ice", 0, -1000, 1000, "reward for any other tile"},
};
static const corral_env_batch_functions functions4 = {create4, corral_table_destroy, corral_table_reset,
                                                      corral_table_step};
static const corral_env_batch_functions functions8 = {create8, corral_table_destroy, corral_table_reset,
                                                      corral_table_step};

#define LAKE(name, space, steps, threshold, batch_functions)                                                 \
    {                                                                                                        \
        .size = sizeof(corral_env_type), .id = (name),                                                       \
        .summary = "cross slippery ice without falling into a hole", .spaces = {&(space), 1, &action, 1},    \
        .params = params, .param_count = SETTINGS, .max_episode_steps = (steps),                             \
        .reward_threshold = (threshold), .render_fps = 4, .batch = &(batch_functions),                       \
        .extension = extension,                                                                              \
    }
const corral_env_type corral_env_frozen_lake = LAKE("FrozenLake-v1", observation4, 100, 0.70, functions4);
const corral_env_type corral_env_frozen_lake8x8 =
    LAKE("FrozenLake8x8-v1", observation8, 200, 0.85, functions8);
#undef LAKE
