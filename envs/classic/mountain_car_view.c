// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The valley, 600 x 400: hills, a flag at the goal, a car that leans with the slope, and the numbers.

#include "mountain_car.h"

#include "../picture.h"

#define WIDTH  600.0f
#define HEIGHT 400.0f
#define SCALE  (WIDTH / (float)(MOUNTAIN_CAR_RIGHT - MOUNTAIN_CAR_LEFT))

static double ground(double position)
{
    return sin(3 * position) * 0.45 + 0.55;
}

static float screen_x(double position)
{
    return (float)(position - MOUNTAIN_CAR_LEFT) * SCALE;
}

static float screen_y(double position)
{
    return HEIGHT - 20 - (float)ground(position) * SCALE;
}

/// Everything below the curve, in as many polygons as it takes.
static void draw_hills(picture *p, uint32_t color)
{
    enum { PIECES = 4, POINTS = CORRAL_DRAW_POINTS - 2 };
    const double span = (MOUNTAIN_CAR_RIGHT - MOUNTAIN_CAR_LEFT) / PIECES;
    for (int piece = 0; piece < PIECES; piece++) {
        const double from = MOUNTAIN_CAR_LEFT + piece * span;
        float point[CORRAL_DRAW_POINTS][2];
        for (int i = 0; i < POINTS; i++) {
            const double position = from + span * i / (POINTS - 1);
            point[i][0] = screen_x(position);
            point[i][1] = screen_y(position);
        }
        point[POINTS][0] = screen_x(from + span);
        point[POINTS + 1][0] = screen_x(from);
        point[POINTS][1] = point[POINTS + 1][1] = HEIGHT;
        picture_polygon(p, (const float(*)[2])point, CORRAL_DRAW_POINTS, color);
    }
}

static void draw_flag(picture *p, double position)
{
    const float x = screen_x(position), foot = screen_y(position), top = foot - 46;
    const float cloth[3][2] = {{x, top}, {x + 24, top + 8}, {x, top + 16}};
    picture_line(p, x, foot, x, top, 2, PICTURE_INK);
    picture_polygon(p, cloth, 3, PICTURE_RED);
}

static void draw_car(picture *p, double position)
{
    static const float body[6][2] = {{-20, -8}, {-20, -18}, {-10, -26}, {9, -26}, {20, -17}, {20, -8}};
    const double slope = -atan(3 * 0.45 * cos(3 * position)); // clockwise: y grows downwards
    const float x = screen_x(position), y = screen_y(position);
    picture_turned(p, body, 6, x, y, slope, PICTURE_DARK);
    for (int side = -1; side <= 1; side += 2) {
        const float along = 12 * (float)side, c = (float)cos(slope), s = (float)sin(slope);
        picture_circle(p, x + along * c + 6 * s, y + along * s - 6 * c, 6, PICTURE_BLACK);
        picture_circle(p, x + along * c + 6 * s, y + along * s - 6 * c, 2, PICTURE_PALE);
    }
}

static uint32_t draw(const void *columns, uint32_t index, double goal, corral_draw *out_items, uint32_t limit)
{
    const corral_columns *c = columns;
    const double position = c->column[MOUNTAIN_CAR_POSITION][index];
    picture p = {out_items, limit, 0};
    draw_hills(&p, 0xdfe7d8ff);
    draw_flag(&p, goal);
    draw_car(&p, position);
    picture_text(&p, 16, HEIGHT - 16, 16, PICTURE_INK, "position %+.2f   speed %+.3f", position,
                 c->column[MOUNTAIN_CAR_SPEED][index]);
    return p.count;
}

static uint32_t draw_discrete(const void *columns, uint32_t index, corral_draw *out_items, uint32_t limit)
{
    return draw(columns, index, 0.5, out_items, limit);
}

static uint32_t draw_continuous(const void *columns, uint32_t index, corral_draw *out_items, uint32_t limit)
{
    return draw(columns, index, 0.45, out_items, limit);
}

const corral_env_render corral_mountain_car_render = {sizeof(corral_env_render), WIDTH, HEIGHT, PICTURE_PAPER,
                                                      draw_discrete};
const corral_env_render corral_mountain_car_continuous_render = {sizeof(corral_env_render), WIDTH, HEIGHT,
                                                                 PICTURE_PAPER, draw_continuous};
