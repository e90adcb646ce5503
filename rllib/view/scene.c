// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "scene.h"

#include "corral/envs/registry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_LIMIT = 64, ITEMS_MAX = 1 << 20, IMAGE_SIDE_MAX = 1 << 14 };

void scene_finish(scene *s)
{
    free(s->items);
    free(s->pixels);
    *s = (scene){0};
}

static const corral_env_render *render_of(const corral_env_type *type)
{
    const corral_env_render *render = corral_env_extension(type, CORRAL_ENV_RENDER);
    if (render == NULL || render->draw == NULL) return NULL;
    return render->width >= 1 && render->height >= 1 && render->width <= 1e4f && render->height <= 1e4f
               ? render
               : NULL;
}

bool scene_size(const corral_env_type *type, float *out_width, float *out_height)
{
    const corral_env_render *render = render_of(type);
    if (render == NULL) return false;
    *out_width = render->width;
    *out_height = render->height;
    return true;
}

static corral_status reserve(scene *s, uint32_t limit)
{
    corral_draw *items = realloc(s->items, limit * sizeof *items);
    if (items == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for %u drawn items", limit);
    s->items = items;
    s->limit = limit;
    return CORRAL_OK;
}

static bool has_image(const corral_draw *item)
{
    return item->kind == CORRAL_DRAW_IMAGE && item->image != NULL && item->image_width > 0 &&
           item->image_height > 0 && item->image_width <= IMAGE_SIDE_MAX &&
           item->image_height <= IMAGE_SIDE_MAX;
}

static size_t image_bytes(const corral_draw *item)
{
    return (size_t)item->image_width * item->image_height * 3;
}

/// An environment's images are good until its next call only.
static corral_status copy_images(scene *s)
{
    size_t bytes = 0, used = 0;
    for (uint32_t i = 0; i < s->count; i++)
        if (has_image(&s->items[i])) bytes += image_bytes(&s->items[i]);
    if (bytes > s->pixel_bytes) {
        uint8_t *pixels = realloc(s->pixels, bytes);
        if (pixels == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a drawn image");
        s->pixels = pixels;
        s->pixel_bytes = bytes;
    }
    for (uint32_t i = 0; i < s->count; i++) {
        corral_draw *item = &s->items[i];
        if (!has_image(item)) {
            item->image = NULL;
            continue;
        }
        memcpy(s->pixels + used, item->image, image_bytes(item));
        item->image = s->pixels + used;
        used += image_bytes(item);
    }
    return CORRAL_OK;
}

corral_status scene_capture(scene *s, const corral_env_type *type, const void *handle, uint32_t index)
{
    s->render = render_of(type);
    s->count = 0;
    if (s->render == NULL) return CORRAL_OK;
    corral_status status = s->limit == 0 ? reserve(s, FIRST_LIMIT) : CORRAL_OK;
    while (status == CORRAL_OK) {
        s->count = s->render->draw(handle, index, s->items, s->limit);
        if (s->count <= s->limit) return copy_images(s);
        if (s->count > ITEMS_MAX)
            return corral_fail(CORRAL_ERROR_ENVIRONMENT, "%s draws %u items, more than %d", type->id,
                               s->count, ITEMS_MAX);
        status = reserve(s, s->count);
    }
    s->count = 0;
    return status;
}

box scene_fit(const scene *s, box area)
{
    if (s->render == NULL) return area;
    const float width = area.right - area.left, height = area.bottom - area.top;
    const float scale = fminf(width / s->render->width, height / s->render->height);
    const float left = roundf(area.left + (width - s->render->width * scale) / 2);
    const float top = roundf(area.top + (height - s->render->height * scale) / 2);
    return (box){left, top, roundf(left + s->render->width * scale), roundf(top + s->render->height * scale)};
}

typedef struct easel {
    canvas *canvas;
    fonts *fonts;
    box area;
    float scale;
} easel;

static void place(const easel *e, const float *point, float *out)
{
    out[0] = e->area.left + point[0] * e->scale;
    out[1] = e->area.top + point[1] * e->scale;
}

static void paint_item(const easel *e, const corral_draw *item)
{
    float at[CORRAL_DRAW_POINTS][2];
    const uint32_t count = item->point_count < CORRAL_DRAW_POINTS ? item->point_count : CORRAL_DRAW_POINTS;
    for (uint32_t i = 0; i < count; i++)
        place(e, item->point[i], at[i]);
    const float size = item->size * e->scale;
    char text[sizeof item->text + 1] = {0};
    switch (item->kind) {
    case CORRAL_DRAW_LINE:
        if (count >= 2)
            canvas_line(e->canvas, at[0][0], at[0][1], at[1][0], at[1][1], fmaxf(size, 0.75f), item->color);
        break;
    case CORRAL_DRAW_POLYGON:
        canvas_polygon(e->canvas, (const float(*)[2])at, count, item->color);
        break;
    case CORRAL_DRAW_CIRCLE:
        if (count >= 1) canvas_circle(e->canvas, at[0][0], at[0][1], size, item->color);
        break;
    case CORRAL_DRAW_TEXT:
        memcpy(text, item->text, sizeof item->text);
        if (count >= 1)
            text_draw(e->canvas, e->fonts, at[0][0], at[0][1],
                      (text_style){.size = size, .color = item->color}, text);
        break;
    case CORRAL_DRAW_IMAGE:
        if (count >= 2)
            canvas_image(e->canvas, (box){at[0][0], at[0][1], at[1][0], at[1][1]}, item->image,
                         item->image_width, item->image_height);
        break;
    default: // of a later version
        break;
    }
}

box scene_zoom(box area, zoom z)
{
    const float width = (area.right - area.left) * z.times, height = (area.bottom - area.top) * z.times;
    const float half = 0.5f / z.times; // as far as the frame's edge
    const float x = fminf(fmaxf(z.x, half), 1 - half), y = fminf(fmaxf(z.y, half), 1 - half);
    const float left = (area.left + area.right) / 2 - width * x,
                top = (area.top + area.bottom) / 2 - height * y;
    return (box){left, top, left + width, top + height};
}

void scene_paint(const scene *s, canvas *c, fonts *f, box area)
{
    if (s->render == NULL) return;
    const box before = c->clip;
    const box inside = {fmaxf(area.left, before.left), fmaxf(area.top, before.top),
                        fminf(area.right, before.right), fminf(area.bottom, before.bottom)};
    canvas_clip(c, &inside);
    canvas_clear(c, s->render->background);
    const easel e = {c, f, area, (area.right - area.left) / s->render->width};
    for (uint32_t i = 0; i < s->count; i++)
        paint_item(&e, &s->items[i]);
    canvas_clip(c, &before);
}
