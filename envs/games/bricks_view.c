// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "bricks.h"

#include "../picture.h"

static uint32_t draw(const void *handle, uint32_t index, corral_draw *out_items, uint32_t limit)
{
    static const uint32_t colors[BRICK_ROWS] = {PICTURE_RED,   0xd9874aff,   PICTURE_YELLOW,
                                                PICTURE_GREEN, PICTURE_BLUE, PICTURE_AXLE};
    const bricks_batch *batch = handle;
    const bricks_game *g = &batch->game[index];
    picture p = {out_items, limit, 0};
    const float gap = 0.15f * FRAME_SCALE;
    for (int row = 0; row < BRICK_ROWS; row++)
        for (int column = 0; column < BRICK_COLUMNS; column++) {
            if (!(g->wall[row] >> column & 1)) continue;
            const float x = (float)(column * BRICK_WIDTH) * FRAME_SCALE;
            const float y = (float)(BRICK_TOP + row * BRICK_HEIGHT) * FRAME_SCALE;
            picture_rectangle(&p, x + gap, y + gap, x + BRICK_WIDTH * FRAME_SCALE - gap,
                              y + BRICK_HEIGHT * FRAME_SCALE - gap, colors[row]);
        }
    const float paddle = (float)g->paddle * FRAME_SCALE, top = PADDLE_ROW * FRAME_SCALE;
    picture_rectangle(&p, paddle, top, paddle + (float)batch->settings.paddle_width * FRAME_SCALE,
                      top + FRAME_SCALE, PICTURE_DARK);
    picture_circle(&p, ((float)g->ball_x / 2 + BALL_SIDE / 2.0f) * FRAME_SCALE,
                   ((float)g->ball_y / 2 + BALL_SIDE / 2.0f) * FRAME_SCALE, FRAME_SCALE, PICTURE_INK);
    return p.count;
}

const corral_env_render corral_bricks_render = {sizeof corral_bricks_render, FRAME_SIDE *FRAME_SCALE,
                                                FRAME_SIDE *FRAME_SCALE, PICTURE_PAPER, draw};
