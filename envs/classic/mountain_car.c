// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// MountainCar: a car in a valley is too weak to drive up the right hill at once; it has to swing. Moore,
// "Efficient memory-based learning for robot control" (1990), as Gymnasium has it:
//
//   v <- clip(v + (a - 1) F - g cos(3 x))      x <- clip(x + v)
//
// The left end is a wall that stops the car.

#include "mountain_car.h"

#include "../builtin.h"

#include <math.h>

enum { GOAL_VELOCITY, FORCE, GRAVITY, SETTINGS };
#define GOAL 0.5

/// What is not a number stays what it is.
static double clip(double value, double low, double high)
{
    return value < low ? low : value > high ? high : value;
}

static void observe(const corral_columns *c, size_t index, const corral_env_step *io)
{
    const float row[2] = {(float)c->column[MOUNTAIN_CAR_POSITION][index],
                          (float)c->column[MOUNTAIN_CAR_SPEED][index]};
    corral_observation_f32(io, index, row, 2);
}

static int32_t step(void *columns, const corral_env_step *io)
{
    corral_columns *c = columns;
    const double force = c->settings[FORCE], gravity = c->settings[GRAVITY];
    for (size_t i = 0; i < c->count; i++) {
        double x = c->column[MOUNTAIN_CAR_POSITION][i], v = c->column[MOUNTAIN_CAR_SPEED][i];
        v += (corral_action_i32(io, i) - 1) * force + cos(3 * x) * -gravity;
        v = clip(v, -MOUNTAIN_CAR_SPEED_MAX, MOUNTAIN_CAR_SPEED_MAX);
        x = clip(x + v, MOUNTAIN_CAR_LEFT, MOUNTAIN_CAR_RIGHT);
        if (x == MOUNTAIN_CAR_LEFT && v < 0) v = 0;
        c->column[MOUNTAIN_CAR_POSITION][i] = x;
        c->column[MOUNTAIN_CAR_SPEED][i] = v;
        io->reward[i] = -1;
        io->terminated[i] = x >= GOAL && v >= c->settings[GOAL_VELOCITY];
        observe(c, i, io);
    }
    return 0;
}

int32_t corral_mountain_car_reset(void *columns, const uint8_t *mask, const uint64_t *seed,
                                  const corral_env_step *out)
{
    corral_columns *c = columns;
    for (size_t i = 0; i < c->count; i++) {
        if (mask != NULL && !mask[i]) continue;
        corral_env_rng rng;
        c->host->rng_seed(&rng, seed[i]);
        c->column[MOUNTAIN_CAR_POSITION][i] = c->host->rng_uniform(&rng, -0.6, -0.4);
        c->column[MOUNTAIN_CAR_SPEED][i] = 0;
        if (c->width > 2) c->column[2][i] = 1;
        observe(c, i, out);
    }
    return 0;
}

static int32_t create(const corral_env_host *host, uint32_t count, const double *values, void **out_batch)
{
    return corral_columns_create(host, count, values, SETTINGS, 2, out_batch);
}

static const void *extension(const char *name)
{
    static const corral_env_state state = {sizeof state, 2 * sizeof(double), corral_columns_save,
                                           corral_columns_load};
    if (strcmp(name, CORRAL_ENV_STATE) == 0) return &state;
    if (strcmp(name, CORRAL_ENV_RENDER) == 0) return &corral_mountain_car_render;
    return NULL;
}

static const double observation_low[2] = {MOUNTAIN_CAR_LEFT, -MOUNTAIN_CAR_SPEED_MAX};
static const double observation_high[2] = {MOUNTAIN_CAR_RIGHT, MOUNTAIN_CAR_SPEED_MAX};
static const corral_space observation = {
    .path = "",
    .kind = CORRAL_SPACE_BOX,
    .dtype = CORRAL_SPACE_F32,
    .dimension_count = 1,
    .shape = {2},
    .low_each = observation_low,
    .high_each = observation_high,
};
static const corral_space action = {
    .path = "", .kind = CORRAL_SPACE_DISCRETE, .dtype = CORRAL_SPACE_I32, .n = 3};

static const corral_env_param params[SETTINGS] = {
    [GOAL_VELOCITY] = {"goal_velocity", 0, -MOUNTAIN_CAR_SPEED_MAX, MOUNTAIN_CAR_SPEED_MAX,
                       "speed that the car needs at the flag"},
    [FORCE] = {"force", 0.001, 0, 1, "of the engine, per step"},
    [GRAVITY] = {"gravity", 0.0025, 0, 1, "pull of the slope, per step"},
};
static const corral_env_batch_functions functions = {create, corral_columns_destroy,
                                                     corral_mountain_car_reset, step};

const corral_env_type corral_env_mountain_car = {
    .size = sizeof(corral_env_type),
    .id = "MountainCar-v0",
    .summary = "swing a weak car out of a valley: push left, not at all, or right",
    .spaces = {&observation, 1, &action, 1},
    .params = params,
    .param_count = SETTINGS,
    .max_episode_steps = 200,
    .reward_threshold = -110,
    .render_fps = 30,
    .batch = &functions,
    .extension = extension,
};
