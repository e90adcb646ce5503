// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Plays episodes of one environment, forwards and back.
///
/// What it has played is a row of moments: the state before each step, how it was reached, what the policy
/// thinks there. The cursor stands on one of them. An episode of n steps has n + 1 moments, the last one as
/// it ended. Where the environment can save its state, the cursor goes back and forth over all of them, and a
/// different action at an older moment begins a new future there; where it cannot, there is the newest only.
///
/// Episode k with seed S is the k-th one that `corral eval --seed S` plays, greedy or drawn.
#ifndef CORRAL_VIEW_PLAYER_H
#define CORRAL_VIEW_PLAYER_H

#include "scene.h"

#include "corral/envs/batch.h"
#include "corral/policy/policy.h"

typedef struct player player;

typedef struct player_config {
    const corral_env_type *type;
    const double *param_values; // copied; NULL: the defaults
    int64_t max_episode_steps;  // -1: the type's own
    corral_policy *policy;      // borrowed; NULL: actions are drawn evenly
    uint64_t seed;
    uint32_t first_episode;
    bool stochastic;
} player_config;

typedef struct moment {
    uint32_t episode, step; // steps of the episode before this moment
    bool ended, terminated, truncated;
    double reward;         // of the step that led here
    double episode_return; // so far
    float value;           // the policy's; 0 without one
    int32_t action;        // that led here, counted from 0; -1 for none or where it is no single number
    double info[CORRAL_ENV_INFO_MOST]; // what the environment says of itself after a step; NAN: nothing
} moment;

typedef struct opinion {
    uint32_t count; // of the actions
    const float
        *share; // [count] 0..1, how long its bar is: the probability; of worths the place in their range
    const float *number; // [count] probabilities, or the worths of a Q-network
    bool worths;
} opinion;

/// What a person does. Where the environment reads keys itself (CORRAL_ENV_KEYS) those that are held count,
/// else the choice: from 0 for a Discrete space; for a Box, -1..1 spans each element from its low to its
/// high.
typedef struct person {
    double choice;
    uint32_t keys;
} person;

CORRAL_MUST_USE corral_status player_create(const player_config *config, player **out_player);
void player_destroy(player *player);

/// Goes one moment on: along what was played before, else by a step, and after an end by the next episode.
CORRAL_MUST_USE corral_status player_forward(player *player);
/// Goes one moment back; false where there is none.
CORRAL_MUST_USE corral_status player_back(player *player, bool *out_moved);
/// Steps with an action of a person's from here, whatever was played after it. After an end: next episode.
CORRAL_MUST_USE corral_status player_act(player *player, const person *who);
/// Begins an episode, and forgets none.
CORRAL_MUST_USE corral_status player_begin(player *player, uint32_t episode);
/// Begins episode 0 of another seed.
CORRAL_MUST_USE corral_status player_seed(player *player, uint64_t seed);

const moment *player_moment(const player *player);
/// Up to `limit` moments of this episode that end at the cursor, oldest first. Returns how many.
uint32_t player_past(const player *player, uint32_t limit, const moment **out_moments);
/// The moment after the cursor, NULL where it has not been played.
const moment *player_next(const player *player);
bool player_can_go_back(const player *player);
const scene *player_scene(const player *player);
/// The first observation leaf as numbers; the first `limit`. Returns how many it has.
uint32_t player_observation(const player *player, float *out_values, uint32_t limit);
/// What the policy thinks of each action in this moment; nothing without a policy.
opinion player_opinion(const player *player);
/// The most probable action, or the one that will be drawn; -1 without a policy.
int32_t player_choice(const player *player);
/// Of a single Discrete action space, else 0.
uint32_t player_action_count(const player *player);
const player_config *player_get_config(const player *player);
/// Frames per second that the environment asks for: 30 where it asks for nothing sensible.
double player_fps(const player *player);
/// Whether the environment reads keys itself, and how it says that it does; else NULL.
const corral_env_keys *player_keys(const player *player);

#endif
