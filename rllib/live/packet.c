// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The items of a frame, one after the other:
//
//   u8 0                                                     as in the frame before
//   u8 1, u8 kind, u8 points, u8 text length,                else
//         u32 colour, f32 size, f32 x y of each point, text
//         and of an image: u16 width, u16 height, and tokens until all of its pixels are told
//
// A cart that moves changes four of its twelve items, so that a frame is about 200 bytes. Images are reduced
// by a whole factor until they have at most LIVE_PIXELS_MAX pixels; most of those are as in the frame before,
// or have the colour of their neighbours. A token is
//
//   u16 pixels as before, u16 pixels of one colour, u16 others; the RGB of the one colour, if any; those of
//   the others
//
// "As before" means black where there was no image of that size.

#include "packet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

corral_status live_list_init(live_list *list)
{
    *list = (live_list){.items = calloc(LIVE_ITEMS_MAX, sizeof *list->items),
                        .pixels = malloc(LIVE_PIXELS_MAX * 3)};
    return list->items != NULL && list->pixels != NULL
               ? CORRAL_OK
               : corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a display list");
}

void live_list_finish(live_list *list)
{
    free(list->items);
    free(list->pixels);
    *list = (live_list){0};
}

live_kind live_kind_of(const uint8_t *packet, size_t size)
{
    static const size_t least[] = {[LIVE_HELLO] = sizeof(live_hello),
                                   [LIVE_POINT] = sizeof(live_point),
                                   [LIVE_FRAME] = sizeof(live_frame),
                                   [LIVE_END] = sizeof(live_end)};
    live_head head;
    if (size < sizeof head || size > LIVE_PACKET_MAX) return 0;
    memcpy(&head, packet, sizeof head);
    if (head.version != LIVE_VERSION || head.size != size || head.kind < LIVE_HELLO || head.kind > LIVE_END)
        return 0;
    return size >= least[head.kind] ? head.kind : 0;
}

// --- writing

typedef struct pen {
    uint8_t *at;
    const uint8_t *end;
} pen;

static void put(pen *p, const void *bytes, size_t size)
{
    memcpy(p->at, bytes, size);
    p->at += size;
}

static uint8_t points_of(const corral_draw *item)
{
    return (uint8_t)(item->point_count < CORRAL_DRAW_POINTS ? item->point_count : CORRAL_DRAW_POINTS);
}

static uint8_t text_length(const corral_draw *item)
{
    return item->kind == CORRAL_DRAW_TEXT ? (uint8_t)strnlen(item->text, sizeof item->text) : 0;
}

/// By how much an image is reduced.
static uint32_t reduction(const corral_draw *item, size_t pixels)
{
    uint32_t k = 1;
    while ((uint64_t)(item->image_width / k) * (item->image_height / k) > pixels)
        k++;
    return k;
}

static bool has_image(const corral_draw *item)
{
    return item->kind == CORRAL_DRAW_IMAGE && item->image != NULL && item->image_width > 0 &&
           item->image_height > 0 && item->image_width < 65536 && item->image_height < 65536;
}

static size_t bytes_of(const corral_draw *item)
{
    return 12 + points_of(item) * sizeof item->point[0] + text_length(item) + 2 * sizeof(uint16_t);
}

/// An image on its way: its pixels in rows, and those of before.
typedef struct image {
    const corral_draw *item;
    uint32_t reduction, width, height;
    uint8_t *before; // [width * height * 3]
} image;

static const uint8_t *pixel(const image *m, size_t index)
{
    const size_t x = index % m->width * m->reduction, y = index / m->width * m->reduction;
    return m->item->image + (y * m->item->image_width + x) * 3;
}

static bool is_kept(const image *m, size_t index)
{
    return memcmp(pixel(m, index), m->before + index * 3, 3) == 0;
}

/// How many pixels from `index` on are as before, and how many have the colour of the first; both are short.
static uint32_t kept_run(const image *m, size_t index, size_t end)
{
    uint32_t run = 0;
    while (index + run < end && run < UINT16_MAX && is_kept(m, index + run))
        run++;
    return run;
}

static uint32_t color_run(const image *m, size_t index, size_t end)
{
    uint32_t run = 0;
    while (index + run < end && run < UINT16_MAX && memcmp(pixel(m, index + run), pixel(m, index), 3) == 0)
        run++;
    return run;
}

enum { WORTH_A_TOKEN = 4 };

/// Until something begins that is worth a token.
static uint32_t other_run(const image *m, size_t index, size_t end)
{
    uint32_t run = 0;
    while (index + run < end && run < UINT16_MAX) {
        const size_t limit = end < index + run + WORTH_A_TOKEN ? end : index + run + WORTH_A_TOKEN;
        if (kept_run(m, index + run, limit) == WORTH_A_TOKEN ||
            color_run(m, index + run, limit) == WORTH_A_TOKEN)
            break;
        run++;
    }
    return run;
}

/// False where the packet has no room for it.
static bool put_pixels(pen *p, const image *m)
{
    const size_t end = (size_t)m->width * m->height;
    for (size_t i = 0; i < end;) {
        uint16_t run[3];
        run[0] = (uint16_t)kept_run(m, i, end);
        i += run[0];
        const uint32_t equal = color_run(m, i, end);
        run[1] = (uint16_t)(equal >= WORTH_A_TOKEN ? equal : 0);
        run[2] = (uint16_t)other_run(m, i + run[1], end);
        if ((size_t)(p->end - p->at) < sizeof run + 3 + run[2] * 3u) return false;
        put(p, run, sizeof run);
        if (run[1] > 0) put(p, pixel(m, i), 3);
        i += run[1];
        for (uint32_t k = 0; k < run[2]; k++)
            put(p, pixel(m, i + k), 3);
        i += run[2];
    }
    for (size_t i = 0; i < end; i++)
        memcpy(m->before + i * 3, pixel(m, i), 3);
    return true;
}

/// `before` is what that item was; its pixels, and those of this one, begin at `used`.
static bool put_image(pen *p, const corral_draw *item, const corral_draw *before, live_list *list,
                      size_t *used)
{
    const size_t room = LIVE_PIXELS_MAX - *used;
    if (!has_image(item) || room == 0) {
        put(p, (const uint16_t[2]){0}, 4);
        return true;
    }
    const uint32_t k = reduction(item, room);
    const image m = {item, k, item->image_width / k, item->image_height / k, list->pixels + *used * 3};
    const uint16_t size[2] = {(uint16_t)m.width, (uint16_t)m.height};
    put(p, size, sizeof size);
    if (before == NULL || before->image != m.before || before->image_width != m.width ||
        before->image_height != m.height)
        memset(m.before, 0, (size_t)m.width * m.height * 3);
    *used += (size_t)m.width * m.height;
    return put_pixels(p, &m);
}

static void put_item(pen *p, const corral_draw *item)
{
    const uint8_t small[4] = {1, (uint8_t)item->kind, points_of(item), text_length(item)};
    put(p, small, sizeof small);
    put(p, &item->color, sizeof item->color);
    put(p, &item->size, sizeof item->size);
    put(p, item->point, points_of(item) * sizeof item->point[0]);
    put(p, item->text, text_length(item));
}

/// An image is looked at pixel by pixel in any case.
static bool same(const corral_draw *a, const corral_draw *b)
{
    return a->kind == b->kind && a->kind != CORRAL_DRAW_IMAGE && a->color == b->color && a->size == b->size &&
           points_of(a) == points_of(b) && text_length(a) == text_length(b) &&
           memcmp(a->point, b->point, points_of(a) * sizeof a->point[0]) == 0 &&
           memcmp(a->text, b->text, text_length(a)) == 0;
}

size_t live_frame_write(live_frame *frame, const corral_draw *items, uint32_t count, live_list *before,
                        uint8_t *packet)
{
    pen p = {packet + sizeof *frame, packet + LIVE_PACKET_MAX};
    if (count > LIVE_ITEMS_MAX) count = LIVE_ITEMS_MAX;
    size_t used = 0; // pixels
    uint32_t i = 0;
    for (; i < count; i++) {
        corral_draw *old = &before->items[i];
        const bool known = !frame->whole && i < before->count;
        const bool as_before = known && same(&items[i], old);
        if ((size_t)(p.end - p.at) < (as_before ? 1 : bytes_of(&items[i]))) break;
        if (as_before) {
            *p.at++ = 0;
            continue;
        }
        uint8_t *const begin = p.at;
        const size_t first = used;
        put_item(&p, &items[i]);
        const bool fits =
            items[i].kind != CORRAL_DRAW_IMAGE || put_image(&p, &items[i], known ? old : NULL, before, &used);
        *old = items[i];
        old->image = NULL;
        if (!fits) {
            p.at = begin;
            break;
        }
        if (used == first) continue;
        old->image = before->pixels + first * 3; // how the other side has it
        old->image_width /= reduction(&items[i], LIVE_PIXELS_MAX - first);
        old->image_height /= reduction(&items[i], LIVE_PIXELS_MAX - first);
    }
    before->count = frame->item_count = i;
    frame->head = (live_head){LIVE_VERSION, LIVE_FRAME, (uint32_t)(p.at - packet)};
    memcpy(packet, frame, sizeof *frame);
    return frame->head.size;
}

// --- reading

typedef struct eye {
    const uint8_t *at, *end;
    bool failed;
} eye;

static void get(eye *e, void *out, size_t size)
{
    if ((size_t)(e->end - e->at) < size) e->failed = true;
    if (e->failed) return;
    memcpy(out, e->at, size);
    e->at += size;
}

static void get_pixels(eye *e, uint8_t *pixels, size_t count)
{
    for (size_t i = 0; i < count && !e->failed;) {
        uint16_t run[3] = {0};
        uint8_t color[3] = {0};
        get(e, run, sizeof run);
        const size_t all = (size_t)run[0] + run[1] + run[2];
        if (all == 0 || all > count - i) e->failed = true;
        if (run[1] > 0) get(e, color, sizeof color);
        if (e->failed) return;
        i += run[0];
        for (uint32_t k = 0; k < run[1]; k++)
            memcpy(pixels + (i + k) * 3, color, 3);
        i += run[1];
        get(e, pixels + i * 3, run[2] * 3u);
        i += run[2];
    }
}

static void get_image(eye *e, corral_draw *item, const corral_draw *before, live_list *list, size_t *used)
{
    uint16_t size[2] = {0};
    get(e, size, sizeof size);
    const size_t pixels = (size_t)size[0] * size[1];
    if (pixels > LIVE_PIXELS_MAX - *used) e->failed = true;
    if (e->failed || pixels == 0) return;
    uint8_t *const at = list->pixels + *used * 3;
    if (before->image != at || before->image_width != size[0] || before->image_height != size[1])
        memset(at, 0, pixels * 3);
    item->image = at;
    item->image_width = size[0];
    item->image_height = size[1];
    get_pixels(e, at, pixels);
    *used += pixels;
}

static void get_item(eye *e, corral_draw *item, bool known, live_list *list, size_t *used)
{
    const corral_draw before = known ? *item : (corral_draw){0};
    uint8_t small[3] = {0};
    *item = (corral_draw){0};
    get(e, small, sizeof small);
    get(e, &item->color, sizeof item->color);
    get(e, &item->size, sizeof item->size);
    if (small[1] > CORRAL_DRAW_POINTS || small[2] > sizeof item->text) e->failed = true;
    if (e->failed) return;
    item->kind = small[0];
    item->point_count = small[1];
    get(e, item->point, small[1] * sizeof item->point[0]);
    get(e, item->text, small[2]);
    if (item->kind == CORRAL_DRAW_IMAGE) get_image(e, item, &before, list, used);
}

corral_status live_frame_read(const uint8_t *packet, size_t size, live_frame *out_frame, live_list *list)
{
    if (live_kind_of(packet, size) != LIVE_FRAME)
        return corral_fail(CORRAL_ERROR_CORRUPT, "what the run sends is not understood");
    memcpy(out_frame, packet, sizeof *out_frame);
    if (out_frame->cell >= LIVE_CELLS_MAX || out_frame->item_count > LIVE_ITEMS_MAX)
        return corral_fail(CORRAL_ERROR_CORRUPT, "what the run sends is not understood");
    eye e = {packet + sizeof *out_frame, packet + size, false};
    size_t used = 0; // pixels
    for (uint32_t i = 0; i < out_frame->item_count && !e.failed; i++) {
        uint8_t changed = 0;
        get(&e, &changed, 1);
        if (changed == 0 && (out_frame->whole || i >= list->count))
            return corral_fail(CORRAL_ERROR_STALE, "a frame builds on one that was not received");
        if (changed != 0) get_item(&e, &list->items[i], !out_frame->whole && i < list->count, list, &used);
    }
    list->count = out_frame->item_count;
    return e.failed ? corral_fail(CORRAL_ERROR_CORRUPT, "what the run sends is not understood") : CORRAL_OK;
}
