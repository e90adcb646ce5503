// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// CartPole's picture, 600 x 400: the track with its two limits, the cart on wheels, the pole on its axle, and
// the numbers. The pole turns from brown to red as it nears the angle that ends the episode.

#include "cartpole.h"

#include <math.h>
#include <stdio.h>

#define WIDTH           600.0f
#define HEIGHT          400.0f
#define UNITS_PER_METRE (WIDTH / (2 * (float)CARTPOLE_POSITION_LIMIT + 0.4f))
#define TRACK           310.0f // y of the rail
#define CART_TOP        (TRACK - 42)
#define CART_BOTTOM     (TRACK - 10)

enum {
    INK = 0x2f3640ff,
    PALE = 0xc8ced6ff,
    LIMIT = 0xe0a0a0ff,
    CART = 0x33475bff,
    WHEEL = 0x1f2933ff,
    AXLE = 0x8184cbff,
};

static corral_draw line(float x0, float y0, float x1, float y1, float width, uint32_t color)
{
    return (corral_draw){.kind = CORRAL_DRAW_LINE,
                         .color = color,
                         .size = width,
                         .point_count = 2,
                         .point = {{x0, y0}, {x1, y1}}};
}

static corral_draw circle(float x, float y, float radius, uint32_t color)
{
    return (corral_draw){
        .kind = CORRAL_DRAW_CIRCLE, .color = color, .size = radius, .point_count = 1, .point = {{x, y}}};
}

static corral_draw cart(float x)
{
    const float half = 32;
    return (corral_draw){
        .kind = CORRAL_DRAW_POLYGON,
        .color = CART,
        .point_count = 4,
        .point = {
            {x - half, CART_TOP}, {x + half, CART_TOP}, {x + half, CART_BOTTOM}, {x - half, CART_BOTTOM}}};
}

static uint32_t pole_color(double angle)
{
    const double danger = fmin(fabs(angle) / CARTPOLE_ANGLE_LIMIT, 1);
    const uint32_t red = (uint32_t)(202 + 18 * danger), green = (uint32_t)(152 - 92 * danger),
                   blue = (uint32_t)(101 - 51 * danger);
    return red << 24 | green << 16 | blue << 8 | 0xff;
}

/// A rectangle of the pole's length that leans by `angle`, a little below the axle at its foot.
static corral_draw pole(float x, double angle, float length)
{
    const float half = 5, foot = 5, c = (float)cos(angle), s = (float)sin(angle);
    const float corner[4][2] = {
        {-half, -foot}, {half, -foot}, {half, length}, {-half, length}}; // across, along
    corral_draw item = {.kind = CORRAL_DRAW_POLYGON, .color = pole_color(angle), .point_count = 4};
    for (int i = 0; i < 4; i++) {
        item.point[i][0] = x + corner[i][0] * c + corner[i][1] * s;
        item.point[i][1] = CART_TOP + corner[i][0] * s - corner[i][1] * c;
    }
    return item;
}

static corral_draw numbers(double position, double angle)
{
    corral_draw item = {
        .kind = CORRAL_DRAW_TEXT, .color = INK, .size = 16, .point_count = 1, .point = {{16, HEIGHT - 20}}};
    snprintf(item.text, sizeof item.text, "position %+.2f m   angle %+.1f deg", position,
             angle * 180 / 3.141592653589793);
    return item;
}

static uint32_t cartpole_draw(const void *handle, uint32_t index, corral_draw *out_items, uint32_t limit)
{
    const cartpole_batch *batch = handle;
    const double position = batch->position[index], angle = batch->angle[index];
    const float x = WIDTH / 2 + (float)position * UNITS_PER_METRE;
    const float reach = (float)CARTPOLE_POSITION_LIMIT * UNITS_PER_METRE;
    const float length = 2 * (float)batch->settings.half_length * UNITS_PER_METRE;
    const corral_draw items[] = {
        line(0, TRACK, WIDTH, TRACK, 2, PALE),
        line(WIDTH / 2 - reach, TRACK - 14, WIDTH / 2 - reach, TRACK + 14, 3, LIMIT),
        line(WIDTH / 2 + reach, TRACK - 14, WIDTH / 2 + reach, TRACK + 14, 3, LIMIT),
        line(WIDTH / 2, TRACK - 6, WIDTH / 2, TRACK + 6, 1, PALE),
        cart(x),
        circle(x - 18, TRACK - 8, 8, WHEEL),
        circle(x + 18, TRACK - 8, 8, WHEEL),
        pole(x, angle, length),
        circle(x, CART_TOP, 5, AXLE),
        numbers(position, angle),
    };
    const uint32_t count = sizeof items / sizeof *items;
    for (uint32_t i = 0; i < count && i < limit; i++)
        out_items[i] = items[i];
    return count;
}

const corral_env_render corral_cartpole_render = {
    .size = sizeof(corral_env_render),
    .width = WIDTH,
    .height = HEIGHT,
    .background = 0xf7f8faff,
    .draw = cartpole_draw,
};
