// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// One loop: wait for an event or for the next step, whichever is first, and paint when something is new. It
// never waits longer than a tenth of a second, so the window answers while it is paused.

#include "window.h"

#include "hands.h"
#include "screen.h"

#include "corral/base/clock.h"

#include <math.h>
#include <stdio.h>

typedef struct window {
    screen screen;
    show show;
    bool quit, stale;
    int32_t digit; // held down, -1: none
    bool tapped;   // `tap` came since the last step, however short
    double tap;    // the choice of a key
    uint32_t keys; // that came since the last step
} window;

static const struct {
    SDL_Keycode key;
    wish wish;
} wishes[] = {
    {SDLK_SPACE, WISH_PLAY},   {SDLK_PERIOD, WISH_FORWARD},  {SDLK_COMMA, WISH_BACK},
    {SDLK_n, WISH_NEXT},       {SDLK_r, WISH_AGAIN},         {SDLK_s, WISH_SEED},
    {SDLK_PLUS, WISH_FASTER},  {SDLK_EQUALS, WISH_FASTER},   {SDLK_KP_PLUS, WISH_FASTER},
    {SDLK_MINUS, WISH_SLOWER}, {SDLK_KP_MINUS, WISH_SLOWER}, {SDLK_a, WISH_WHO},
    {SDLK_p, WISH_PANEL},      {SDLK_z, WISH_ZOOM},          {SDLK_c, WISH_PICTURE},
    {SDLK_v, WISH_RECORD},     {SDLK_h, WISH_HELP},          {SDLK_F1, WISH_HELP},
};

static void paint(void *context, canvas *c, fonts *f, float scale)
{
    show *s = context;
    s->stage.scale = scale;
    stage_paint(&s->stage, c, f);
}

static corral_status present(window *w)
{
    w->stale = false;
    return screen_present(&w->screen, paint, &w->show);
}

// --- keys -------------------------------------------------------------------------------------------------

static int32_t digit_of(SDL_Keycode key)
{
    return key >= SDLK_0 && key <= SDLK_9 ? key - SDLK_0 : -1;
}

/// The bit of a key for environments that read keys; 0: none of theirs.
static uint32_t key_bit(SDL_Keycode key)
{
    if (digit_of(key) >= 0) return (uint32_t)CORRAL_KEY_0 << digit_of(key);
    switch (key) {
    case SDLK_LEFT:
        return CORRAL_KEY_LEFT;
    case SDLK_RIGHT:
        return CORRAL_KEY_RIGHT;
    case SDLK_UP:
        return CORRAL_KEY_UP;
    case SDLK_DOWN:
        return CORRAL_KEY_DOWN;
    case SDLK_LSHIFT:
    case SDLK_RSHIFT:
        return CORRAL_KEY_SHIFT;
    case SDLK_LCTRL:
    case SDLK_RCTRL:
        return CORRAL_KEY_CONTROL;
    case SDLK_RETURN:
        return CORRAL_KEY_ENTER;
    default:
        return 0;
    }
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

static void press(window *w, SDL_Keycode key)
{
    const int64_t now = corral_now_ns();
    if (w->show.stage.human && digit_of(key) >= 0) w->digit = digit_of(key);
    if (w->show.stage.human) w->tapped |= choice_of(w, key, &w->tap);
    if (w->show.stage.human) w->keys |= key_bit(key);
    if (!w->show.stage.human && key == SDLK_RIGHT) show_wish(&w->show, WISH_FORWARD, now);
    if (!w->show.stage.human && key == SDLK_LEFT) show_wish(&w->show, WISH_BACK, now);
    if (key == SDLK_q) w->quit = true;
    if (key == SDLK_ESCAPE && w->show.stage.help)
        show_wish(&w->show, WISH_HELP, now);
    else if (key == SDLK_ESCAPE)
        w->quit = true;
    if (key == SDLK_f) screen_toggle_full(&w->screen);
    for (size_t i = 0; i < sizeof wishes / sizeof wishes[0]; i++)
        if (wishes[i].key == key) show_wish(&w->show, wishes[i].wish, now);
}

/// Zooms towards where the pointer is.
static void turn_wheel(window *w, float notches)
{
    int x, y, width, height;
    SDL_GetMouseState(&x, &y);
    SDL_GetWindowSize(w->screen.window, &width, &height);
    if (notches != 0 && width > 0 && height > 0)
        show_zoom(&w->show, powf(1.25f, notches), (float)x / (float)width, (float)y / (float)height);
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
    case SDL_MOUSEWHEEL:
        turn_wheel(w, (float)event->wheel.y);
        break;
    case SDL_WINDOWEVENT:
        break;
    default:
        return;
    }
    w->stale = true;
}

static uint32_t keys_down(void)
{
    int count;
    uint32_t keys = 0;
    const uint8_t *down = SDL_GetKeyboardState(&count);
    for (int code = 0; code < count; code++)
        if (down[code]) keys |= key_bit(SDL_GetKeyFromScancode((SDL_Scancode)code));
    return keys;
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
        person who = {.keys = w->keys | keys_down()};
        const bool plays = held(w, &who.choice) || player_keys(w->show.exhibits[0].player) != NULL;
        if (show_pass(&w->show, corral_now_ns(), plays ? &who : NULL)) {
            w->stale = true;
            w->tapped = false;
            w->keys = 0;
        }
        if (w->stale && !w->quit) status = present(w);
    }
    return status;
}

corral_status window_run(exhibit *exhibits, uint32_t count, bool human)
{
    window w = {.digit = -1};
    char title[128];
    snprintf(title, sizeof title, "%s - corral", player_get_config(exhibits[0].player)->type->id);
    corral_status status = screen_open(&w.screen, title);
    show_init(&w.show, exhibits, count, w.screen.fonts, human);
    if (status == CORRAL_OK) status = loop(&w);
    show_finish(&w.show);
    screen_close(&w.screen);
    return status;
}
