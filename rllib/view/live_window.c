// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// A run that is watched. Packets and keys are looked at in turns and never waited for longer than a frame, so
// the window answers whatever the run does, and stays when it has ended.

#include "live_stage.h"
#include "screen.h"
#include "window.h"

#include "film.h"

#include "corral/base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

enum { FRAME_MS = 20, PACKETS_MAX = 256 }; // at a time
static const int64_t message_ns = 3 * CORRAL_SECOND;

typedef struct live_window {
    screen screen;
    watch watch;
    live_stage stage;
    int socket;
    bool quit, stale;
    char message[300];
    int64_t message_until_ns;
} live_window;

static void say(live_window *w, const char *text)
{
    snprintf(w->message, sizeof w->message, "%s", text);
    w->stage.message = w->message;
    w->message_until_ns = corral_now_ns() + message_ns;
}

static void paint(void *context, canvas *c, fonts *f, float scale)
{
    live_stage *g = context;
    g->scale = scale;
    live_stage_paint(g, c, f);
}

static void take_picture(live_window *w)
{
    canvas c;
    char *path = NULL, text[300];
    corral_status status = canvas_init(&c, 2 * STAGE_WIDTH, 2 * STAGE_HEIGHT);
    if (status == CORRAL_OK) {
        live_stage still = w->stage;
        still.controls = still.help = false;
        still.message = NULL;
        still.scale = 2;
        live_stage_paint(&still, &c, w->screen.fonts);
        status = film_picture("corral-view.png", &c, &path);
        canvas_finish(&c);
    }
    snprintf(text, sizeof text, "saved %s", path != NULL ? path : "");
    say(w, status == CORRAL_OK ? text : corral_last_error());
    free(path);
}

static void press(live_window *w, SDL_Keycode key)
{
    live_stage *g = &w->stage;
    const bool closes_help = g->help && key == SDLK_ESCAPE;
    if (key >= SDLK_0 && key <= SDLK_4) g->alone = key - SDLK_1;
    switch (key) {
    case SDLK_SPACE:
        g->held = !g->held;
        break;
    case SDLK_p:
        g->panel = !g->panel;
        break;
    case SDLK_c:
        take_picture(w);
        break;
    case SDLK_f:
        screen_toggle_full(&w->screen);
        break;
    case SDLK_q:
    case SDLK_ESCAPE:
        w->quit |= !closes_help;
        break;
    }
    g->help = key == SDLK_h || key == SDLK_F1 ? !g->help : false;
}

/// What has come meanwhile. While the picture is held the run leaves us out.
static void receive(live_window *w)
{
    static uint8_t packet[LIVE_PACKET_MAX];
    for (int i = 0; i < PACKETS_MAX && !w->watch.ended && !w->stage.held; i++) {
        const ssize_t size = recv(w->socket, packet, sizeof packet, MSG_DONTWAIT);
        if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (size <= 0) {
            watch_lost(&w->watch);
            w->stale = true;
            return;
        }
        w->stale |= watch_take(&w->watch, packet, (size_t)size);
    }
}

static void pass_time(live_window *w)
{
    if (w->message_until_ns == 0 || corral_now_ns() < w->message_until_ns) return;
    w->message_until_ns = 0;
    w->stage.message = NULL;
    w->stale = true;
}

static corral_status loop(live_window *w)
{
    corral_status status = CORRAL_OK;
    w->stale = true;
    while (status == CORRAL_OK && !w->quit) {
        SDL_Event event;
        for (bool any = SDL_WaitEventTimeout(&event, FRAME_MS) != 0; any; any = SDL_PollEvent(&event) != 0) {
            if (event.type == SDL_QUIT) w->quit = true;
            if (event.type == SDL_KEYDOWN) press(w, event.key.keysym.sym);
            w->stale |= event.type == SDL_KEYDOWN || event.type == SDL_WINDOWEVENT;
        }
        receive(w);
        pass_time(w);
        if (!w->stale || w->quit) continue;
        w->stale = false;
        status = screen_present(&w->screen, paint, &w->stage);
    }
    return status;
}

corral_status live_window_run(int socket, const char *title)
{
    live_window w = {.socket = socket};
    corral_status status = watch_init(&w.watch);
    if (status != CORRAL_OK) return status;
    w.stage = (live_stage){.watch = &w.watch, .panel = true, .controls = true, .alone = -1};
    char name[256];
    snprintf(name, sizeof name, "%s, live - corral", title);
    status = screen_open(&w.screen, name);
    if (status == CORRAL_OK) status = loop(&w);
    screen_close(&w.screen);
    watch_finish(&w.watch);
    return status;
}
