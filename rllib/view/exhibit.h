// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What is shown: a run's or checkpoint's policy in its environment, or an environment alone.
#ifndef CORRAL_VIEW_EXHIBIT_H
#define CORRAL_VIEW_EXHIBIT_H

#include "player.h"

#include "subject.h"

typedef struct exhibit_options {
    const char *env; // NULL: the one that it was trained on
    uint64_t seed;
    uint32_t first_episode;
    bool stochastic;
} exhibit_options;

typedef struct exhibit {
    subject subject;
    player *player;
    char title[160];
} exhibit;

/// `path` NULL: the environment `options->env` with actions drawn evenly. End it with exhibit_close(), also
/// after a failure.
CORRAL_MUST_USE corral_status exhibit_open(exhibit *exhibit, const char *path,
                                           const exhibit_options *options);
void exhibit_close(exhibit *exhibit);

#endif
