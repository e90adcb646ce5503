// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "watch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS_MAX = 4096 };

corral_status watch_init(watch *w)
{
    *w = (watch){0};
    corral_status status = CORRAL_OK;
    for (uint32_t i = 0; i < LIVE_CELLS_MAX && status == CORRAL_OK; i++)
        status = live_list_init(&w->cells[i].list);
    if (status != CORRAL_OK) watch_finish(w);
    return status;
}

void watch_finish(watch *w)
{
    for (uint32_t i = 0; i < LIVE_CELLS_MAX; i++)
        live_list_finish(&w->cells[i].list);
    free(w->points);
    w->points = NULL;
}

static void end_text(char *text, size_t size)
{
    text[size - 1] = '\0'; // whatever was sent
}

static bool greet(watch *w, const uint8_t *packet)
{
    memcpy(&w->hello, packet, sizeof w->hello);
    live_hello *h = &w->hello;
    end_text(h->env, sizeof h->env);
    end_text(h->run, sizeof h->run);
    end_text(h->algorithm, sizeof h->algorithm);
    if (h->cells > LIVE_CELLS_MAX) h->cells = LIVE_CELLS_MAX;
    const bool draws = h->width >= 1 && h->height >= 1 && h->width <= 16384 && h->height <= 16384;
    for (uint32_t i = 0; i < h->cells; i++) {
        watch_cell *c = &w->cells[i];
        c->render = (corral_env_render){.width = h->width, .height = h->height, .background = h->background};
        c->scene = (scene){.render = draws ? &c->render : NULL};
    }
    w->greeted = true;
    return true;
}

/// When there is no room every second one goes.
static bool make_room(watch *w)
{
    if (w->point_count < w->point_room) return true;
    if (w->point_room == POINTS_MAX) {
        for (uint32_t i = 0; i < POINTS_MAX / 2; i++)
            w->points[i] = w->points[2 * i + 1];
        w->point_count /= 2;
        return true;
    }
    const uint32_t room = w->point_room == 0 ? 256 : w->point_room * 2;
    live_point *points = realloc(w->points, room * sizeof *points);
    if (points == NULL) return false;
    w->points = points;
    w->point_room = room;
    return true;
}

static bool add_point(watch *w, const uint8_t *packet)
{
    memcpy(&w->now, packet, sizeof w->now);
    const bool in_order = w->point_count == 0 || w->now.env_steps > w->points[w->point_count - 1].env_steps;
    if (in_order && make_room(w)) w->points[w->point_count++] = w->now;
    return true;
}

static bool show_frame(watch *w, const uint8_t *packet, size_t size)
{
    live_frame frame;
    memcpy(&frame, packet, sizeof frame);
    if (!w->greeted || frame.cell >= w->hello.cells) return false;
    watch_cell *c = &w->cells[frame.cell];
    if (!frame.whole && !c->filled) return false;
    c->filled = live_frame_read(packet, size, &c->frame, &c->list) == CORRAL_OK;
    c->scene.items = c->list.items;
    c->scene.count = c->filled ? c->list.count : 0;
    return true;
}

bool watch_take(watch *w, const uint8_t *packet, size_t size)
{
    switch (live_kind_of(packet, size)) {
    case LIVE_HELLO:
        return greet(w, packet);
    case LIVE_POINT:
        return add_point(w, packet);
    case LIVE_FRAME:
        return show_frame(w, packet, size);
    case LIVE_END: {
        live_end end;
        memcpy(&end, packet, sizeof end);
        end_text(end.reason, sizeof end.reason);
        memcpy(w->ending, end.reason, sizeof w->ending);
        w->ended = true;
        return true;
    }
    }
    return false;
}

void watch_lost(watch *w)
{
    w->ended = true;
}
