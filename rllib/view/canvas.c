// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Everything but text and images is a polygon, and a polygon is filled so:
//
// Each row of pixels is cut into SLICES thin slices. In the middle of a slice the polygon's edges are crossed
// at some x, each going down (+1) or up (-1); sorted, they bound the spans in which the winding number is not
// zero. A span covers its pixels by exact fractions across. Instead of adding to every pixel of a span, its
// two ends are added to a row of differences, whose running sum is the coverage: a wide shape costs what a
// narrow one does.

#include "canvas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SLICES = 16, CROSSINGS_MAX = 256, ROUND_MAX = 96 };

static const float far_away = 1e5f; // pixels; beyond it a shape is cut to the line

typedef struct crossing {
    float x;
    int winding;
} crossing;

corral_status canvas_init(canvas *c, uint32_t width, uint32_t height)
{
    *c = (canvas){.width = width, .height = height};
    if (width == 0 || height == 0 || width > CANVAS_SIDE_MAX || height > CANVAS_SIDE_MAX)
        return corral_fail(CORRAL_ERROR_INVALID, "a picture of %u x %u pixels; sides must be 1 to %d", width,
                           height, CANVAS_SIDE_MAX);
    c->rgb = malloc((size_t)width * height * 3);
    c->cover = calloc(width + 2, sizeof *c->cover);
    if (c->rgb == NULL || c->cover == NULL) {
        canvas_finish(c);
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a picture of %u x %u", width, height);
    }
    canvas_clip(c, NULL);
    canvas_clear(c, 0xffffffff);
    return CORRAL_OK;
}

void canvas_finish(canvas *c)
{
    free(c->rgb);
    free(c->cover);
    *c = (canvas){0};
}

void canvas_clip(canvas *c, const box *clip)
{
    c->clip = (box){0, 0, (float)c->width, (float)c->height};
    if (clip == NULL) return;
    c->clip.left = roundf(fminf(fmaxf(clip->left, 0), c->clip.right));
    c->clip.top = roundf(fminf(fmaxf(clip->top, 0), c->clip.bottom));
    c->clip.right = roundf(fmaxf(fminf(clip->right, c->clip.right), c->clip.left));
    c->clip.bottom = roundf(fmaxf(fminf(clip->bottom, c->clip.bottom), c->clip.top));
}

void canvas_clear(canvas *c, uint32_t color)
{
    canvas_box(c, c->clip, 0, color | 0xff);
}

static void mix(uint8_t *pixel, uint32_t color, float cover)
{
    const int alpha = (int)(cover * (float)(color & 0xff) + 0.5f);
    for (int i = 0; i < 3; i++) {
        const int wanted = (int)(color >> (24 - 8 * i) & 0xff);
        pixel[i] =
            (uint8_t)(pixel[i] + ((wanted - pixel[i]) * alpha + (wanted >= pixel[i] ? 127 : -127)) / 255);
    }
}

void canvas_pixel(canvas *c, int32_t x, int32_t y, uint32_t color, float cover)
{
    if (x < (int32_t)c->clip.left || x >= (int32_t)c->clip.right || y < (int32_t)c->clip.top ||
        y >= (int32_t)c->clip.bottom)
        return;
    mix(c->rgb + ((size_t)y * c->width + (size_t)x) * 3, color, cover);
}

// --- polygons ---------------------------------------------------------------------------------------------

static int by_x(const void *a, const void *b)
{
    const float x = ((const crossing *)a)->x, y = ((const crossing *)b)->x;
    return (x > y) - (x < y);
}

/// Where the line `y` crosses the edges, from left to right.
static uint32_t find_crossings(const float (*point)[2], uint32_t count, float y, crossing *out)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < count && found < CROSSINGS_MAX; i++) {
        const float *a = point[i], *b = point[i + 1 < count ? i + 1 : 0];
        if ((a[1] <= y) == (b[1] <= y)) continue;
        out[found++] = (crossing){a[0] + (b[0] - a[0]) * (y - a[1]) / (b[1] - a[1]), a[1] <= y ? 1 : -1};
    }
    if (found == 2) { // almost always
        if (out[0].x > out[1].x) {
            const crossing first = out[0];
            out[0] = out[1];
            out[1] = first;
        }
    } else {
        qsort(out, found, sizeof *out, by_x);
    }
    return found;
}

/// From `x` on the coverage is `amount` higher.
static void add_edge(canvas *c, float x, float amount)
{
    x = x < c->clip.left ? c->clip.left : x > c->clip.right ? c->clip.right : x;
    const uint32_t pixel = (uint32_t)x;
    const float part = x - (float)pixel;
    c->cover[pixel] += amount * (1 - part);
    c->cover[pixel + 1] += amount * part;
}

static void cover_slice(canvas *c, const float (*point)[2], uint32_t count, float y)
{
    crossing crossings[CROSSINGS_MAX];
    const uint32_t found = find_crossings(point, count, y, crossings);
    int winding = 0;
    for (uint32_t i = 0; i < found; i++) {
        const int before = winding;
        winding += crossings[i].winding;
        if (before == 0) add_edge(c, crossings[i].x, 1.0f / SLICES);
        if (winding == 0) add_edge(c, crossings[i].x, -1.0f / SLICES);
    }
}

static void put(uint8_t *pixel, uint32_t color)
{
    pixel[0] = (uint8_t)(color >> 24);
    pixel[1] = (uint8_t)(color >> 16);
    pixel[2] = (uint8_t)(color >> 8);
}

/// Paints a row by its coverage, which is 0 afterwards. Most pixels are covered wholly.
static void paint_row(canvas *c, uint32_t y, uint32_t first, uint32_t end, uint32_t color)
{
    uint8_t *row = c->rgb + (size_t)y * c->width * 3;
    const bool opaque = (color & 0xff) == 0xff;
    float sum = 0;
    for (uint32_t x = first; x < end; x++) {
        sum += c->cover[x];
        if (sum > 0.999f && opaque)
            put(row + (size_t)x * 3, color);
        else if (sum > 1e-3f)
            mix(row + (size_t)x * 3, color, sum < 1 ? sum : 1);
    }
    memset(c->cover + first, 0, (end - first + 2) * sizeof *c->cover);
}

static bool bounds_of(const float (*point)[2], uint32_t count, box *out)
{
    *out = (box){INFINITY, INFINITY, -INFINITY, -INFINITY};
    for (uint32_t i = 0; i < count; i++) {
        const float x = point[i][0], y = point[i][1];
        if (!(fabsf(x) <= far_away && fabsf(y) <= far_away)) return false;
        *out = (box){fminf(out->left, x), fminf(out->top, y), fmaxf(out->right, x), fmaxf(out->bottom, y)};
    }
    return count > 0;
}

void canvas_polygon(canvas *c, const float (*point)[2], uint32_t count, uint32_t color)
{
    box bounds;
    if (!bounds_of(point, count, &bounds)) return;
    const float left = fmaxf(bounds.left, c->clip.left), right = fminf(bounds.right, c->clip.right);
    const float top = fmaxf(bounds.top, c->clip.top), bottom = fminf(bounds.bottom, c->clip.bottom);
    if (left >= right || top >= bottom) return;
    const uint32_t first = (uint32_t)left, end = (uint32_t)ceilf(right);
    for (uint32_t y = (uint32_t)top; y < (uint32_t)ceilf(bottom); y++) {
        for (int slice = 0; slice < SLICES; slice++)
            cover_slice(c, point, count, (float)y + ((float)slice + 0.5f) / SLICES);
        paint_row(c, y, first, end, color);
    }
}

// --- shapes that are polygons -----------------------------------------------------------------------------

/// Points of an arc about (x, y), from `from` to `to` (radians), both ends included.
static uint32_t add_arc(float (*point)[2], uint32_t count, float x, float y, float radius, double from,
                        double to)
{
    // Chords that stay within a twentieth of a pixel of their arc.
    const double step = 2 * acos(1 - fmin(0.05 / fmax(radius, 0.1), 1));
    const double wanted = ceil(fabs(to - from) / step);
    const uint32_t parts = (uint32_t)fmin(fmax(wanted, 2), ROUND_MAX / 4 - 1);
    for (uint32_t i = 0; i <= parts; i++, count++) {
        const double angle = from + (to - from) * i / parts;
        point[count][0] = x + radius * (float)cos(angle);
        point[count][1] = y + radius * (float)sin(angle);
    }
    return count;
}

static const double quarter = 1.5707963267948966;

void canvas_line(canvas *c, float x0, float y0, float x1, float y1, float width, uint32_t color)
{
    if (!(width > 0) || !isfinite(x0 + y0 + x1 + y1)) return;
    const double angle = atan2((double)y1 - y0, (double)x1 - x0);
    float point[ROUND_MAX][2];
    uint32_t count = 0;
    count = add_arc(point, count, x1, y1, width / 2, angle - quarter, angle + quarter);
    count = add_arc(point, count, x0, y0, width / 2, angle + quarter, angle + 3 * quarter);
    canvas_polygon(c, (const float(*)[2])point, count, color);
}

void canvas_circle(canvas *c, float x, float y, float radius, uint32_t color)
{
    canvas_box(c, (box){x - radius, y - radius, x + radius, y + radius}, radius, color);
}

/// Whole pixels need no coverage.
static void fill_pixels(canvas *c, box area, uint32_t color)
{
    const uint32_t left = (uint32_t)fmaxf(area.left, c->clip.left),
                   top = (uint32_t)fmaxf(area.top, c->clip.top);
    const uint32_t right = (uint32_t)fmaxf(fminf(area.right, c->clip.right), 0);
    const uint32_t bottom = (uint32_t)fmaxf(fminf(area.bottom, c->clip.bottom), 0);
    if (left >= right || top >= bottom) return;
    const bool opaque = (color & 0xff) == 0xff;
    uint8_t *first = c->rgb + ((size_t)top * c->width + left) * 3;
    for (uint32_t y = top; y < bottom; y++) {
        uint8_t *row = c->rgb + ((size_t)y * c->width + left) * 3;
        if (opaque && y > top) {
            memcpy(row, first, (size_t)(right - left) * 3);
            continue;
        }
        for (uint32_t x = 0; x < right - left; x++)
            mix(row + (size_t)x * 3, color, 1);
    }
}

static bool whole(float x)
{
    return x == floorf(x);
}

void canvas_box(canvas *c, box a, float radius, uint32_t color)
{
    if (!(a.right > a.left && a.bottom > a.top)) return;
    radius = fminf(radius, fminf(a.right - a.left, a.bottom - a.top) / 2);
    if (!(radius > 0)) {
        if (whole(a.left) && whole(a.top) && whole(a.right) && whole(a.bottom)) {
            fill_pixels(c, a, color);
            return;
        }
        const float corner[4][2] = {
            {a.left, a.top}, {a.right, a.top}, {a.right, a.bottom}, {a.left, a.bottom}};
        canvas_polygon(c, corner, 4, color);
        return;
    }
    float point[ROUND_MAX][2];
    uint32_t count = 0;
    count = add_arc(point, count, a.right - radius, a.bottom - radius, radius, 0, quarter);
    count = add_arc(point, count, a.left + radius, a.bottom - radius, radius, quarter, 2 * quarter);
    count = add_arc(point, count, a.left + radius, a.top + radius, radius, 2 * quarter, 3 * quarter);
    count = add_arc(point, count, a.right - radius, a.top + radius, radius, 3 * quarter, 4 * quarter);
    canvas_polygon(c, (const float(*)[2])point, count, color);
}

void canvas_image(canvas *c, box a, const uint8_t *rgb, uint32_t width, uint32_t height)
{
    if (rgb == NULL || width == 0 || height == 0 || !(a.right > a.left && a.bottom > a.top)) return;
    const float left = fmaxf(a.left, c->clip.left), top = fmaxf(a.top, c->clip.top);
    const float right = fminf(a.right, c->clip.right), bottom = fminf(a.bottom, c->clip.bottom);
    if (left >= right || top >= bottom) return;
    for (uint32_t y = (uint32_t)top; y < (uint32_t)bottom; y++) {
        const float v = ((float)y + 0.5f - a.top) / (a.bottom - a.top) * (float)height;
        const uint32_t from_y = (uint32_t)fminf(fmaxf(v, 0), (float)(height - 1));
        for (uint32_t x = (uint32_t)left; x < (uint32_t)right; x++) {
            const float u = ((float)x + 0.5f - a.left) / (a.right - a.left) * (float)width;
            const uint32_t from_x = (uint32_t)fminf(fmaxf(u, 0), (float)(width - 1));
            memcpy(c->rgb + ((size_t)y * c->width + x) * 3, rgb + ((size_t)from_y * width + from_x) * 3, 3);
        }
    }
}
