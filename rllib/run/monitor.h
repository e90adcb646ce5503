// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Monitor files, in which Stable-Baselines3's wrapper of that name keeps one environment's episodes:
///
///     #{"t_start": 1700000000.5, "env_id": "CartPole-v1"}
///     r,l,t
///     21.0,21,0.013
///
/// r is an episode's return, l its steps, t the seconds from t_start to its end. Other columns may follow. A
/// folder may hold several, NAME.monitor.csv, one for each environment.
#ifndef CORRAL_RUN_MONITOR_H
#define CORRAL_RUN_MONITOR_H

#include "corral/base/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct monitor_episode {
    double episode_return, length;
    double seconds; // from the earliest t_start to its end
} monitor_episode;

/// Whether this is a monitor file, or a folder with some.
bool monitor_is_at(const char *path);

/// All episodes of a file or of a folder's files, in the order in which they ended. The caller frees them.
CORRAL_MUST_USE corral_status monitor_read(const char *path, monitor_episode **out_episodes,
                                           size_t *out_count);

/// Writes a run's episodes as a monitor file, whole or not at all.
CORRAL_MUST_USE corral_status monitor_write(const char *run, const char *path);

#endif
