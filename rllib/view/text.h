// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Text on a canvas, by SDL2_ttf, which needs no display.
#ifndef CORRAL_VIEW_TEXT_H
#define CORRAL_VIEW_TEXT_H

#include "canvas.h"

typedef struct fonts fonts;

typedef enum text_anchor { TEXT_LEFT, TEXT_MIDDLE, TEXT_RIGHT } text_anchor;

typedef struct text_style {
    float size; // of the em, in pixels
    uint32_t color;
    text_anchor anchor; // what of the text stands at x
    bool bold;
} text_style;

/// Finds a font: the file that CORRAL_FONT names, else DejaVu Sans where systems keep it. One at a time.
CORRAL_MUST_USE corral_status fonts_open(fonts **out_fonts);
void fonts_close(fonts *fonts);

/// Writes one line of UTF-8 with its baseline at `y`. Returns its width in pixels.
float text_draw(canvas *canvas, fonts *fonts, float x, float y, text_style style, const char *text);
float text_printf(canvas *canvas, fonts *fonts, float x, float y, text_style style, const char *format, ...)
    CORRAL_PRINTF(6, 7);
float text_width(fonts *fonts, text_style style, const char *text);

#endif
