// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What actions are called, and which one a person's arrow key means.
#ifndef CORRAL_VIEW_HANDS_H
#define CORRAL_VIEW_HANDS_H

#include "corral/env.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum hand { HAND_NONE, HAND_LEFT, HAND_RIGHT, HAND_UP, HAND_DOWN } hand;

/// "left" for action 0 of CartPole; its number where it has no name. Writes into `text`.
const char *hands_action_name(const corral_env_type *type, int32_t action, char *text, size_t size);
/// The choice, as player_act() takes it, of an arrow; for HAND_NONE the one that does nothing. False where
/// there is none: then the game waits.
bool hands_choice(const corral_env_type *type, hand hand, double *out_choice);

#endif
