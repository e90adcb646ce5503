// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// CartPole: a pole on a cart that is pushed left or right with a fixed force. Barto, Sutton and Anderson,
// "Neuronlike adaptive elements that can solve difficult learning control problems" (1983); with the
// equations as Gymnasium has them, in its order of operations, so that states are equal to the last bit:
//
//   push    = (F + m_p l w^2 sin a) / m           m = m_p + m_c, a the angle, w its speed
//   w'      = (g sin a - cos a push) / (l (4/3 - m_p cos^2 a / m))
//   v'      = push - m_p l w' cos a / m
//
// and one Euler step of tau. All instances lie side by side, one array per quantity, and are stepped in
// blocks: the compiler turns each loop over a block into vector instructions, which round as scalar ones do.

#include "cartpole.h"

#include "../builtin.h"
#include "sincos.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 64 };

// --- rules

static void read_forces(const corral_env_rows *action, size_t first, size_t count, double force,
                        double *out_force)
{
    const double forces[] = {-force, force}; // looked up: a branch would be guessed wrong every other time
    const char *row = (const char *)action->data + first * action->stride;
    for (size_t i = 0; i < count; i++, row += action->stride) {
        int32_t push;
        memcpy(&push, row, sizeof push);
        out_force[i] = forces[push == 1];
    }
}

/// Moves `count` <= BLOCK instances.
static inline __attribute__((always_inline)) void
move(const cartpole_settings *s, size_t count, const double *restrict force, const double *restrict sine,
     const double *restrict cosine, double *restrict position, double *restrict speed, double *restrict angle,
     double *restrict spin)
{
    const double total_mass = s->pole_mass + s->cart_mass;
    const double pole_moment = s->pole_mass * s->half_length;
    const bool euler = s->semi_implicit == 0;
    for (size_t i = 0; i < count; i++) {
        const double push = (force[i] + pole_moment * (spin[i] * spin[i]) * sine[i]) / total_mass;
        const double spin_rate =
            (s->gravity * sine[i] - cosine[i] * push) /
            (s->half_length * (4.0 / 3.0 - s->pole_mass * (cosine[i] * cosine[i]) / total_mass));
        const double speed_rate = push - pole_moment * spin_rate * cosine[i] / total_mass;

        const double next_speed = speed[i] + s->tau * speed_rate;
        const double next_spin = spin[i] + s->tau * spin_rate;
        // Euler moves with the old velocities, the semi-implicit variant with the new ones.
        position[i] += s->tau * (euler ? speed[i] : next_speed);
        angle[i] += s->tau * (euler ? spin[i] : next_spin);
        speed[i] = next_speed;
        spin[i] = next_spin;
    }
}

/// Strictly outside; what is not a number is not outside.
static inline __attribute__((always_inline)) void judge(const cartpole_batch *batch, size_t first,
                                                        size_t count, const corral_env_step *io)
{
    const double *restrict position = batch->position + first, *restrict angle = batch->angle + first;
    uint8_t *restrict fallen = batch->fallen + first, *restrict terminated = io->terminated + first;
    double *restrict reward = io->reward + first;

    const int sutton_barto = batch->settings.sutton_barto_reward != 0;
    const double rewards[] = {
        sutton_barto ? 0 : 1,  // while it stands
        sutton_barto ? -1 : 1, // in the step that ends it
        sutton_barto ? -1 : 0, // where it is stepped on regardless
    };
    for (size_t i = 0; i < count; i++) {
        const uint8_t out =
            (fabs(position[i]) > CARTPOLE_POSITION_LIMIT) | (fabs(angle[i]) > CARTPOLE_ANGLE_LIMIT);
        reward[i] = rewards[out + (out & fallen[i])];
        fallen[i] |= out;
        terminated[i] = out;
    }
}

static void observe(const cartpole_batch *batch, size_t index, const corral_env_rows *observation)
{
    const float row[4] = {(float)batch->position[index], (float)batch->speed[index],
                          (float)batch->angle[index], (float)batch->spin[index]};
    memcpy((char *)observation->data + index * observation->stride, row, sizeof row);
}

typedef struct block {
    size_t first, count;
    double force[BLOCK], sine[BLOCK], cosine[BLOCK];
} block;

static inline __attribute__((always_inline)) void play(cartpole_batch *batch, const block *b,
                                                       const corral_env_step *io)
{
    const size_t first = b->first;
    move(&batch->settings, b->count, b->force, b->sine, b->cosine, batch->position + first,
         batch->speed + first, batch->angle + first, batch->spin + first);
    judge(batch, first, b->count, io);
    for (size_t i = first; i < first + b->count; i++)
        observe(batch, i, io->observation);
}

typedef void play_block(cartpole_batch *batch, const block *b, const corral_env_step *io);

static void play_plain(cartpole_batch *batch, const block *b, const corral_env_step *io)
{
    play(batch, b, io);
}

// The same loops in wider registers: without fused operations each element is rounded as before.
#if defined(__x86_64__) && defined(__GNUC__)

__attribute__((target("avx2"))) static void play_avx2(cartpole_batch *batch, const block *b,
                                                      const corral_env_step *io)
{
    play(batch, b, io);
}

__attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,prefer-vector-width=512"))) static void
play_avx512(cartpole_batch *batch, const block *b, const corral_env_step *io)
{
    play(batch, b, io);
}

static play_block *widest(void)
{
    if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
        return play_avx512;
    return __builtin_cpu_supports("avx2") ? play_avx2 : play_plain;
}

#else

static play_block *widest(void)
{
    return play_plain;
}

#endif

static int32_t cartpole_step(void *handle, const corral_env_step *io)
{
    cartpole_batch *batch = handle;
    play_block *const play_next = widest();
    block b;
    for (b.first = 0; b.first < batch->count; b.first += BLOCK) {
        b.count = batch->count - b.first < BLOCK ? batch->count - b.first : BLOCK;
        read_forces(io->action, b.first, b.count, batch->settings.force, b.force);
        corral_sincos(batch->angle + b.first, b.sine, b.cosine, b.count);
        play_next(batch, &b, io);
    }
    return 0;
}

static int32_t cartpole_reset(void *handle, const uint8_t *mask, const uint64_t *seed,
                              const corral_env_step *out)
{
    cartpole_batch *batch = handle;
    const corral_env_host *host = batch->host;
    const double low = batch->settings.reset_low, high = batch->settings.reset_high;
    for (uint32_t i = 0; i < batch->count; i++) {
        if (mask != NULL && !mask[i]) continue;
        corral_env_rng rng;
        host->rng_seed(&rng, seed[i]);
        batch->position[i] = host->rng_uniform(&rng, low, high);
        batch->speed[i] = host->rng_uniform(&rng, low, high);
        batch->angle[i] = host->rng_uniform(&rng, low, high);
        batch->spin[i] = host->rng_uniform(&rng, low, high);
        batch->fallen[i] = 0;
        observe(batch, i, out->observation);
    }
    return 0;
}

// --- life

static void cartpole_destroy(void *handle)
{
    cartpole_batch *batch = handle;
    free(batch->position);
    free(batch->fallen);
    free(batch);
}

static int32_t cartpole_create(const corral_env_host *host, uint32_t count, const double *values,
                               void **out_batch)
{
    cartpole_batch *batch = calloc(1, sizeof *batch);
    if (batch == NULL) return 1;
    memcpy(&batch->settings, values, sizeof batch->settings);
    batch->host = host;
    batch->count = count;
    batch->position = calloc(count, 4 * sizeof(double)); // the four arrays are one block
    batch->fallen = calloc(count, 1);
    const int ordered = batch->settings.reset_low <= batch->settings.reset_high;
    if (!ordered) host->error("reset_low is above reset_high");
    if (!ordered || batch->position == NULL || batch->fallen == NULL) {
        cartpole_destroy(batch);
        return 1;
    }
    batch->speed = batch->position + count;
    batch->angle = batch->speed + count;
    batch->spin = batch->angle + count;
    *out_batch = batch;
    return 0;
}

// --- state

typedef struct cartpole_state {
    double position, speed, angle, spin;
    uint64_t fallen; // 0 or 1
} cartpole_state;

static void cartpole_save(const void *handle, uint32_t index, void *out_state)
{
    const cartpole_batch *batch = handle;
    const cartpole_state state = {batch->position[index], batch->speed[index], batch->angle[index],
                                  batch->spin[index], batch->fallen[index]};
    memcpy(out_state, &state, sizeof state);
}

static int32_t cartpole_load(void *handle, uint32_t index, const void *saved)
{
    cartpole_batch *batch = handle;
    cartpole_state state;
    memcpy(&state, saved, sizeof state);
    batch->position[index] = state.position;
    batch->speed[index] = state.speed;
    batch->angle[index] = state.angle;
    batch->spin[index] = state.spin;
    batch->fallen[index] = state.fallen != 0;
    return 0;
}

static const void *cartpole_extension(const char *name)
{
    static const corral_env_state state = {sizeof state, sizeof(cartpole_state), cartpole_save,
                                           cartpole_load};
    if (strcmp(name, CORRAL_ENV_STATE) == 0) return &state;
    if (strcmp(name, CORRAL_ENV_RENDER) == 0) return &corral_cartpole_render;
    return NULL;
}

// --- description

// Twice the limits, as Gymnasium states them: an observation that ends an episode is inside.
static const double observation_high[4] = {2 * CARTPOLE_POSITION_LIMIT, INFINITY, 2 * CARTPOLE_ANGLE_LIMIT,
                                           INFINITY};
static const double observation_low[4] = {-2 * CARTPOLE_POSITION_LIMIT, -INFINITY, -2 * CARTPOLE_ANGLE_LIMIT,
                                          -INFINITY};

static const corral_space observation = {
    .path = "",
    .kind = CORRAL_SPACE_BOX,
    .dtype = CORRAL_SPACE_F32,
    .dimension_count = 1,
    .shape = {4},
    .low_each = observation_low,
    .high_each = observation_high,
};

static const corral_space action = {
    .path = "", .kind = CORRAL_SPACE_DISCRETE, .dtype = CORRAL_SPACE_I32, .n = 2};

static const corral_env_param params[] = {
    {"gravity", 9.8, 0, 1000, "gravity in m/s^2"},
    {"masscart", 1.0, 1e-3, 1000, "mass of the cart in kg"},
    {"masspole", 0.1, 1e-3, 1000, "mass of the pole in kg"},
    {"length", 0.5, 1e-3, 1000, "half the length of the pole in m"},
    {"force_mag", 10.0, 1e-3, 10000, "force of a push in N"},
    {"tau", 0.02, 1e-5, 1, "seconds per step"},
    {"semi_implicit", 0, 0, 1, "1: move with the new velocities (semi-implicit Euler)"},
    {"sutton_barto_reward", 0, 0, 1, "1: reward 0 per step and -1 for the fall, as Barto and Sutton had it"},
    {"reset_low", -0.05, -1, 1, "lower bound of the four numbers that begin an episode"},
    {"reset_high", 0.05, -1, 1, "upper bound of them"},
};
enum { PARAM_COUNT = sizeof params / sizeof *params };
static_assert(sizeof(cartpole_settings) == PARAM_COUNT * sizeof(double), "one setting per parameter");
static_assert(offsetof(cartpole_settings, reset_high) == (PARAM_COUNT - 1) * sizeof(double),
              "in the same order");

static const corral_env_batch_functions functions = {cartpole_create, cartpole_destroy, cartpole_reset,
                                                     cartpole_step};

#define CARTPOLE(version, steps, threshold)                                                                  \
    {                                                                                                        \
        .size = sizeof(corral_env_type), .id = "CartPole-" version,                                          \
        .summary = "keep a pole upright on a cart by pushing it left or right",                              \
        .spaces = {&observation, 1, &action, 1}, .params = params, .param_count = PARAM_COUNT,               \
        .max_episode_steps = (steps), .reward_threshold = (threshold), .render_fps = 50,                     \
        .batch = &functions, .extension = cartpole_extension,                                                \
    }
const corral_env_type corral_env_cartpole_v0 = CARTPOLE("v0", 200, 195);
const corral_env_type corral_env_cartpole_v1 = CARTPOLE("v1", 500, 475);
#undef CARTPOLE
