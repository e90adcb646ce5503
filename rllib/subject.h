// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What evaluation and the viewer look at: a checkpoint's policy, and the environment that it was trained on.
#ifndef CORRAL_RLLIB_SUBJECT_H
#define CORRAL_RLLIB_SUBJECT_H

#include "corral/base/config.h"
#include "corral/policy/policy.h"
#include "corral/rllib/config.h"

typedef struct subject {
    char *checkpoint;               // its folder
    char env[CORRAL_ENV_NAME_SIZE]; // with its wrappers
    corral_pairs params;
    int64_t max_episode_steps; // -1: the environment's own
    corral_policy *policy;
} subject;

/// Opens a checkpoint, or a run's last one, after checking it against its manifest. End it with
/// subject_close(), also after a failure.
CORRAL_MUST_USE corral_status subject_open(subject *subject, const char *path);
/// An agent of another library (corral/policy/import.h), which does not say what it was trained on: `env`
/// stays empty, and `checkpoint` is the file.
CORRAL_MUST_USE corral_status subject_import(subject *subject, const char *path,
                                             const corral_policy_config *spaces);
void subject_close(subject *subject);

#endif
