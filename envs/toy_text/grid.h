// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Boards: squares of one size, and an agent with eyes that looks where it went.
#ifndef CORRAL_ENVS_TOY_TEXT_GRID_H
#define CORRAL_ENVS_TOY_TEXT_GRID_H

#include "../picture.h"

/// The four headings, as steps of row and column.
enum { GRID_LEFT, GRID_DOWN, GRID_RIGHT, GRID_UP };
static const int8_t grid_row_step[4] = {0, 1, 0, -1}, grid_column_step[4] = {-1, 0, 1, 0};

static inline int32_t grid_clamp(int32_t value, int32_t count)
{
    return value < 0 ? 0 : value >= count ? count - 1 : value;
}

/// A square with a thin gap to its neighbours.
static inline void grid_square(picture *p, int32_t row, int32_t column, float side, uint32_t color)
{
    const float left = (float)column * side, top = (float)row * side;
    picture_rectangle(p, left + 1, top + 1, left + side - 1, top + side - 1, color);
}

static inline void grid_agent(picture *p, int32_t row, int32_t column, float side, int heading,
                              uint32_t color)
{
    const float x = ((float)column + 0.5f) * side, y = ((float)row + 0.5f) * side, r = side * 0.3f;
    const float ahead_x = grid_column_step[heading], ahead_y = grid_row_step[heading];
    picture_circle(p, x, y, r, color);
    for (int eye = -1; eye <= 1; eye += 2) {
        const float across = 0.4f * r * (float)eye;
        const float at_x = x + 0.45f * r * ahead_x + across * ahead_y;
        const float at_y = y + 0.45f * r * ahead_y + across * ahead_x;
        picture_circle(p, at_x, at_y, 0.24f * r, PICTURE_PAPER);
        picture_circle(p, at_x + 0.1f * r * ahead_x, at_y + 0.1f * r * ahead_y, 0.12f * r, PICTURE_BLACK);
    }
}

static inline void grid_flag(picture *p, int32_t row, int32_t column, float side)
{
    const float x = ((float)column + 0.35f) * side, foot = ((float)row + 0.85f) * side;
    const float top = foot - 0.7f * side;
    const float cloth[3][2] = {{x, top}, {x + 0.4f * side, top + 0.16f * side}, {x, top + 0.32f * side}};
    picture_line(p, x, foot, x, top, side * 0.05f, PICTURE_INK);
    picture_polygon(p, cloth, 3, PICTURE_RED);
}

#endif
