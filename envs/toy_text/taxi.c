// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Taxi: fetch a passenger at one of four stops and drop them at another. Dietterich, "Hierarchical
// reinforcement learning with the MAXQ value function decomposition" (2000). A step costs 1, a pick-up or
// drop-off that makes no sense 10, a delivery gains 20. In rain the taxi may be pushed to the left or right
// of its heading, but only where the road ahead is free. A fickle passenger may want to go somewhere else,
// once, at the first move with them aboard.
//
// The mark of an instance is 1 while a fickle passenger may still change their mind in this episode.

#include "taxi.h"

#include "../builtin.h"

enum { RAINY, FICKLE, RAINY_PROBABILITY, FICKLE_PROBABILITY, SETTINGS };

// --- the table

static bool is_free(taxi t, int32_t heading)
{
    switch (heading) {
    case TAXI_SOUTH:
        return t.row < TAXI_SIDE - 1;
    case TAXI_NORTH:
        return t.row > 0;
    case TAXI_EAST:
        return t.column < TAXI_SIDE - 1 && !taxi_wall_east(t.row, t.column);
    default:
        return t.column > 0 && !taxi_wall_east(t.row, t.column - 1);
    }
}

static int32_t moved(taxi t, int32_t heading)
{
    static const int8_t row_step[4] = {1, -1, 0, 0}, column_step[4] = {0, 0, 1, -1};
    if (is_free(t, heading)) {
        t.row += row_step[heading];
        t.column += column_step[heading];
    }
    return taxi_state(t);
}

static void add_move(corral_table *table, int32_t state, int32_t heading)
{
    static const uint8_t left[4] = {TAXI_EAST, TAXI_WEST, TAXI_NORTH, TAXI_SOUTH};
    static const uint8_t right[4] = {TAXI_WEST, TAXI_EAST, TAXI_SOUTH, TAXI_NORTH};
    const taxi t = taxi_of(state);
    if (table->settings[RAINY] == 0) {
        corral_table_add(table, state, heading, 1.0, moved(t, heading), -1, false);
        return;
    }
    const double straight = table->settings[RAINY_PROBABILITY], aside = (1.0 - straight) / 2.0;
    const bool is_open = is_free(t, heading);
    corral_table_add(table, state, heading, straight, moved(t, heading), -1, false);
    corral_table_add(table, state, heading, aside, is_open ? moved(t, left[heading]) : state, -1, false);
    corral_table_add(table, state, heading, aside, is_open ? moved(t, right[heading]) : state, -1, false);
}

static void add_pick_up(corral_table *table, int32_t state)
{
    taxi t = taxi_of(state);
    const bool here = taxi_is_at(t, t.passenger);
    if (here) t.passenger = TAXI_ABOARD;
    corral_table_add(table, state, TAXI_PICK_UP, 1.0, taxi_state(t), here ? -1 : -10, false);
}

static void add_drop_off(corral_table *table, int32_t state)
{
    taxi t = taxi_of(state);
    int32_t stop = 0;
    while (stop < TAXI_STOPS && !taxi_is_at(t, stop))
        stop++;
    const bool possible = stop < TAXI_STOPS && t.passenger == TAXI_ABOARD;
    const bool delivered = possible && stop == t.destination;
    if (possible) t.passenger = stop;
    corral_table_add(table, state, TAXI_DROP_OFF, 1.0, taxi_state(t),
                     delivered  ? 20
                     : possible ? -1
                                : -10,
                     delivered);
}

static void set_start(corral_table *table)
{
    double chance[TAXI_STATES] = {0};
    for (int32_t state = 0; state < TAXI_STATES; state++) {
        const taxi t = taxi_of(state);
        if (t.passenger != TAXI_ABOARD && t.passenger != t.destination) chance[state] = 1.0 / 300.0;
    }
    corral_table_set_start(table, chance);
}

static int32_t create(const corral_env_host *host, uint32_t count, const double *values, void **out_batch)
{
    if (corral_table_create(host, count, values, SETTINGS, TAXI_STATES, TAXI_ACTIONS, out_batch) != 0)
        return 1;
    corral_table *table = *out_batch;
    for (int32_t state = 0; state < TAXI_STATES; state++) {
        for (int32_t heading = TAXI_SOUTH; heading <= TAXI_WEST; heading++)
            add_move(table, state, heading);
        add_pick_up(table, state);
        add_drop_off(table, state);
    }
    set_start(table);
    return 0;
}

// --- steps

static int32_t reset(void *handle, const uint8_t *mask, const uint64_t *seed, const corral_env_step *out)
{
    corral_table *table = handle;
    corral_table_reset(table, mask, seed, out);
    if (table->settings[FICKLE] == 0) return 0;
    for (uint32_t i = 0; i < table->count; i++) {
        if (mask != NULL && !mask[i]) continue;
        corral_table_instance *one = &table->instance[i];
        one->mark = table->host->rng_double(&one->rng) < table->settings[FICKLE_PROBABILITY];
    }
    return 0;
}

/// The passenger wants to go to one of the three other stops.
static void change_mind(const corral_table *table, corral_table_instance *one)
{
    taxi t = taxi_of(one->state);
    const int32_t choice = (int32_t)table->host->rng_integer(&one->rng, TAXI_STOPS - 1);
    t.destination = choice < t.destination ? choice : choice + 1;
    one->state = taxi_state(t);
    one->mark = 0;
}

static int32_t step(void *handle, const corral_env_step *io)
{
    corral_table *table = handle;
    for (uint32_t i = 0; i < table->count; i++) {
        corral_table_instance *one = &table->instance[i];
        const taxi before = taxi_of(one->state);
        const corral_table_outcome *taken = corral_table_move(table, i, corral_table_action(io, i));
        const taxi now = taxi_of(one->state);
        const bool has_moved = now.row != before.row || now.column != before.column;
        if (one->mark && before.passenger == TAXI_ABOARD && has_moved) change_mind(table, one);
        io->reward[i] = taken->reward;
        io->terminated[i] = taken->terminated;
        corral_table_observe(table, i, io);
    }
    return 0;
}

// --- extensions

/// What would change something.
static void mask(const void *handle, uint32_t index, uint8_t *out_allowed)
{
    const corral_table *table = handle;
    const taxi t = taxi_of(table->instance[index].state);
    for (int32_t heading = TAXI_SOUTH; heading <= TAXI_WEST; heading++)
        out_allowed[heading] = is_free(t, heading);
    bool at_stop = false;
    for (int32_t stop = 0; stop < TAXI_STOPS; stop++)
        at_stop |= taxi_is_at(t, stop);
    out_allowed[TAXI_PICK_UP] = taxi_is_at(t, t.passenger);
    out_allowed[TAXI_DROP_OFF] = t.passenger == TAXI_ABOARD && at_stop;
}

static const void *extension(const char *name)
{
    static const corral_env_state state = {sizeof state, sizeof(corral_table_instance), corral_table_save,
                                           corral_table_load};
    static const corral_env_action_mask action_mask = {sizeof action_mask, mask};
    if (strcmp(name, CORRAL_ENV_STATE) == 0) return &state;
    if (strcmp(name, CORRAL_ENV_RENDER) == 0) return &corral_taxi_render;
    if (strcmp(name, CORRAL_ENV_ACTION_MASK) == 0) return &action_mask;
    return NULL;
}

// --- description

static const corral_space observation = {
    .path = "", .kind = CORRAL_SPACE_DISCRETE, .dtype = CORRAL_SPACE_I32, .n = TAXI_STATES};
static const corral_space action = {
    .path = "", .kind = CORRAL_SPACE_DISCRETE, .dtype = CORRAL_SPACE_I32, .n = TAXI_ACTIONS};

static const corral_env_param params[SETTINGS] = {
    [RAINY] = {"is_rainy", 0, 0, 1, "1: the taxi may be pushed to the left or right of its heading"},
    [FICKLE] = {"fickle_passenger", 0, 0, 1, "1: the passenger may change the destination once"},
    [RAINY_PROBABILITY] = {"rainy_probability", 0.8, 0, 1, "chance that a taxi in rain goes straight"},
    [FICKLE_PROBABILITY] = {"fickle_probability", 0.3, 0, 1, "chance that a fickle passenger does"},
};
static const corral_env_batch_functions functions = {create, corral_table_destroy, reset, step};

const corral_env_type corral_env_taxi = {
    .size = sizeof(corral_env_type),
    .id = "Taxi-v4",
    .summary = "fetch a passenger and drop them where they want to go",
    .spaces = {&observation, 1, &action, 1},
    .params = params,
    .param_count = SETTINGS,
    .max_episode_steps = 200,
    .reward_threshold = 8,
    .render_fps = 4,
    .batch = &functions,
    .extension = extension,
};
