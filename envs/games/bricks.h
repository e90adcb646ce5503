// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A game of bricks, shared by its rules and its picture.
#ifndef CORRAL_ENVS_GAMES_BRICKS_H
#define CORRAL_ENVS_GAMES_BRICKS_H

#include "frame.h"

enum {
    BRICK_ROWS = 6,
    BRICK_COLUMNS = 7,
    BRICK_WIDTH = 6,  // pixels
    BRICK_HEIGHT = 2, // pixels
    BRICK_TOP = 6,    // pixel row of the highest ones
    BALL_SIDE = 2,    // pixels
    PADDLE_ROW = 40,  // pixel
};

/// In the order of the parameter table.
typedef struct bricks_settings {
    double paddle_width; // pixels
    double paddle_speed; // pixels per step
} bricks_settings;

/// One game. Places of the ball count half pixels, so that it can be slow; its state as it is saved, too.
typedef struct bricks_game {
    int16_t ball_x, ball_y; // of its top left corner
    int16_t speed_x, speed_y;
    int16_t paddle;           // leftmost pixel
    uint8_t wall[BRICK_ROWS]; // bit c: the brick in column c is there
} bricks_game;

typedef struct bricks_batch {
    bricks_settings settings;
    const corral_env_host *host;
    uint32_t count;
    bricks_game game[];
} bricks_batch;

extern const corral_env_render corral_bricks_render;

#endif
