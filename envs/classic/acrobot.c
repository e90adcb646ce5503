// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Acrobot: two rods hang from an axle, a motor sits in the joint between them, and the tip shall rise above a
// line one rod's length over the axle. Sutton, "Generalization in reinforcement learning: successful examples
// using sparse coarse coding" (1996). With angle a of the first rod (0 hangs down), b of the second relative
// to it, speeds a' and b', torque u, masses, lengths and moments of inertia 1, centres of mass at 1/2:
//
//   d1 = 1/4 + (5/4 + cos b) + 2                d2 = (1/4 + cos(b)/2) + 1
//   p2 = g/2 cos(a + b - pi/2)
//   p1 = -b'^2/2 sin b - b' a' sin b + 3/2 g cos(a - pi/2) + p2
//   b'' = (u + d2/d1 p1 - a'^2/2 sin b - p2) / (5/4 - d2^2/d1)
//   a'' = -(d2 b'' + p1) / d1
//
// One step is one Runge-Kutta step of order four over 0.2 s; then angles are wrapped and speeds clipped. The
// book by Sutton and Barto has the term with a'^2, the paper of 1996 does not: `nips`. The order of
// operations is Gymnasium's, so that states are equal to the last bit.

#include "acrobot.h"
#include "columns.h"
#include "sincos.h"

#include "../builtin.h"

#include <math.h>
#include <stdbool.h>

enum { BLOCK = 64 };
enum { ANGLE1, ANGLE2, SPIN1, SPIN2, WIDTH };
enum { NIPS, SETTINGS };
#define PI         3.141592653589793
#define GRAVITY    9.8
#define TAU        0.2
#define SPIN1_MAX  (4 * PI)
#define SPIN2_MAX  (9 * PI)
#define ANGLE_SANE 1000.0 // a saved angle beyond it is none: wrapping would take for ever

typedef double block[WIDTH][BLOCK];

/// The rates of change of `count` states.
static void derive(const block state, const double *torque, size_t count, bool nips, block out_rate)
{
    double sine[BLOCK], cosine[BLOCK];
    corral_sincos(state[ANGLE2], sine, cosine, count);
    for (size_t i = 0; i < count; i++) {
        const double a = state[ANGLE1][i], b = state[ANGLE2][i];
        const double spin1 = state[SPIN1][i], spin2 = state[SPIN2][i];
        const double d1 = 0.25 + (1.25 + cosine[i]) + 1 + 1;
        const double d2 = 0.25 + 0.5 * cosine[i] + 1;
        const double p2 = 0.5 * GRAVITY * cos(a + b - PI / 2);
        const double p1 =
            -0.5 * (spin2 * spin2) * sine[i] - spin2 * spin1 * sine[i] + 1.5 * GRAVITY * cos(a - PI / 2) + p2;
        const double driven = torque[i] + d2 / d1 * p1;
        const double bent = nips ? driven : driven - 0.5 * (spin1 * spin1) * sine[i];
        const double spin2_rate = (bent - p2) / (1.25 - d2 * d2 / d1);
        out_rate[ANGLE1][i] = spin1;
        out_rate[ANGLE2][i] = spin2;
        out_rate[SPIN1][i] = -(d2 * spin2_rate + p1) / d1;
        out_rate[SPIN2][i] = spin2_rate;
    }
}

/// state + time * rate
static void advance(const block state, const block rate, double time, size_t count, block out_state)
{
    for (size_t k = 0; k < WIDTH; k++)
        for (size_t i = 0; i < count; i++)
            out_state[k][i] = state[k][i] + time * rate[k][i];
}

static void runge_kutta(block state, const double *torque, size_t count, bool nips)
{
    block middle, k1, k2, k3, k4;
    derive(state, torque, count, nips, k1);
    advance(state, k1, TAU / 2, count, middle);
    derive(middle, torque, count, nips, k2);
    advance(state, k2, TAU / 2, count, middle);
    derive(middle, torque, count, nips, k3);
    advance(state, k3, TAU, count, middle);
    derive(middle, torque, count, nips, k4);
    for (size_t k = 0; k < WIDTH; k++)
        for (size_t i = 0; i < count; i++)
            state[k][i] += TAU / 6.0 * (k1[k][i] + 2 * k2[k][i] + 2 * k3[k][i] + k4[k][i]);
}

static double wrap(double angle)
{
    while (angle > PI)
        angle -= 2 * PI;
    while (angle < -PI)
        angle += 2 * PI;
    return angle;
}

static double bound(double value, double limit)
{
    return value < -limit ? -limit : value > limit ? limit : value;
}

/// Writes an observation from the state and the sines and cosines of its angles.
static void observe(const corral_columns *c, size_t index, const double *cosines, const double *sines,
                    const corral_env_step *io)
{
    const float row[6] = {(float)cosines[0],
                          (float)sines[0],
                          (float)cosines[1],
                          (float)sines[1],
                          (float)c->column[SPIN1][index],
                          (float)c->column[SPIN2][index]};
    corral_observation_f32(io, index, row, 6);
}

static void store(corral_columns *c, size_t first, size_t count, block state)
{
    for (size_t i = 0; i < count; i++) {
        c->column[ANGLE1][first + i] = wrap(state[ANGLE1][i]);
        c->column[ANGLE2][first + i] = wrap(state[ANGLE2][i]);
        c->column[SPIN1][first + i] = bound(state[SPIN1][i], SPIN1_MAX);
        c->column[SPIN2][first + i] = bound(state[SPIN2][i], SPIN2_MAX);
    }
}

static void judge(const corral_columns *c, size_t first, size_t count, const corral_env_step *io)
{
    const double *angle1 = c->column[ANGLE1] + first, *angle2 = c->column[ANGLE2] + first;
    double sine1[BLOCK], cosine1[BLOCK], sine2[BLOCK], cosine2[BLOCK];
    corral_sincos(angle1, sine1, cosine1, count);
    corral_sincos(angle2, sine2, cosine2, count);
    for (size_t i = 0; i < count; i++) {
        const bool above = -cosine1[i] - cos(angle2[i] + angle1[i]) > 1.0;
        io->terminated[first + i] = above;
        io->reward[first + i] = above ? 0 : -1;
        observe(c, first + i, (const double[2]){cosine1[i], cosine2[i]},
                (const double[2]){sine1[i], sine2[i]}, io);
    }
}

static int32_t step(void *columns, const corral_env_step *io)
{
    corral_columns *c = columns;
    for (size_t first = 0; first < c->count; first += BLOCK) {
        const size_t count = c->count - first < BLOCK ? c->count - first : BLOCK;
        block state;
        double torque[BLOCK];
        for (size_t k = 0; k < WIDTH; k++)
            memcpy(state[k], c->column[k] + first, count * sizeof(double));
        for (size_t i = 0; i < count; i++)
            torque[i] = corral_action_i32(io, first + i) - 1;
        runge_kutta(state, torque, count, c->settings[NIPS] != 0);
        store(c, first, count, state);
        judge(c, first, count, io);
    }
    return 0;
}

static int32_t reset(void *columns, const uint8_t *mask, const uint64_t *seed, const corral_env_step *out)
{
    corral_columns *c = columns;
    for (size_t i = 0; i < c->count; i++) {
        if (mask != NULL && !mask[i]) continue;
        corral_env_rng rng;
        c->host->rng_seed(&rng, seed[i]);
        for (size_t k = 0; k < WIDTH; k++)
            c->column[k][i] = (float)c->host->rng_uniform(&rng, -0.1, 0.1);
        const double a = c->column[ANGLE1][i], b = c->column[ANGLE2][i];
        observe(c, i, (const double[2]){cos(a), cos(b)}, (const double[2]){sin(a), sin(b)}, out);
    }
    return 0;
}

static int32_t create(const corral_env_host *host, uint32_t count, const double *values, void **out_batch)
{
    return corral_columns_create(host, count, values, SETTINGS, WIDTH, out_batch);
}

static int32_t load(void *columns, uint32_t index, const void *saved)
{
    corral_columns *c = columns;
    double state[WIDTH];
    memcpy(state, saved, sizeof state);
    for (size_t k = 0; k < WIDTH; k++) {
        if (fabs(state[k]) <= ANGLE_SANE) continue; // false for what is not a number
        c->host->error("an angle or a speed is out of all bounds");
        return 1;
    }
    return corral_columns_load(columns, index, saved);
}

static const void *extension(const char *name)
{
    static const corral_env_state state = {sizeof state, WIDTH * sizeof(double), corral_columns_save, load};
    if (strcmp(name, CORRAL_ENV_STATE) == 0) return &state;
    if (strcmp(name, CORRAL_ENV_RENDER) == 0) return &corral_acrobot_render;
    return NULL;
}

static const double observation_low[6] = {-1, -1, -1, -1, -SPIN1_MAX, -SPIN2_MAX};
static const double observation_high[6] = {1, 1, 1, 1, SPIN1_MAX, SPIN2_MAX};
static const corral_space observation = {
    .path = "",
    .kind = CORRAL_SPACE_BOX,
    .dtype = CORRAL_SPACE_F32,
    .dimension_count = 1,
    .shape = {6},
    .low_each = observation_low,
    .high_each = observation_high,
};
static const corral_space action = {
    .path = "", .kind = CORRAL_SPACE_DISCRETE, .dtype = CORRAL_SPACE_I32, .n = 3};

static const corral_env_param params[SETTINGS] = {
    [NIPS] = {"nips", 0, 0, 1, "1: the equations of the paper of 1996; 0: those of the book"},
};
static const corral_env_batch_functions functions = {create, corral_columns_destroy, reset, step};

const corral_env_type corral_env_acrobot = {
    .size = sizeof(corral_env_type),
    .id = "Acrobot-v1",
    .summary = "swing the tip of two hanging rods above a line with a motor between them",
    .spaces = {&observation, 1, &action, 1},
    .params = params,
    .param_count = SETTINGS,
    .max_episode_steps = 500,
    .reward_threshold = -100,
    .render_fps = 15,
    .batch = &functions,
    .extension = extension,
};
