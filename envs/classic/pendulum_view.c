// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Pendulum's picture, 500 x 500: the rod on its axle, an arc for the motor's torque, and the numbers. The rod
// turns from red to green as it comes up.

#include "columns.h"
#include "pendulum.h"

#include "../picture.h"

#define SIZE   500.0f
#define CENTER (SIZE / 2)
#define LENGTH 150.0f

static uint32_t rod_color(double angle)
{
    const double up = (1 + cos(angle)) / 2, share = up >= 0 ? up : 0; // 0 where it is not a number
    const uint32_t red = (uint32_t)(200 - 121 * share), green = (uint32_t)(85 + 72 * share),
                   blue = (uint32_t)(61 + 44 * share);
    return red << 24 | green << 16 | blue << 8 | 0xff;
}

static void draw_rod(picture *p, double angle)
{
    static const float outline[4][2] = {{-11, 11}, {-11, -LENGTH}, {11, -LENGTH}, {11, 11}};
    const uint32_t color = rod_color(angle);
    picture_turned(p, outline, 4, CENTER, CENTER, -angle, color); // angles grow counter-clockwise
    picture_circle(p, CENTER, CENTER, 11, color);
    picture_circle(p, CENTER - LENGTH * (float)sin(angle), CENTER - LENGTH * (float)cos(angle), 11, color);
    picture_circle(p, CENTER, CENTER, 5, PICTURE_BLACK);
}

/// From above the axle to the side that the motor pushes to, as far as it pushes.
static void draw_torque(picture *p, double torque)
{
    enum { PIECES = 12 };
    const double reach = torque / 2 * 2.2; // radians
    const float radius = 46;
    float x = CENTER, y = CENTER - radius;
    for (int i = 1; i <= PIECES; i++) {
        const double at = reach * i / PIECES;
        const float next_x = CENTER - radius * (float)sin(at), next_y = CENTER - radius * (float)cos(at);
        picture_line(p, x, y, next_x, next_y, 4, PICTURE_AXLE);
        x = next_x;
        y = next_y;
    }
    picture_circle(p, x, y, 5, PICTURE_AXLE);
}

static uint32_t draw(const void *columns, uint32_t index, corral_draw *out_items, uint32_t limit)
{
    const corral_columns *c = columns;
    const double angle = c->column[PENDULUM_ANGLE][index], torque = c->column[PENDULUM_TORQUE][index];
    picture p = {out_items, limit, 0};
    picture_circle(&p, CENTER, CENTER, LENGTH + 26, PICTURE_PALE);
    picture_circle(&p, CENTER, CENTER, LENGTH + 24, PICTURE_PAPER);
    draw_rod(&p, angle);
    draw_torque(&p, torque);
    picture_text(&p, 16, SIZE - 20, 16, PICTURE_INK, "angle %+.0f deg   speed %+.1f   torque %+.2f",
                 remainder(angle, 6.283185307179586) * 180 / 3.141592653589793,
                 c->column[PENDULUM_SPIN][index], torque);
    return p.count;
}

const corral_env_render corral_pendulum_render = {sizeof(corral_env_render), SIZE, SIZE, PICTURE_PAPER, draw};
