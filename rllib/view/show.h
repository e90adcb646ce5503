// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What happens in the window, without the window: wishes come in, time passes, a stage comes out.
#ifndef CORRAL_VIEW_SHOW_H
#define CORRAL_VIEW_SHOW_H

#include "exhibit.h"
#include "film.h"
#include "stage.h"

typedef enum wish {
    WISH_PLAY,
    WISH_FORWARD,
    WISH_BACK,
    WISH_NEXT,
    WISH_AGAIN,
    WISH_SEED,
    WISH_FASTER,
    WISH_SLOWER,
    WISH_WHO,
    WISH_PANEL,
    WISH_ZOOM,
    WISH_PICTURE,
    WISH_RECORD,
    WISH_HELP,
} wish;

typedef struct show {
    exhibit *exhibits; // [stage.count]
    stage stage;
    fonts *fonts;
    film *film; // NULL: not recording
    canvas film_canvas;
    int64_t due_ns;           // when the next step may be
    bool waiting;             // for a key
    int64_t message_until_ns; // 0: no message
    char message[300];
    player *rival; // the agent in a person's episode; NULL: not asked yet
    uint32_t rival_episode;
    uint64_t rival_seed;
    bool rival_known;
    char rival_text[96];
} show;

/// Borrows the exhibits and fonts.
void show_init(show *show, exhibit *exhibits, uint32_t count, fonts *fonts, bool human);
/// Finishes a recording that runs.
void show_finish(show *show);

/// A wish that cannot be granted becomes a message on the stage.
void show_wish(show *show, wish wish, int64_t now_ns);
/// Zooms by a factor around a place of the picture, 0..1 each way.
void show_zoom(show *show, float factor, float x, float y);

/// Steps that are due until now. `person`: what one who plays does, or NULL: the game waits. Returns whether
/// there is something new to paint.
bool show_pass(show *show, int64_t now_ns, const person *who);
/// How long nothing will happen by itself.
int64_t show_idle_ns(const show *show, int64_t now_ns);

#endif
