// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Films an episode of training that the run has noted (record/replay_note.h).
#ifndef CORRAL_VIEW_REPLAY_H
#define CORRAL_VIEW_REPLAY_H

#include "corral/base/status.h"

#include <signal.h>

/// Until `*stop` is set; the film is finished then as well. The caller frees `*out_path`, its name.
CORRAL_MUST_USE corral_status replay_film(const char *note, const char *out,
                                          const volatile sig_atomic_t *stop, char **out_path,
                                          unsigned long long *out_frames);

#endif
