// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A training run as those see it who watch it: what it sends, put together. Reading never waits.
#ifndef CORRAL_VIEW_WATCH_H
#define CORRAL_VIEW_WATCH_H

#include "scene.h"

#include "live/live.h"

typedef struct watch_cell {
    live_frame frame; // the newest
    live_list list;
    bool filled; // the list is whole
    corral_env_render render;
    scene scene; // borrows the list
} watch_cell;

typedef struct watch {
    live_hello hello;
    watch_cell cells[LIVE_CELLS_MAX];
    live_point *points; // [point_count], by steps
    uint32_t point_count, point_room;
    live_point now; // the newest one
    bool greeted, ended;
    char ending[64]; // why: "steps"; "" where it was cut off
} watch;

CORRAL_MUST_USE corral_status watch_init(watch *watch);
void watch_finish(watch *watch);

/// Takes one packet. Returns whether there is something new to see; what is not understood is left out.
bool watch_take(watch *watch, const uint8_t *packet, size_t size);
/// The run is gone without a word.
void watch_lost(watch *watch);

#endif
