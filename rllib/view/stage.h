// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The whole view as one picture: what the window shows, what a screenshot holds, what a recording with its
/// panel is made of.
#ifndef CORRAL_VIEW_STAGE_H
#define CORRAL_VIEW_STAGE_H

#include "player.h"

enum { STAGE_CELLS_MAX = 9, STAGE_WIDTH = 1120, STAGE_HEIGHT = 680 };

typedef struct stage_cell {
    const player *player;
    const char *title; // what plays: "runs/cartpole, 20,480 steps"
} stage_cell;

typedef struct stage {
    stage_cell cells[STAGE_CELLS_MAX];
    uint32_t count; // several are shown as a grid
    float scale;    // pixels per unit of the design
    bool playing, human, help, panel, recording, controls;
    double speed;
    zoom zoom;           // times 0 or 1: all of the picture
    const char *rival;   // what a person who plays has to beat, or NULL
    const char *message; // a line that comes and goes, or NULL
} stage;

void stage_paint(const stage *stage, canvas *canvas, fonts *fonts);

#endif
