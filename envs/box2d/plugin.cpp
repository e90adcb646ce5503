// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "types.h"

static const corral_env_type types[] = {box2d_bipedal_walker(), box2d_bipedal_walker_hardcore(),
                                        box2d_lunar_lander(), box2d_lunar_lander_continuous()};
CORRAL_ENV_EXPORT(types, sizeof types / sizeof types[0]);
