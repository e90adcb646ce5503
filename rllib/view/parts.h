// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Pieces that every view is made of.
#ifndef CORRAL_VIEW_PARTS_H
#define CORRAL_VIEW_PARTS_H

#include "text.h"

typedef struct brush {
    canvas *canvas;
    fonts *fonts;
    float s; // pixels per unit of the design
} brush;

text_style brush_style(const brush *brush, float size, uint32_t color, text_anchor anchor);
text_style brush_bold(const brush *brush, float size, uint32_t color, text_anchor anchor);
void brush_card(const brush *brush, box area, uint32_t color);
/// White words on a rounded strip whose baseline has its middle at (x, y).
void brush_label(const brush *brush, float x, float y, uint32_t color, const char *text);
/// A line over the foot of the view.
void brush_message(const brush *brush, const char *text);
/// Keys and what they do, over everything.
void brush_help(const brush *brush, const char *const (*keys)[2], uint32_t count);

#endif
