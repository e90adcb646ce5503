// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A team of threads for short parallel loops (tens of microseconds), the caller among them.
///
/// The team spins for a moment between loops, then sleeps on a futex: starting a loop costs well under a
/// microsecond while work keeps coming, and nothing while it does not.
#ifndef CORRAL_BASE_THREADS_H
#define CORRAL_BASE_THREADS_H

#include "corral/base/status.h"

#include <pthread.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct corral_team corral_team;

/// `thread_count` includes the caller; 1 starts no thread. Signals are blocked in the team's threads.
CORRAL_MUST_USE corral_status corral_team_create(unsigned thread_count, corral_team **out_team);

/// Calls task(context, index, thread) once for each index in 0 .. count-1, `thread` in 0 .. thread_count-1,
/// and returns when all have returned. Which thread takes which index is not fixed: results must not
/// depend on it. [the creating thread; not from inside a task]
void corral_team_run(corral_team *team, size_t count,
                     void (*task)(void *context, size_t index, unsigned thread), void *context);

unsigned corral_team_size(const corral_team *team);

/// Joins the threads. NULL is fine.
void corral_team_destroy(corral_team *team);

/// Starts a thread in which all signals are blocked: they are for the program's own threads to answer.
/// CORRAL_ERROR_NO_MEMORY where none can be started. Join it.
CORRAL_MUST_USE corral_status corral_thread_start(pthread_t *out_thread, void *(*run)(void *context),
                                                  void *context);

/// Cores that this process may use: the smaller of its affinity mask and its cgroup's CPU quota, at least 1.
unsigned corral_available_cores(void);

/// GPUs that this process may use, by NVIDIA's driver; 0 where there is none. It forks: call it where that
/// does no harm, before there are other threads.
unsigned corral_available_gpus(void);

#ifdef __cplusplus
}
#endif
#endif
