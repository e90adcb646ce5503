// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Private to actors: what the forked spawner does until its end.
#ifndef CORRAL_ACTORS_SPAWNER_PROCESS_H
#define CORRAL_ACTORS_SPAWNER_PROCESS_H

#include <sys/types.h>

/// Called in the child of the fork, with all signals blocked. `requests` takes SPAWN, SIGNAL and STOP; exits
/// are told on `exits`. Closes every other descriptor but standard error.
_Noreturn void corral_spawner_process(int requests, int exits, pid_t agent);

#endif
