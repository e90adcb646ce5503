// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Several exhibits are kept in step: those whose episode has ended wait for the others, then all begin the
// next one, so that the same seeds are always side by side.

#include "show.h"

#include "corral/base/clock.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t message_ns = 3 * CORRAL_SECOND, busy_ns = 12 * CORRAL_MILLISECOND;
static const int64_t wait_ns = 100 * CORRAL_MILLISECOND;
static const double slowest = 0.125, fastest = 64;

void show_init(show *s, exhibit *exhibits, uint32_t count, fonts *f, bool human)
{
    *s = (show){.exhibits = exhibits, .fonts = f};
    s->stage = (stage){.count = count,
                       .scale = 1,
                       .human = human,
                       .playing = true,
                       .panel = true,
                       .controls = true,
                       .speed = 1};
    for (uint32_t i = 0; i < count; i++)
        s->stage.cells[i] = (stage_cell){exhibits[i].player, exhibits[i].title};
}

static void say(show *s, int64_t now, const char *text)
{
    snprintf(s->message, sizeof s->message, "%s", text);
    s->stage.message = s->message;
    s->message_until_ns = now + message_ns;
}

// --- recording --------------------------------------------------------------------------------------------

static corral_status add_frame(show *s)
{
    if (s->film == NULL) return CORRAL_OK;
    stage frame = s->stage;
    frame.controls = frame.help = frame.recording = false;
    frame.message = NULL;
    frame.scale = 1;
    stage_paint(&frame, &s->film_canvas, s->fonts);
    return film_add(s->film, &s->film_canvas);
}

static corral_status stop_recording(show *s, int64_t now)
{
    char *path = NULL;
    const corral_status status = film_close(s->film, &path);
    s->film = NULL;
    s->stage.recording = false;
    canvas_finish(&s->film_canvas);
    if (status == CORRAL_OK) {
        char text[300];
        snprintf(text, sizeof text, "recorded %s", path);
        say(s, now, text);
    }
    free(path);
    return status;
}

static corral_status start_recording(show *s)
{
    corral_status status = canvas_init(&s->film_canvas, STAGE_WIDTH, STAGE_HEIGHT);
    if (status == CORRAL_OK)
        status = film_open("corral-view.mp4", STAGE_WIDTH, STAGE_HEIGHT, player_fps(s->exhibits[0].player),
                           &s->film);
    if (status != CORRAL_OK) {
        canvas_finish(&s->film_canvas);
        return status;
    }
    s->stage.recording = true;
    return add_frame(s);
}

void show_finish(show *s)
{
    if (s->film != NULL) (void)stop_recording(s, 0);
    player_destroy(s->rival);
    s->rival = NULL;
}

static corral_status take_picture(show *s, int64_t now)
{
    canvas c;
    corral_status status = canvas_init(&c, 2 * STAGE_WIDTH, 2 * STAGE_HEIGHT);
    if (status != CORRAL_OK) return status;
    stage still = s->stage;
    still.controls = still.help = still.recording = false;
    still.message = NULL;
    still.scale = 2;
    stage_paint(&still, &c, s->fonts);
    char *path = NULL, text[300];
    status = film_picture("corral-view.png", &c, &path);
    canvas_finish(&c);
    if (status == CORRAL_OK) {
        snprintf(text, sizeof text, "saved %s", path);
        say(s, now, text);
    }
    free(path);
    return status;
}

// --- moving -----------------------------------------------------------------------------------------------

static bool all_ended(const show *s)
{
    for (uint32_t i = 0; i < s->stage.count; i++)
        if (!player_moment(s->exhibits[i].player)->ended) return false;
    return true;
}

static corral_status forward(show *s, const person *who)
{
    const bool next = all_ended(s);
    corral_status status = CORRAL_OK;
    for (uint32_t i = 0; status == CORRAL_OK && i < s->stage.count; i++) {
        player *p = s->exhibits[i].player;
        if (player_moment(p)->ended && !next) continue;
        status = who != NULL ? player_act(p, who) : player_forward(p);
    }
    return status == CORRAL_OK ? add_frame(s) : status;
}

static corral_status back(show *s, int64_t now)
{
    uint32_t furthest = 0;
    for (uint32_t i = 0; i < s->stage.count; i++) {
        const uint32_t step = player_moment(s->exhibits[i].player)->step;
        furthest = step > furthest ? step : furthest;
    }
    bool any = false;
    for (uint32_t i = 0; i < s->stage.count; i++) {
        bool moved = false;
        if (player_moment(s->exhibits[i].player)->step < furthest) continue;
        const corral_status status = player_back(s->exhibits[i].player, &moved);
        if (status != CORRAL_OK) return status;
        any |= moved;
    }
    if (!any) say(s, now, furthest == 0 ? "this is where it began" : "this environment cannot go back");
    return CORRAL_OK;
}

static corral_status begin(show *s, int change)
{
    corral_status status = CORRAL_OK;
    for (uint32_t i = 0; status == CORRAL_OK && i < s->stage.count; i++) {
        player *p = s->exhibits[i].player;
        status = player_begin(p, player_moment(p)->episode + (uint32_t)change);
    }
    return status;
}

static corral_status other_seed(show *s)
{
    corral_status status = CORRAL_OK;
    for (uint32_t i = 0; status == CORRAL_OK && i < s->stage.count; i++)
        status = player_seed(s->exhibits[i].player, player_get_config(s->exhibits[i].player)->seed + 1);
    return status;
}

// --- wishes -----------------------------------------------------------------------------------------------

static void change_who(show *s, int64_t now)
{
    s->stage.human = !s->stage.human;
    const bool policy = player_get_config(s->exhibits[0].player)->policy != NULL;
    say(s, now, s->stage.human ? "you play" : policy ? "the agent plays" : "chance plays");
}

static corral_status grant(show *s, wish w, int64_t now)
{
    stage *g = &s->stage;
    switch (w) {
    case WISH_PLAY:
        g->playing = !g->playing;
        s->due_ns = now;
        return CORRAL_OK;
    case WISH_FORWARD:
        g->playing = false;
        return forward(s, NULL);
    case WISH_BACK:
        g->playing = false;
        return back(s, now);
    case WISH_NEXT:
        return begin(s, 1);
    case WISH_AGAIN:
        return begin(s, 0);
    case WISH_SEED:
        return other_seed(s);
    case WISH_FASTER:
        g->speed = fmin(g->speed * 2, fastest);
        return CORRAL_OK;
    case WISH_SLOWER:
        g->speed = fmax(g->speed / 2, slowest);
        return CORRAL_OK;
    case WISH_WHO:
        change_who(s, now);
        return CORRAL_OK;
    case WISH_PANEL:
        g->panel = !g->panel;
        return CORRAL_OK;
    case WISH_ZOOM:
        g->zoom =
            g->zoom.times >= 4 ? (zoom){1, 0.5f, 0.5f} : (zoom){fmaxf(g->zoom.times, 1) * 2, 0.5f, 0.5f};
        return CORRAL_OK;
    case WISH_PICTURE:
        return take_picture(s, now);
    case WISH_RECORD:
        return s->film != NULL ? stop_recording(s, now) : start_recording(s);
    case WISH_HELP:
        g->help = !g->help;
        return CORRAL_OK;
    }
    return CORRAL_OK;
}

/// A failure stops the play and says why.
static void tell(show *s, corral_status status, int64_t now)
{
    if (status == CORRAL_OK) return;
    s->stage.playing = false;
    say(s, now, corral_last_error());
}

void show_wish(show *s, wish w, int64_t now)
{
    if (s->stage.help && w != WISH_HELP) s->stage.help = false;
    tell(s, grant(s, w, now), now);
}

void show_zoom(show *s, float factor, float x, float y)
{
    zoom *z = &s->stage.zoom;
    z->times = fminf(fmaxf(fmaxf(z->times, 1) * factor, 1), 16);
    z->x = x;
    z->y = y;
}

// --- the score against the agent --------------------------------------------------------------------------

enum { RIVAL_STEPS_MAX = 5000 };

/// Plays the person's episode with the agent, all at once.
static corral_status play_rival(show *s, const player_config *own)
{
    player_config config = *own;
    config.first_episode = s->rival_episode = player_moment(s->exhibits[0].player)->episode;
    s->rival_seed = own->seed;
    player_destroy(s->rival);
    s->rival = NULL;
    corral_status status = player_create(&config, &s->rival);
    for (int t = 0; status == CORRAL_OK && t < RIVAL_STEPS_MAX && !player_moment(s->rival)->ended; t++)
        status = player_forward(s->rival);
    s->rival_known = true; // or not to be had
    return status;
}

/// "you 34, the agent 500 in this episode", kept up to date.
static void keep_score(show *s)
{
    const player_config *own = player_get_config(s->exhibits[0].player);
    const moment *m = player_moment(s->exhibits[0].player);
    s->stage.rival = NULL;
    if (!s->stage.human || own->policy == NULL) return;
    if (!s->rival_known || s->rival_episode != m->episode || s->rival_seed != own->seed) {
        if (play_rival(s, own) != CORRAL_OK) {
            player_destroy(s->rival);
            s->rival = NULL;
        }
    }
    if (s->rival == NULL) return;
    const moment *r = player_moment(s->rival);
    snprintf(s->rival_text, sizeof s->rival_text, "you %.4g, the agent %.4g%s", m->episode_return,
             r->episode_return, r->ended ? "" : " so far");
    s->stage.rival = s->rival_text;
}

// --- time -------------------------------------------------------------------------------------------------

static int64_t step_ns(const show *s)
{
    return (int64_t)(1e9 / (player_fps(s->exhibits[0].player) * s->stage.speed));
}

/// An episode that has ended stays in view for a moment.
static int64_t pause_ns(const show *s)
{
    return all_ended(s) ? (int64_t)(0.7e9 / fmax(s->stage.speed, 1)) : step_ns(s);
}

bool show_pass(show *s, int64_t now, const person *who)
{
    bool changed = false;
    if (s->message_until_ns != 0 && now >= s->message_until_ns) {
        s->message_until_ns = 0;
        s->stage.message = NULL;
        changed = true;
    }
    keep_score(s);
    s->waiting = !s->stage.playing || (s->stage.human && who == NULL);
    if (s->waiting) {
        if (s->due_ns < now) s->due_ns = now; // a key is answered at once
        return changed;
    }
    // After a stall the time that was lost is not made up for.
    if (now - s->due_ns > 4 * step_ns(s) + wait_ns) s->due_ns = now;
    const int64_t started = corral_now_ns();
    while (s->stage.playing && s->due_ns <= now) {
        tell(s, forward(s, s->stage.human ? who : NULL), now);
        s->due_ns += pause_ns(s);
        changed = true;
        if (corral_now_ns() - started > busy_ns) break;
    }
    keep_score(s);
    return changed;
}

int64_t show_idle_ns(const show *s, int64_t now)
{
    int64_t until = now + wait_ns;
    if (!s->waiting && s->due_ns < until) until = s->due_ns;
    return until > now ? until - now : 0;
}
