// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Writes a display list item by item. What does not fit the caller's limit is counted and not written, as a
/// draw function has to do. Angles of turned things are in radians, clockwise on the screen.
#ifndef CORRAL_ENVS_PICTURE_H
#define CORRAL_ENVS_PICTURE_H

#include "corral/env.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

/// Colours that several pictures share, 0xRRGGBBAA.
enum {
    PICTURE_PAPER = 0xf7f8faff,
    PICTURE_INK = 0x2f3640ff,
    PICTURE_PALE = 0xc8ced6ff,
    PICTURE_DARK = 0x33475bff,
    PICTURE_BLACK = 0x1f2933ff,
    PICTURE_RED = 0xc8553dff,
    PICTURE_GREEN = 0x4f9d69ff,
    PICTURE_BLUE = 0x3d7ea6ff,
    PICTURE_YELLOW = 0xe8b84aff,
    PICTURE_AXLE = 0x8184cbff,
};

typedef struct picture {
    corral_draw *items;
    uint32_t limit, count;
} picture;

static inline void picture_add(picture *p, const corral_draw *item)
{
    if (p->count < p->limit) p->items[p->count] = *item;
    p->count++;
}

static inline void picture_line(picture *p, float x0, float y0, float x1, float y1, float width,
                                uint32_t color)
{
    picture_add(p, &(corral_draw){.kind = CORRAL_DRAW_LINE,
                                  .color = color,
                                  .size = width,
                                  .point_count = 2,
                                  .point = {{x0, y0}, {x1, y1}}});
}

static inline void picture_circle(picture *p, float x, float y, float radius, uint32_t color)
{
    picture_add(
        p,
        &(corral_draw){
            .kind = CORRAL_DRAW_CIRCLE, .color = color, .size = radius, .point_count = 1, .point = {{x, y}}});
}

static inline void picture_polygon(picture *p, const float (*point)[2], uint32_t count, uint32_t color)
{
    corral_draw item = {.kind = CORRAL_DRAW_POLYGON, .color = color, .point_count = count};
    for (uint32_t i = 0; i < count; i++) {
        item.point[i][0] = point[i][0];
        item.point[i][1] = point[i][1];
    }
    picture_add(p, &item);
}

static inline void picture_rectangle(picture *p, float left, float top, float right, float bottom,
                                     uint32_t color)
{
    const float corner[4][2] = {{left, top}, {right, top}, {right, bottom}, {left, bottom}};
    picture_polygon(p, corner, 4, color);
}

/// The same points turned about (0, 0) by `angle`, then moved to (x, y).
static inline void picture_turned(picture *p, const float (*point)[2], uint32_t count, float x, float y,
                                  double angle, uint32_t color)
{
    const float c = (float)cos(angle), s = (float)sin(angle);
    float turned[CORRAL_DRAW_POINTS][2];
    for (uint32_t i = 0; i < count; i++) {
        turned[i][0] = x + point[i][0] * c - point[i][1] * s;
        turned[i][1] = y + point[i][0] * s + point[i][1] * c;
    }
    picture_polygon(p, (const float(*)[2])turned, count, color);
}

#if defined(__GNUC__)
__attribute__((format(printf, 6, 7)))
#endif
static inline void
picture_text(picture *p, float x, float y, float height, uint32_t color, const char *format, ...)
{
    corral_draw item = {
        .kind = CORRAL_DRAW_TEXT, .color = color, .size = height, .point_count = 1, .point = {{x, y}}};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(item.text, sizeof item.text, format, arguments);
    va_end(arguments);
    picture_add(p, &item);
}

#endif
