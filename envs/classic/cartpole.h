// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A batch of cart-poles, shared by its rules and its picture.
#ifndef CORRAL_ENVS_CLASSIC_CARTPOLE_H
#define CORRAL_ENVS_CLASSIC_CARTPOLE_H

#include "corral/env.h"

#define CARTPOLE_POSITION_LIMIT 2.4
#define CARTPOLE_ANGLE_LIMIT    (12 * 2 * 3.141592653589793 / 360)

/// In the order of the parameter table.
typedef struct cartpole_settings {
    double gravity;              // m/s^2
    double cart_mass, pole_mass; // kg
    double half_length;          // m, of the pole
    double force;                // N
    double tau;                  // s, of one step
    double semi_implicit;        // a flag
    double sutton_barto_reward;  // a flag
    double reset_low, reset_high;
} cartpole_settings;

typedef struct cartpole_batch {
    cartpole_settings settings;
    const corral_env_host *host;
    uint32_t count;
    double *position, *speed; // [count] of the cart
    double *angle, *spin;     // [count] of the pole; 0 is upright
    uint8_t *fallen;          // [count] terminated since its reset
} cartpole_batch;

extern const corral_env_render corral_cartpole_render;

#endif
