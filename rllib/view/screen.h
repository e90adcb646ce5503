// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A window that shows a canvas of its own size, in the pixels of the display.
#ifndef CORRAL_VIEW_SCREEN_H
#define CORRAL_VIEW_SCREEN_H

#include "text.h"

#include <SDL2/SDL.h>

typedef struct screen {
    SDL_Window *window;
    SDL_Renderer *renderer;
    SDL_Texture *texture;
    canvas canvas;
    fonts *fonts;
} screen;

/// End it with screen_close(), also after a failure.
CORRAL_MUST_USE corral_status screen_open(screen *screen, const char *title);
void screen_close(screen *screen);

/// Has the canvas painted and shows it. `scale`: pixels per unit of the design, whose width and height fit.
CORRAL_MUST_USE corral_status screen_present(
    screen *screen, void (*paint)(void *context, canvas *canvas, fonts *fonts, float scale), void *context);
void screen_toggle_full(screen *screen);

#endif
