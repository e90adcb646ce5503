// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// MountainCarContinuous: the car of MountainCar with a throttle that costs. As Gymnasium has it:
//
//   v <- clip(v + clip(a) P - 0.0025 cos(3 x))      x <- clip(x + v)      reward -0.1 a^2, at the flag +100
//
// Gymnasium keeps x and v as 32-bit numbers from the first step on. How the sums in between are rounded
// depends on its NumPy. Before NumPy 2 everything is computed in doubles. Since then, an operation of a
// 32-bit number with a Python number is a 32-bit one; Python's own operations (the product with the cosine,
// and a throttle that had to be clipped, which then is a Python number) stay doubles; and the first step of
// an episode starts from the doubles of the reset. The third column is 1 while that is so.

#include "mountain_car.h"

#include "../builtin.h"

#include <math.h>
#include <stdbool.h>

enum { GOAL_VELOCITY, POWER, NUMPY2, SETTINGS };
enum { FRESH = 2, WIDTH };
#define GOAL    0.45
#define GRAVITY 0.0025

static double clip(double value, double low, double high)
{
    return value < low ? low : value > high ? high : value;
}

static float clipf(float value, double low, double high)
{
    return value < (float)low ? (float)low : value > (float)high ? (float)high : value;
}

/// What throttle and slope add to the speed, rounded as NumPy 2 does.
static double push_numpy2(double position, bool fresh, float throttle, double power)
{
    const double angle = fresh ? 3 * position : (double)(3.0f * (float)position);
    const double pull = GRAVITY * cos(angle);
    if (throttle < -1 || throttle > 1) return (throttle < 0 ? -1 : 1) * power - pull;
    return (double)(throttle * (float)power - (float)pull);
}

/// From doubles: all of NumPy 1, and the first step of NumPy 2. True at the flag.
static bool move_double(double *position, double *speed, double push, double goal_velocity)
{
    double v = clip(*speed + push, -MOUNTAIN_CAR_SPEED_MAX, MOUNTAIN_CAR_SPEED_MAX);
    const double x = clip(*position + v, MOUNTAIN_CAR_LEFT, MOUNTAIN_CAR_RIGHT);
    if (x == MOUNTAIN_CAR_LEFT && v < 0) v = 0;
    *position = (float)x;
    *speed = (float)v;
    return x >= GOAL && v >= goal_velocity; // of the numbers before they were rounded
}

static bool move_float(double *position, double *speed, double push, double goal_velocity)
{
    float v = clipf((float)*speed + (float)push, -MOUNTAIN_CAR_SPEED_MAX, MOUNTAIN_CAR_SPEED_MAX);
    const float x = clipf((float)*position + v, MOUNTAIN_CAR_LEFT, MOUNTAIN_CAR_RIGHT);
    if (x == (float)MOUNTAIN_CAR_LEFT && v < 0) v = 0;
    *position = (double)x;
    *speed = (double)v;
    return x >= (float)GOAL && v >= (float)goal_velocity;
}

static bool move(const corral_columns *c, size_t index, float throttle)
{
    double *position = &c->column[MOUNTAIN_CAR_POSITION][index];
    double *speed = &c->column[MOUNTAIN_CAR_SPEED][index];
    const bool fresh = c->column[FRESH][index] != 0, numpy2 = c->settings[NUMPY2] != 0;
    c->column[FRESH][index] = 0;
    const double power = c->settings[POWER], goal_velocity = c->settings[GOAL_VELOCITY];
    const double push = numpy2 ? push_numpy2(*position, fresh, throttle, power)
                               : clip((double)throttle, -1, 1) * power - GRAVITY * cos(3 * *position);
    return numpy2 && !fresh ? move_float(position, speed, push, goal_velocity)
                            : move_double(position, speed, push, goal_velocity);
}

static int32_t step(void *columns, const corral_env_step *io)
{
    const corral_columns *c = columns;
    for (size_t i = 0; i < c->count; i++) {
        const float throttle = corral_action_f32(io, i);
        const bool there = move(c, i, throttle);
        const double cost = (double)throttle * (double)throttle * 0.1;
        io->reward[i] = (there ? 100 : 0) - cost;
        io->terminated[i] = there;
        const float row[2] = {(float)c->column[MOUNTAIN_CAR_POSITION][i],
                              (float)c->column[MOUNTAIN_CAR_SPEED][i]};
        corral_observation_f32(io, i, row, 2);
    }
    return 0;
}

static int32_t create(const corral_env_host *host, uint32_t count, const double *values, void **out_batch)
{
    return corral_columns_create(host, count, values, SETTINGS, WIDTH, out_batch);
}

static const void *extension(const char *name)
{
    static const corral_env_state state = {sizeof state, WIDTH * sizeof(double), corral_columns_save,
                                           corral_columns_load};
    if (strcmp(name, CORRAL_ENV_STATE) == 0) return &state;
    if (strcmp(name, CORRAL_ENV_RENDER) == 0) return &corral_mountain_car_continuous_render;
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
static const corral_space action = {.path = "",
                                    .kind = CORRAL_SPACE_BOX,
                                    .dtype = CORRAL_SPACE_F32,
                                    .dimension_count = 1,
                                    .shape = {1},
                                    .low = -1,
                                    .high = 1};

static const corral_env_param params[SETTINGS] = {
    [GOAL_VELOCITY] = {"goal_velocity", 0, -MOUNTAIN_CAR_SPEED_MAX, MOUNTAIN_CAR_SPEED_MAX,
                       "speed that the car needs at the flag"},
    [POWER] = {"power", 0.0015, 0, 1, "of the engine, per step"},
    [NUMPY2] = {"numpy2", 1, 0, 1, "1: round as Gymnasium on NumPy 2 does; 0: as on NumPy 1"},
};
static const corral_env_batch_functions functions = {create, corral_columns_destroy,
                                                     corral_mountain_car_reset, step};

const corral_env_type corral_env_mountain_car_continuous = {
    .size = sizeof(corral_env_type),
    .id = "MountainCarContinuous-v0",
    .summary = "swing a weak car out of a valley with as little throttle as it takes",
    .spaces = {&observation, 1, &action, 1},
    .params = params,
    .param_count = SETTINGS,
    .max_episode_steps = 999,
    .reward_threshold = 90,
    .render_fps = 30,
    .batch = &functions,
    .extension = extension,
};
