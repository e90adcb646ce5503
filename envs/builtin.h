// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The built-in environments, each defined in its own file and listed in registry.c.
#ifndef CORRAL_ENVS_BUILTIN_H
#define CORRAL_ENVS_BUILTIN_H

#include "corral/env.h"

extern const corral_env_type corral_env_acrobot, corral_env_cartpole_v0, corral_env_cartpole_v1,
    corral_env_mountain_car, corral_env_mountain_car_continuous, corral_env_pendulum;

extern const corral_env_type corral_env_blackjack, corral_env_cliff_walking,
    corral_env_cliff_walking_slippery, corral_env_frozen_lake, corral_env_frozen_lake8x8, corral_env_taxi;

extern const corral_env_type corral_env_bricks, corral_env_chase;
extern const corral_env_type corral_env_recall, corral_env_switchboard;

#endif
