// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "hands.h"

#include <stdio.h>
#include <string.h>

enum { NAMES_MAX = 8 };

/// Of environments whose actions have well-known names.
static const struct {
    const char *id; // or how it begins
    const char *name[NAMES_MAX];
} known[] = {
    {"CartPole-", {"left", "right"}},
    {"Acrobot-", {"torque -", "no torque", "torque +"}},
    {"MountainCar-", {"left", "coast", "right"}},
    {"FrozenLake", {"left", "down", "right", "up"}},
    {"CliffWalking-", {"up", "right", "down", "left"}},
    {"Taxi-", {"south", "north", "east", "west", "pick up", "drop off"}},
    {"Blackjack-", {"stick", "hit"}},
};

static const char *const words[][4] = {
    [HAND_NONE] = {"coast", "no torque", "none"},
    [HAND_LEFT] = {"left", "west", "torque -", "stick"},
    [HAND_RIGHT] = {"right", "east", "torque +", "hit"},
    [HAND_UP] = {"up", "north"},
    [HAND_DOWN] = {"down", "south"},
};

static const char *const *names_of(const corral_env_type *type)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strncmp(type->id, known[i].id, strlen(known[i].id)) == 0) return known[i].name;
    return NULL;
}

const char *hands_action_name(const corral_env_type *type, int32_t action, char *text, size_t size)
{
    const char *const *names = names_of(type);
    if (names != NULL && action >= 0 && action < NAMES_MAX && names[action] != NULL)
        snprintf(text, size, "%s", names[action]);
    else
        snprintf(text, size, "%lld", (long long)(type->spaces.action[0].start + action));
    return text;
}

static bool named_choice(const char *const *names, hand which, double *out_choice)
{
    for (int action = 0; action < NAMES_MAX && names[action] != NULL; action++) {
        for (int i = 0; i < 4 && words[which][i] != NULL; i++) {
            if (strcmp(names[action], words[which][i]) != 0) continue;
            *out_choice = action;
            return true;
        }
    }
    return false;
}

bool hands_choice(const corral_env_type *type, hand which, double *out_choice)
{
    const char *const *names = names_of(type);
    const corral_space *action = &type->spaces.action[0];
    if (names != NULL) return named_choice(names, which, out_choice);
    const bool less = which == HAND_LEFT || which == HAND_DOWN,
               more = which == HAND_RIGHT || which == HAND_UP;
    if (action->kind == CORRAL_SPACE_BOX) {
        *out_choice = less ? -1 : more ? 1 : 0;
        return true;
    }
    if (action->kind != CORRAL_SPACE_DISCRETE) return false;
    // Without names: three are less, none and more; else the arrows are the first and the last.
    if (!less && !more && action->n != 3) return false;
    *out_choice = less ? 0 : more ? (double)(action->n - 1) : 1;
    return true;
}
