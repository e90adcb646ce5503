// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Follows one environment of a run: takes its actions out of the fragments that pass by, and plays the same
/// episodes again at a pace that people can watch. Workers notice nothing of it.
///
/// An episode is what it is by its number and its actions: the environment is begun with that episode's seed
/// and given those actions. When it has fallen behind at the end of an episode, it leaves out what is in
/// between.
#ifndef CORRAL_RLLIB_LIVE_FOLLOWER_H
#define CORRAL_RLLIB_LIVE_FOLLOWER_H

#include "packet.h"

#include "../environment.h"
#include "../rollout/rollout.h"

#include "corral/envs/batch.h"
#include "corral/proto/fragment.h"

#include <pthread.h>

enum { FOLLOWER_ROOM = 1 << 14 }; // steps that may wait

typedef struct follower {
    const environment_setup *setup;
    const rollout_config *rollout;
    uint32_t cell, environment;
    size_t words; // of an action

    // Between the learner and the one who plays, under the lock.
    pthread_mutex_t lock;
    bool taking;        // actions are taken, step by step without a gap
    uint64_t next_step; // of the next fragment that fits
    uint64_t number;    // of the episode that the first of them belongs to
    bool fresh;         // that episode has not begun to be played
    int32_t *waiting;   // [FOLLOWER_ROOM, words] a ring
    uint64_t put, got;  // ever
    uint32_t worker;
    uint64_t policy_version;

    // Of the one who plays.
    corral_env_batch *batch;
    char *observation;                       // one row, as the policy has it
    unsigned char *action;                   // one row, as the environment takes it
    int32_t *taken;                          // [words]
    corral_env_rows rows[SPACES_LEAVES_MAX]; // of the observation
    corral_env_rows action_rows[SPACES_LEAVES_MAX];
    corral_draw *items; // [LIVE_ITEMS_MAX] as drawn last
    uint32_t item_count;
    bool playing;
    live_frame now;
    live_list sent;
} follower;

/// Borrows all but memory.
CORRAL_MUST_USE corral_status follower_init(follower *f, const environment_setup *setup,
                                            const rollout_config *rollout, uint32_t cell,
                                            uint32_t environment);
void follower_finish(follower *f);

/// Takes what is new in a round's fragments. [the learner's thread]
void follower_take(follower *f, const corral_fragment *fragments, uint32_t count);
/// Forgets everything: nobody watches.
void follower_forget(follower *f);

/// Goes one step on where there is an action. False where there is none, or the environment failed. Then
/// `f->now` and the items are the new moment. [the thread that plays]
bool follower_play(follower *f);
/// How many steps wait.
uint32_t follower_waiting(follower *f);
/// Drops what waits: go on with the newest episode.
void follower_skip(follower *f);

#endif
