// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Paper for a chart: pixels or SVG, drawn on by the same calls. Units are pixels of the design; pixels of a
/// PNG are `scale` times as many.
#ifndef CORRAL_VIEW_SHEET_H
#define CORRAL_VIEW_SHEET_H

#include "text.h"

#include <stdio.h>

typedef struct sheet {
    canvas *canvas; // or:
    FILE *svg;
    fonts *fonts; // with a canvas
    float scale;  // of a canvas
} sheet;

void sheet_begin(sheet *sheet, float width, float height, uint32_t background);
void sheet_line(sheet *sheet, const float (*point)[2], uint32_t count, float width, uint32_t color);
void sheet_area(sheet *sheet, const float (*point)[2], uint32_t count, uint32_t color);
void sheet_text(sheet *sheet, float x, float y, text_style style, const char *text);
void sheet_end(sheet *sheet);

#endif
