// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What the rules of Pendulum share with its picture: columns 0, 1 and 3.
#ifndef CORRAL_ENVS_CLASSIC_PENDULUM_H
#define CORRAL_ENVS_CLASSIC_PENDULUM_H

#include "corral/env.h"

enum { PENDULUM_ANGLE = 0, PENDULUM_SPIN = 1, PENDULUM_TORQUE = 3 };

extern const corral_env_render corral_pendulum_render;

#endif
