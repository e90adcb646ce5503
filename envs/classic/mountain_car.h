// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The valley of both mountain cars, and its picture.
#ifndef CORRAL_ENVS_CLASSIC_MOUNTAIN_CAR_H
#define CORRAL_ENVS_CLASSIC_MOUNTAIN_CAR_H

#include "columns.h"

#define MOUNTAIN_CAR_LEFT      (-1.2) // where the wall is
#define MOUNTAIN_CAR_RIGHT     0.6
#define MOUNTAIN_CAR_SPEED_MAX 0.07

enum { MOUNTAIN_CAR_POSITION, MOUNTAIN_CAR_SPEED };

/// Begins episodes: a position in the valley, at rest. For batch.reset, where `columns` has those two and, in
/// the continuous variant, a third that is set to 1.
int32_t corral_mountain_car_reset(void *columns, const uint8_t *mask, const uint64_t *seed,
                                  const corral_env_step *out);

extern const corral_env_render corral_mountain_car_render, corral_mountain_car_continuous_render;

#endif
