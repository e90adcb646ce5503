// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A run that is watched as one picture: what its workers do, and how it goes.
#ifndef CORRAL_VIEW_LIVE_STAGE_H
#define CORRAL_VIEW_LIVE_STAGE_H

#include "watch.h"

typedef struct live_stage {
    const watch *watch;
    float scale; // pixels per unit of the design
    bool panel, help, held, controls;
    int32_t alone;       // the one cell that is shown, -1: all
    const char *message; // a line that comes and goes, or NULL
} live_stage;

void live_stage_paint(const live_stage *stage, canvas *canvas, fonts *fonts);

#endif
