// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Private to actors: a corral_spawn as a message from the agent to its spawner.
///
///     code        bit i: descriptor i is there (0 .. 3 of `fds`, 4 is the one for standard error)
///     length      how many arguments
///     generation  how many words are added to the environment
///     tail        the program, the arguments, the environment: strings with their zero bytes
#ifndef CORRAL_ACTORS_SPAWN_MESSAGE_H
#define CORRAL_ACTORS_SPAWN_MESSAGE_H

#include "corral/actors/message.h"
#include "corral/actors/spawner.h"

/// `tail` has room for CORRAL_MESSAGE_TAIL_MAX bytes, `out_fds` for CORRAL_MESSAGE_FDS_MAX.
CORRAL_MUST_USE corral_status corral_spawn_pack(const corral_spawn *spawn, corral_message *out_message,
                                                char *tail, int *out_fds, size_t *out_fd_count);

/// The other way: the strings stay in `tail`, the descriptors stay whose they are.
typedef struct corral_spawn_words {
    const char *arguments[CORRAL_SPAWN_WORDS_MAX + 1];
    const char *environment[CORRAL_SPAWN_WORDS_MAX + 1];
} corral_spawn_words;

CORRAL_MUST_USE corral_status corral_spawn_unpack(const corral_message *message, const char *tail,
                                                  const int *fds, corral_spawn_words *words,
                                                  corral_spawn *out_spawn);

#endif
