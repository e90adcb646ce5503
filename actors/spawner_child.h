// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Private to actors: from the spawner's fork to the child's exec.
#ifndef CORRAL_ACTORS_SPAWNER_CHILD_H
#define CORRAL_ACTORS_SPAWNER_CHILD_H

#include "corral/actors/spawner.h"

/// Returns when exec has succeeded or has failed. All other descriptors of this process must be
/// close-on-exec.
CORRAL_MUST_USE corral_status corral_spawner_start_child(const corral_spawn *spawn, pid_t *out_pid);

#endif
