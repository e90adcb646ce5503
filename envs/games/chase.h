// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A chase, shared by its rules and its picture.
#ifndef CORRAL_ENVS_GAMES_CHASE_H
#define CORRAL_ENVS_GAMES_CHASE_H

#include "frame.h"

enum {
    CHASE_SIDE = 14, // cells
    CHASE_CELL = 3,  // pixels of a cell's side
    CHASE_HUNTERS_MAX = 8,
    CHASE_GOLD = 5,
    CHASE_CELLS = CHASE_SIDE * CHASE_SIDE,
};

/// In the order of the parameter table.
typedef struct chase_settings {
    double hunters;
    double hunter_speed; // chance that a hunter moves in a step
} chase_settings;

/// One game; its state as it is saved, too. Places are cells, row by row.
typedef struct chase_game {
    corral_env_rng rng;
    uint16_t wall[CHASE_SIDE]; // bit c of row r: a pillar
    uint8_t gold[CHASE_GOLD];
    uint8_t hunter[CHASE_HUNTERS_MAX];
    uint8_t runner, caught, unused;
} chase_game;

typedef struct chase_batch {
    chase_settings settings;
    const corral_env_host *host;
    uint32_t count;
    chase_game game[];
} chase_batch;

extern const corral_env_render corral_chase_render;

#endif
