// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Pendulum: swing a rod up with a motor too weak to lift it, and hold it there. As Gymnasium has it, with
// angle a (0 is up), its speed w, torque u, mass and length 1:
//
//   reward = -(norm(a)^2 + 0.1 w^2 + 0.001 u^2)        of the state before the step
//   w <- clip(w + (3 g / 2 sin a + 3 u) dt)            a <- a + w dt       (semi-implicit Euler)
//
// The angle grows without bound; only its norm, within -pi .. pi, is judged. With NumPy 2 and 32-bit actions
// the two products with u are 32-bit ones.
//
// The sine of an angle is needed for the observation and again in the next step, so it is kept.

#include "pendulum.h"
#include "columns.h"
#include "sincos.h"

#include "../builtin.h"

#include <math.h>
#include <stdbool.h>

enum { BLOCK = 64 };
enum { ANGLE = PENDULUM_ANGLE, SPIN = PENDULUM_SPIN, SINE, TORQUE = PENDULUM_TORQUE, WIDTH };
enum { GRAVITY, X_INIT, Y_INIT, NUMPY2, SETTINGS };
#define PI         3.141592653589793
#define TORQUE_MAX 2.0
#define SPIN_MAX   8.0
#define TAU        0.05

static double clip(double value, double low, double high)
{
    return value < low ? low : value > high ? high : value;
}

/// Into -pi .. pi, with the remainder of Python, which has the divisor's sign.
static double norm(double angle)
{
    double rest = fmod(angle + PI, 2 * PI);
    if (rest < 0) rest += 2 * PI;
    return rest - PI;
}

static void observe(const corral_columns *c, size_t index, double cosine, const corral_env_step *io)
{
    const float row[3] = {(float)cosine, (float)c->column[SINE][index], (float)c->column[SPIN][index]};
    corral_observation_f32(io, index, row, 3);
}

/// Moves one instance and returns the cost.
static double move(const corral_columns *c, size_t index, double torque)
{
    double *angle = &c->column[ANGLE][index], *spin = &c->column[SPIN][index];
    const float u = (float)torque;
    const bool numpy2 = c->settings[NUMPY2] != 0;
    const double effort = numpy2 ? (double)(0.001f * (u * u)) : 0.001 * (torque * torque);
    const double drive = numpy2 ? (double)(3.0f * u) : 3.0 * torque;

    const double a = norm(*angle);
    const double cost = a * a + 0.1 * (*spin * *spin) + effort;
    const double pull = 3 * c->settings[GRAVITY] / 2;
    *spin = clip(*spin + (pull * c->column[SINE][index] + drive) * TAU, -SPIN_MAX, SPIN_MAX);
    *angle += *spin * TAU;
    return cost;
}

static void step_block(corral_columns *c, size_t first, size_t count, const corral_env_step *io)
{
    double cosine[BLOCK];
    for (size_t i = first; i < first + count; i++) {
        c->column[TORQUE][i] = clip((double)corral_action_f32(io, i), -TORQUE_MAX, TORQUE_MAX);
        io->reward[i] = -move(c, i, c->column[TORQUE][i]);
        io->terminated[i] = 0;
    }
    corral_sincos(c->column[ANGLE] + first, c->column[SINE] + first, cosine, count);
    for (size_t i = 0; i < count; i++)
        observe(c, first + i, cosine[i], io);
}

static int32_t step(void *columns, const corral_env_step *io)
{
    corral_columns *c = columns;
    for (size_t first = 0; first < c->count; first += BLOCK)
        step_block(c, first, c->count - first < BLOCK ? c->count - first : BLOCK, io);
    return 0;
}

static int32_t reset(void *columns, const uint8_t *mask, const uint64_t *seed, const corral_env_step *out)
{
    corral_columns *c = columns;
    const double x = c->settings[X_INIT], y = c->settings[Y_INIT];
    for (size_t i = 0; i < c->count; i++) {
        if (mask != NULL && !mask[i]) continue;
        corral_env_rng rng;
        c->host->rng_seed(&rng, seed[i]);
        c->column[ANGLE][i] = c->host->rng_uniform(&rng, -x, x);
        c->column[SPIN][i] = c->host->rng_uniform(&rng, -y, y);
        c->column[SINE][i] = sin(c->column[ANGLE][i]);
        c->column[TORQUE][i] = 0;
        observe(c, i, cos(c->column[ANGLE][i]), out);
    }
    return 0;
}

static int32_t create(const corral_env_host *host, uint32_t count, const double *values, void **out_batch)
{
    return corral_columns_create(host, count, values, SETTINGS, WIDTH, out_batch);
}

/// The sine follows from the angle, whatever was saved beside it.
static int32_t load(void *columns, uint32_t index, const void *state)
{
    corral_columns *c = columns;
    const int32_t result = corral_columns_load(columns, index, state);
    c->column[SINE][index] = sin(c->column[ANGLE][index]);
    return result;
}

static const void *extension(const char *name)
{
    static const corral_env_state state = {sizeof state, WIDTH * sizeof(double), corral_columns_save, load};
    if (strcmp(name, CORRAL_ENV_STATE) == 0) return &state;
    if (strcmp(name, CORRAL_ENV_RENDER) == 0) return &corral_pendulum_render;
    return NULL;
}

static const double observation_low[3] = {-1, -1, -SPIN_MAX};
static const double observation_high[3] = {1, 1, SPIN_MAX};
static const corral_space observation = {
    .path = "",
    .kind = CORRAL_SPACE_BOX,
    .dtype = CORRAL_SPACE_F32,
    .dimension_count = 1,
    .shape = {3},
    .low_each = observation_low,
    .high_each = observation_high,
};
static const corral_space action = {.path = "",
                                    .kind = CORRAL_SPACE_BOX,
                                    .dtype = CORRAL_SPACE_F32,
                                    .dimension_count = 1,
                                    .shape = {1},
                                    .low = -TORQUE_MAX,
                                    .high = TORQUE_MAX};

static const corral_env_param params[SETTINGS] = {
    [GRAVITY] = {"g", 10, 0, 1000, "gravity in m/s^2"},
    [X_INIT] = {"x_init", PI, 0, 100, "an episode begins at an angle within -x_init .. x_init"},
    [Y_INIT] = {"y_init", 1, 0, SPIN_MAX, "and a speed within -y_init .. y_init"},
    [NUMPY2] = {"numpy2", 1, 0, 1, "1: round as Gymnasium on NumPy 2 does; 0: as on NumPy 1"},
};
static const corral_env_batch_functions functions = {create, corral_columns_destroy, reset, step};

const corral_env_type corral_env_pendulum = {
    .size = sizeof(corral_env_type),
    .id = "Pendulum-v1",
    .summary = "swing a rod up with a weak motor and hold it there",
    .spaces = {&observation, 1, &action, 1},
    .params = params,
    .param_count = SETTINGS,
    .max_episode_steps = 200,
    .reward_threshold = NAN,
    .render_fps = 30,
    .batch = &functions,
    .extension = extension,
};
