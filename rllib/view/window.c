// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// One loop: wait for an event or for the next step, whichever is first, and paint when something is new. It
// never waits longer than a tenth of a second, so the window answers while it is paused.

#include "window.h"

#include "hands.h"

#include "corral/base/clock.h"

#include <SDL2/SDL.h>

#include <math.h>
#include <stdio.h>

typedef struct window {
    SDL_Window *window;
    SDL_Renderer *renderer;
    SDL_Texture *texture;
    canvas canvas;
    fonts *fonts;
    show show;
    bool quit, stale;
    int32_t digit; // held down, -1: none
    bool tapped;   // `tap` came since the last step, however short
    double tap;    // the choice of a key
} window;

static const struct {
    SDL_Keycode key;
    wish wish;
} wishes[] = {
    {SDLK_SPACE, WISH_PLAY},   {SDLK_PERIOD, WISH_FORWARD},  {SDLK_COMMA, WISH_BACK},
    {SDLK_n, WISH_NEXT},       {SDLK_r, WISH_AGAIN},         {SDLK_s, WISH_SEED},
    {SDLK_PLUS, WISH_FASTER},  {SDLK_EQUALS, WISH_FASTER},   {SDLK_KP_PLUS, WISH_FASTER},
    {SDLK_MINUS, WISH_SLOWER}, {SDLK_KP_MINUS, WISH_SLOWER}, {SDLK_a, WISH_WHO},
    {SDLK_p, WISH_PANEL},      {SDLK_c, WISH_PICTURE},       {SDLK_v, WISH_RECORD},
    {SDLK_h, WISH_HELP},       {SDLK_F1, WISH_HELP},
};

static corral_status sdl_fail(const char *what)
{
    return corral_fail(CORRAL_ERROR_IO, "%s: %s; `corral record` needs no display", what, SDL_GetError());
}

// --- pictures ---------------------------------------------------------------------------------------------

/// The canvas has the window's pixels; the design is scaled to its smaller side.
static corral_status fit(window *w)
{
    int width, height;
    if (SDL_GetRendererOutputSize(w->renderer, &width, &height) != 0)
        return sdl_fail("the window has no size");
    if (w->texture != NULL && (uint32_t)width == w->canvas.width && (uint32_t)height == w->canvas.height)
        return CORRAL_OK;
    if (w->texture != NULL) SDL_DestroyTexture(w->texture);
    canvas_finish(&w->canvas);
    w->texture =
        SDL_CreateTexture(w->renderer, SDL_PIXELFORMAT_RGB24, SDL_TEXTUREACCESS_STREAMING, width, height);
    if (w->texture == NULL) return sdl_fail("the window has no room for a picture");
    w->show.stage.scale = fminf((float)width / STAGE_WIDTH, (float)height / STAGE_HEIGHT);
    return canvas_init(&w->canvas, (uint32_t)width, (uint32_t)height);
}

static corral_status present(window *w)
{
    const corral_status status = fit(w);
    if (status != CORRAL_OK) return status;
    stage_paint(&w->show.stage, &w->canvas, w->fonts);
    SDL_UpdateTexture(w->texture, NULL, w->canvas.rgb, (int)w->canvas.width * 3);
    SDL_RenderCopy(w->renderer, w->texture, NULL, NULL);
    SDL_RenderPresent(w->renderer);
    w->stale = false;
    return CORRAL_OK;
}

// --- keys -------------------------------------------------------------------------------------------------

static int32_t digit_of(SDL_Keycode key)
{
    return key >= SDLK_0 && key <= SDLK_9 ? key - SDLK_0 : -1;
}

static bool choice_of(const window *w, SDL_Keycode key, double *out_choice)
{
    const player *p = w->show.exhibits[0].player;
    const hand which = key == SDLK_LEFT    ? HAND_LEFT
                       : key == SDLK_RIGHT ? HAND_RIGHT
                       : key == SDLK_UP    ? HAND_UP
                       : key == SDLK_DOWN  ? HAND_DOWN
                                           : HAND_NONE;
    if (which != HAND_NONE) return hands_choice(player_get_config(p)->type, which, out_choice);
    if (digit_of(key) < 0 || (uint32_t)digit_of(key) >= player_action_count(p)) return false;
    *out_choice = digit_of(key);
    return true;
}

static void toggle_full_screen(window *w)
{
    const bool full = (SDL_GetWindowFlags(w->window) & SDL_WINDOW_FULLSCREEN_DESKTOP) != 0;
    SDL_SetWindowFullscreen(w->window, full ? 0 : SDL_WINDOW_FULLSCREEN_DESKTOP);
}

static void press(window *w, SDL_Keycode key)
{
    const int64_t now = corral_now_ns();
    if (w->show.stage.human && digit_of(key) >= 0) w->digit = digit_of(key);
    if (w->show.stage.human) w->tapped |= choice_of(w, key, &w->tap);
    if (!w->show.stage.human && key == SDLK_RIGHT) show_wish(&w->show, WISH_FORWARD, now);
    if (!w->show.stage.human && key == SDLK_LEFT) show_wish(&w->show, WISH_BACK, now);
    if (key == SDLK_q) w->quit = true;
    if (key == SDLK_ESCAPE && w->show.stage.help)
        show_wish(&w->show, WISH_HELP, now);
    else if (key == SDLK_ESCAPE)
        w->quit = true;
    if (key == SDLK_f) toggle_full_screen(w);
    for (size_t i = 0; i < sizeof wishes / sizeof wishes[0]; i++)
        if (wishes[i].key == key) show_wish(&w->show, wishes[i].wish, now);
}

static void handle(window *w, const SDL_Event *event)
{
    switch (event->type) {
    case SDL_QUIT:
        w->quit = true;
        break;
    case SDL_KEYDOWN:
        press(w, event->key.keysym.sym);
        break;
    case SDL_KEYUP:
        if (digit_of(event->key.keysym.sym) == w->digit) w->digit = -1;
        break;
    case SDL_WINDOWEVENT:
        break;
    default:
        return;
    }
    w->stale = true;
}

/// What a person has pressed or holds down; false: nothing that means an action.
static bool held(const window *w, double *out_choice)
{
    if (w->tapped) {
        *out_choice = w->tap;
        return true;
    }
    const uint8_t *down = SDL_GetKeyboardState(NULL);
    const player *p = w->show.exhibits[0].player;
    if (w->digit >= 0 && (uint32_t)w->digit < player_action_count(p)) {
        *out_choice = w->digit;
        return true;
    }
    const hand which = down[SDL_SCANCODE_LEFT]    ? HAND_LEFT
                       : down[SDL_SCANCODE_RIGHT] ? HAND_RIGHT
                       : down[SDL_SCANCODE_UP]    ? HAND_UP
                       : down[SDL_SCANCODE_DOWN]  ? HAND_DOWN
                                                  : HAND_NONE;
    return hands_choice(player_get_config(p)->type, which, out_choice);
}

// --- life -------------------------------------------------------------------------------------------------

static corral_status loop(window *w)
{
    corral_status status = present(w);
    while (status == CORRAL_OK && !w->quit) {
        SDL_Event event;
        const int64_t idle = show_idle_ns(&w->show, corral_now_ns());
        bool any =
            SDL_WaitEventTimeout(&event, (int)((idle + CORRAL_MILLISECOND - 1) / CORRAL_MILLISECOND)) != 0;
        for (; any; any = SDL_PollEvent(&event) != 0)
            handle(w, &event);
        double choice;
        const bool plays = held(w, &choice);
        if (show_pass(&w->show, corral_now_ns(), plays ? &choice : NULL)) {
            w->stale = true;
            w->tapped = false;
        }
        if (w->stale && !w->quit) status = present(w);
    }
    return status;
}

static corral_status open_window(window *w, const char *what)
{
    char title[128];
    snprintf(title, sizeof title, "%s - corral", what);
    SDL_SetHint(SDL_HINT_NO_SIGNAL_HANDLERS, "0"); // Ctrl-C closes the window as its button does
    SDL_SetHint(SDL_HINT_RENDER_SCALE_QUALITY, "nearest");
    SDL_SetHint(SDL_HINT_VIDEO_ALLOW_SCREENSAVER, "1");
    if (SDL_Init(SDL_INIT_VIDEO) != 0) return sdl_fail("no window can be opened");
    w->window = SDL_CreateWindow(title, SDL_WINDOWPOS_UNDEFINED, SDL_WINDOWPOS_UNDEFINED, STAGE_WIDTH,
                                 STAGE_HEIGHT, SDL_WINDOW_RESIZABLE | SDL_WINDOW_ALLOW_HIGHDPI);
    if (w->window == NULL) return sdl_fail("no window can be opened");
    SDL_SetWindowMinimumSize(w->window, 480, 320);
    w->renderer = SDL_CreateRenderer(w->window, -1, 0);
    if (w->renderer == NULL) w->renderer = SDL_CreateRenderer(w->window, -1, SDL_RENDERER_SOFTWARE);
    return w->renderer != NULL ? CORRAL_OK : sdl_fail("the window cannot be painted");
}

corral_status window_run(exhibit *exhibits, uint32_t count, bool human)
{
    window w = {.digit = -1};
    corral_status status = fonts_open(&w.fonts);
    if (status == CORRAL_OK) {
        show_init(&w.show, exhibits, count, w.fonts, human);
        status = open_window(&w, player_get_config(exhibits[0].player)->type->id);
    }
    if (status == CORRAL_OK) status = loop(&w);
    show_finish(&w.show);
    if (w.texture != NULL) SDL_DestroyTexture(w.texture);
    if (w.renderer != NULL) SDL_DestroyRenderer(w.renderer);
    if (w.window != NULL) SDL_DestroyWindow(w.window);
    canvas_finish(&w.canvas);
    fonts_close(w.fonts);
    SDL_Quit();
    return status;
}
