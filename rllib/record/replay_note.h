// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// An episode of training as a small file: which one it was and what was done in it, which is all that it
/// takes to play it again. JSON.
#ifndef CORRAL_RLLIB_RECORD_REPLAY_NOTE_H
#define CORRAL_RLLIB_RECORD_REPLAY_NOTE_H

#include "corral/rllib/config.h"

#include <stdint.h>

enum { REPLAY_NOTE_STEPS_MAX = 1 << 20 };

typedef struct replay_note {
    char env[CORRAL_ENV_NAME_SIZE]; // with its wrappers
    corral_pairs params;
    int64_t max_episode_steps; // -1: the environment's own
    uint64_t seed;             // of the run
    uint32_t environment;      // in the whole run
    uint64_t number;           // of its episodes
    unsigned char *actions;    // [count, action_bytes] rows as the environment takes them
    uint32_t action_bytes, count;
} replay_note;

CORRAL_MUST_USE corral_status replay_note_write(const char *path, const replay_note *note);
/// Free it with replay_note_finish(), also after a failure.
CORRAL_MUST_USE corral_status replay_note_read(const char *path, replay_note *out_note);
void replay_note_finish(replay_note *note);

#endif
