// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "screen.h"

#include "stage.h"

#include <math.h>
#include <string.h>

static corral_status sdl_fail(const char *what)
{
    return corral_fail(CORRAL_ERROR_IO, "%s: %s; `corral record` needs no display", what, SDL_GetError());
}

corral_status screen_open(screen *s, const char *title)
{
    *s = (screen){0};
    const corral_status status = fonts_open(&s->fonts);
    if (status != CORRAL_OK) return status;
    SDL_SetHint(SDL_HINT_NO_SIGNAL_HANDLERS, "0"); // Ctrl-C closes the window as its button does
    SDL_SetHint(SDL_HINT_RENDER_SCALE_QUALITY, "nearest");
    SDL_SetHint(SDL_HINT_VIDEO_ALLOW_SCREENSAVER, "1");
    if (SDL_Init(SDL_INIT_VIDEO) != 0) return sdl_fail("no window can be opened");
    if (SDL_getenv("SDL_VIDEODRIVER") == NULL && strcmp(SDL_GetCurrentVideoDriver(), "offscreen") == 0)
        return corral_fail(CORRAL_ERROR_IO, "no window can be opened: there is no display (DISPLAY and "
                                            "WAYLAND_DISPLAY are not set); `corral record` needs none");
    s->window = SDL_CreateWindow(title, SDL_WINDOWPOS_UNDEFINED, SDL_WINDOWPOS_UNDEFINED, STAGE_WIDTH,
                                 STAGE_HEIGHT, SDL_WINDOW_RESIZABLE | SDL_WINDOW_ALLOW_HIGHDPI);
    if (s->window == NULL) return sdl_fail("no window can be opened");
    SDL_SetWindowMinimumSize(s->window, 480, 320);
    s->renderer = SDL_CreateRenderer(s->window, -1, 0);
    if (s->renderer == NULL) s->renderer = SDL_CreateRenderer(s->window, -1, SDL_RENDERER_SOFTWARE);
    return s->renderer != NULL ? CORRAL_OK : sdl_fail("the window cannot be painted");
}

void screen_close(screen *s)
{
    if (s->texture != NULL) SDL_DestroyTexture(s->texture);
    if (s->renderer != NULL) SDL_DestroyRenderer(s->renderer);
    if (s->window != NULL) SDL_DestroyWindow(s->window);
    canvas_finish(&s->canvas);
    fonts_close(s->fonts);
    SDL_Quit();
    *s = (screen){0};
}

/// The canvas has the window's pixels.
static corral_status fit(screen *s)
{
    int width, height;
    if (SDL_GetRendererOutputSize(s->renderer, &width, &height) != 0)
        return sdl_fail("the window has no size");
    if (s->texture != NULL && (uint32_t)width == s->canvas.width && (uint32_t)height == s->canvas.height)
        return CORRAL_OK;
    if (s->texture != NULL) SDL_DestroyTexture(s->texture);
    canvas_finish(&s->canvas);
    s->texture =
        SDL_CreateTexture(s->renderer, SDL_PIXELFORMAT_RGB24, SDL_TEXTUREACCESS_STREAMING, width, height);
    if (s->texture == NULL) return sdl_fail("the window has no room for a picture");
    return canvas_init(&s->canvas, (uint32_t)width, (uint32_t)height);
}

corral_status screen_present(screen *s,
                             void (*paint)(void *context, canvas *canvas, fonts *fonts, float scale),
                             void *context)
{
    const corral_status status = fit(s);
    if (status != CORRAL_OK) return status;
    paint(context, &s->canvas, s->fonts,
          fminf((float)s->canvas.width / STAGE_WIDTH, (float)s->canvas.height / STAGE_HEIGHT));
    SDL_UpdateTexture(s->texture, NULL, s->canvas.rgb, (int)s->canvas.width * 3);
    SDL_RenderCopy(s->renderer, s->texture, NULL, NULL);
    SDL_RenderPresent(s->renderer);
    return CORRAL_OK;
}

void screen_toggle_full(screen *s)
{
    const bool full = (SDL_GetWindowFlags(s->window) & SDL_WINDOW_FULLSCREEN_DESKTOP) != 0;
    SDL_SetWindowFullscreen(s->window, full ? 0 : SDL_WINDOW_FULLSCREEN_DESKTOP);
}
