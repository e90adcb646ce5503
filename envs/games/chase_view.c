// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "chase.h"

#include "../picture.h"

#define SIDE (CHASE_CELL * FRAME_SCALE)

static float middle(int place)
{
    return ((float)place + 0.5f) * SIDE;
}

static void add_disc(picture *p, int cell, float radius, uint32_t color)
{
    picture_circle(p, middle(cell % CHASE_SIDE), middle(cell / CHASE_SIDE), radius * SIDE, color);
}

static uint32_t draw(const void *handle, uint32_t index, corral_draw *out_items, uint32_t limit)
{
    const chase_batch *batch = handle;
    const chase_game *g = &batch->game[index];
    picture p = {out_items, limit, 0};
    for (int cell = 0; cell < CHASE_CELLS; cell++) {
        const int row = cell / CHASE_SIDE, column = cell % CHASE_SIDE;
        if (!(g->wall[row] >> column & 1)) continue;
        const float x = (float)column * SIDE, y = (float)row * SIDE;
        picture_rectangle(&p, x + 2, y + 2, x + SIDE - 2, y + SIDE - 2, PICTURE_PALE);
    }
    for (int i = 0; i < CHASE_GOLD; i++)
        add_disc(&p, g->gold[i], 0.28f, PICTURE_YELLOW);
    add_disc(&p, g->runner, 0.42f, PICTURE_BLUE);
    for (int h = 0; h < (int)batch->settings.hunters; h++) {
        add_disc(&p, g->hunter[h], 0.42f, PICTURE_RED);
        add_disc(&p, g->hunter[h], 0.16f, PICTURE_PAPER);
    }
    return p.count;
}

const corral_env_render corral_chase_render = {sizeof corral_chase_render, FRAME_SIDE *FRAME_SCALE,
                                               FRAME_SIDE *FRAME_SCALE, PICTURE_PAPER, draw};
