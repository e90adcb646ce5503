// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A box of labelled rows on a terminal, drawn again in place.
///
/// Each drawing asks for the terminal's size, so no signal is needed: after a resize, which moves what stands
/// on the screen in ways that differ between terminals, the screen is cleared and the box begins anew. The
/// box fits: rows that do not fit into a low terminal are left out, text that is too long is cut off.
#ifndef CORRAL_RLLIB_SCREEN_H
#define CORRAL_RLLIB_SCREEN_H

#include "corral/base/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct screen_glyphs screen_glyphs;

typedef struct screen {
    bool color;
    int width, height; // of the terminal, in cells; 0 before the first drawing
    int lines;         // of the box that stands there now
    const screen_glyphs *glyphs;
} screen;

/// Looks at the environment: NO_COLOR, TERM, and whether the locale's letters are UTF-8.
void screen_init(screen *s);
/// Standard output is a terminal that can move its cursor.
bool screen_is_possible(void);

/// Begins a drawing over the one before. False where the terminal is too narrow for a box: nothing was drawn.
bool screen_begin(screen *s, const char *title);
void screen_row(screen *s, const char *label, const char *format, ...) CORRAL_PRINTF(3, 4);
void screen_end(screen *s);

/// Removes the box and prints a line in its place; the next drawing goes below it.
void screen_message(screen *s, const char *line);

/// Cells that a row's text may take.
int screen_room(const screen *s);
/// "±", or what stands for it.
const char *screen_plus_minus(const screen *s);
/// A bar of `cells` cells, `share` of them filled. Writes into `out`.
const char *screen_bar(const screen *s, double share, int cells, char *out, size_t size);
/// A curve of at most `cells` cells from `count` values. Writes into `out`.
const char *screen_curve(const screen *s, const float *values, int count, int cells, char *out, size_t size);

#endif
