// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A run that can be watched: it listens on a socket in its folder, RUN/live.sock, and a thread of its own
/// plays for those who come what a few of its environments do. Without a watcher it costs nothing.
#ifndef CORRAL_RLLIB_LIVE_LIVE_H
#define CORRAL_RLLIB_LIVE_LIVE_H

#include "follower.h"

#include "corral/rllib/train.h"

typedef struct live live;

typedef struct live_config {
    const char *folder;
    const corral_train_config *train; // all borrowed
    const environment_setup *setup;
    const rollout_config *rollout;
} live_config;

/// NULL where it cannot be watched, which is no failure of the run; the log says why.
live *live_start(const live_config *config);
/// Says goodbye to the watchers. NULL is fine.
void live_stop(live *live, const char *reason);

/// What a round brought. NULL is fine. [the learner's thread, as is the next]
void live_take(live *live, const corral_fragment *fragments, uint32_t count);
void live_report(live *live, const corral_train_report *report);

/// Connects to a run's socket. The caller closes it.
CORRAL_MUST_USE corral_status live_connect(const char *run, int *out_socket);

#endif
