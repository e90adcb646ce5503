// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Films of training: episodes of environment 0 by a schedule, RUN/videos/episode-000027.mp4.
///
/// The learner takes an episode's actions out of the fragments that pass by and notes them in a small file;
/// corral-view, in a process of its own that only gets what the training leaves of the processor, plays the
/// episode again and films it. So workers and results are the same with and without.
#ifndef CORRAL_RLLIB_RECORD_RECORDER_H
#define CORRAL_RLLIB_RECORD_RECORDER_H

#include "../environment.h"
#include "../rollout/rollout.h"

#include "corral/proto/fragment.h"
#include "corral/rllib/config.h"

#include <stdbool.h>

typedef struct recorder recorder;

/// `every`: "off"; "cubic": the episodes 0, 1, 8, 27, ... 1000, then each thousandth; a number: each such
/// one.
CORRAL_MUST_USE corral_status recorder_check_schedule(const char *every);
bool recorder_wants(const char *every, uint64_t number);

/// `*out_recorder` is NULL where nothing is to be recorded. Without corral-view it is an error. Borrows all
/// but the folder's name.
CORRAL_MUST_USE corral_status recorder_create(const corral_train_config *config,
                                              const environment_setup *setup, const rollout_config *rollout,
                                              const char *folder, recorder **out_recorder);
/// Takes what is new. NULL is fine.
void recorder_take(recorder *recorder, const corral_fragment *fragments, uint32_t count);
/// Waits until what was noted has been filmed, unless `hurry`. NULL is fine.
void recorder_destroy(recorder *recorder, bool hurry);

#endif
