// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Acrobot's picture, 500 x 500: the line to reach, the two rods with their joints, and how high the tip is.

#include "acrobot.h"
#include "columns.h"

#include "../picture.h"

#define SIZE   500.0f
#define CENTER (SIZE / 2)
#define SCALE  (SIZE / 4.4f) // units per rod's length

static void draw_rod(picture *p, float x, float y, double angle, uint32_t color)
{
    static const float outline[4][2] = {{-10, 0}, {10, 0}, {10, SCALE}, {-10, SCALE}};
    picture_turned(p, outline, 4, x, y, -angle, color); // angles grow counter-clockwise, 0 hangs down
}

static uint32_t draw(const void *columns, uint32_t index, corral_draw *out_items, uint32_t limit)
{
    const corral_columns *c = columns;
    const double a = c->column[0][index], b = c->column[1][index];
    const float elbow_x = CENTER + SCALE * (float)sin(a), elbow_y = CENTER + SCALE * (float)cos(a);
    const float tip_x = elbow_x + SCALE * (float)sin(a + b), tip_y = elbow_y + SCALE * (float)cos(a + b);
    const double height = -cos(a) - cos(a + b);

    picture p = {out_items, limit, 0};
    picture_line(&p, 0, CENTER - SCALE, SIZE, CENTER - SCALE, 2, height > 1 ? PICTURE_GREEN : PICTURE_RED);
    draw_rod(&p, CENTER, CENTER, a, PICTURE_DARK);
    draw_rod(&p, elbow_x, elbow_y, a + b, PICTURE_BLUE);
    picture_circle(&p, CENTER, CENTER, 10, PICTURE_YELLOW);
    picture_circle(&p, elbow_x, elbow_y, 10, PICTURE_YELLOW);
    picture_circle(&p, tip_x, tip_y, 7, PICTURE_BLACK);
    picture_text(&p, 16, SIZE - 20, 16, PICTURE_INK, "height of the tip %+.2f of 1", height);
    return p.count;
}

const corral_env_render corral_acrobot_render = {sizeof(corral_env_render), SIZE, SIZE, PICTURE_PAPER, draw};
