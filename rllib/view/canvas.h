// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A picture in memory and how to paint on it: 24-bit RGB, rows from the top, no display needed. The window
/// shows it, files hold it. Colours are 0xRRGGBBAA. What is not finite or lies outside is not painted.
#ifndef CORRAL_VIEW_CANVAS_H
#define CORRAL_VIEW_CANVAS_H

#include "corral/base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum { CANVAS_SIDE_MAX = 8192 };

typedef struct box {
    float left, top, right, bottom;
} box;

typedef struct canvas {
    uint8_t *rgb; // [height, width, 3]
    uint32_t width, height;
    box clip;     // nothing is painted outside
    float *cover; // [width + 2] scratch of one row
} canvas;

/// A white picture. Sides within 1 .. CANVAS_SIDE_MAX.
CORRAL_MUST_USE corral_status canvas_init(canvas *canvas, uint32_t width, uint32_t height);
void canvas_finish(canvas *canvas);

/// Paints only inside `clip` from now on; NULL: everywhere.
void canvas_clip(canvas *canvas, const box *clip);
void canvas_clear(canvas *canvas, uint32_t color);

/// Filled, by the nonzero rule.
void canvas_polygon(canvas *canvas, const float (*point)[2], uint32_t count, uint32_t color);
/// Round ends.
void canvas_line(canvas *canvas, float x0, float y0, float x1, float y1, float width, uint32_t color);
void canvas_circle(canvas *canvas, float x, float y, float radius, uint32_t color);
/// Corners rounded by `radius`, 0 for none.
void canvas_box(canvas *canvas, box area, float radius, uint32_t color);
/// An RGB image stretched over an area, each of its pixels a small rectangle.
void canvas_image(canvas *canvas, box area, const uint8_t *rgb, uint32_t width, uint32_t height);
/// Mixes one pixel with `color`; `cover` 0..1 on top of its alpha. Outside the clip: nothing.
void canvas_pixel(canvas *canvas, int32_t x, int32_t y, uint32_t color, float cover);

#endif
