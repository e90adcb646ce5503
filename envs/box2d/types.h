// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The environments of this library.
#ifndef CORRAL_ENVS_BOX2D_TYPES_H
#define CORRAL_ENVS_BOX2D_TYPES_H

#include "corral/env.h"

corral_env_type box2d_lunar_lander();
corral_env_type box2d_lunar_lander_continuous();
corral_env_type box2d_bipedal_walker();
corral_env_type box2d_bipedal_walker_hardcore();

#endif
