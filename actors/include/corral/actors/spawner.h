// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A small process that starts, reaps and ends other processes on behalf of its agent.
///
/// It is forked before the agent has threads (fork and gRPC do not mix). Each child gets a process group of
/// its own and PR_SET_PDEATHSIG; the spawner is a subreaper, so that what a child leaves behind comes to it
/// and is ended too. When the agent is gone (end-of-file) the spawner ends everything and exits; when the
/// spawner is gone, PDEATHSIG ends the children.
#ifndef CORRAL_ACTORS_SPAWNER_H
#define CORRAL_ACTORS_SPAWNER_H

#include "corral/base/status.h"

#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct corral_spawner corral_spawner;

/// Forks the spawner. Call on the main thread, while the process has no other: its death ends the spawner.
CORRAL_MUST_USE corral_status corral_spawner_start(corral_spawner **out_spawner);
/// Ends all children (TERM, then KILL after one second) and the spawner itself; returns when all are gone.
void corral_spawner_stop(corral_spawner *spawner);

enum { CORRAL_SPAWN_FDS_MAX = 4, CORRAL_SPAWN_WORDS_MAX = 32 };

typedef struct corral_spawn {
    const char *program;            // absolute path
    const char *const *arguments;   // argv, NULL-terminated, at most CORRAL_SPAWN_WORDS_MAX
    const char *const *environment; // "NAME=value" added to the spawner's own, NULL-terminated, or NULL
    int fds[CORRAL_SPAWN_FDS_MAX];  // become 3, 4, 5, ... in the child; -1: none. Stay open in the caller.
    int stderr_fd; // becomes 2; -1: inherited. Standard input is /dev/null, output goes to 2.
} corral_spawn;

/// Returns when the program has been started (or could not be, with the reason).
CORRAL_MUST_USE corral_status corral_spawner_spawn(corral_spawner *spawner, const corral_spawn *spawn,
                                                   pid_t *out_pid);
/// Sends a signal to a child's whole process group. A child that is gone is fine.
CORRAL_MUST_USE corral_status corral_spawner_signal(corral_spawner *spawner, pid_t pid, int signal_number);

typedef struct corral_spawner_exit {
    pid_t pid;
    int status; // as from waitpid()
} corral_spawner_exit;

/// Readable when an exit may be there, or when the spawner is gone.
int corral_spawner_fd(const corral_spawner *spawner);
/// Without waiting: CORRAL_ERROR_EMPTY when there is none, CORRAL_ERROR_LOST when the spawner is gone. By the
/// time an exit is told, the child's process group and what it left behind have been ended. (An orphan in a
/// session of its own belongs to nobody in particular and is ended at the next exit of any child: actors must
/// not leave daemons.)
CORRAL_MUST_USE corral_status corral_spawner_next_exit(corral_spawner *spawner,
                                                       corral_spawner_exit *out_exit);

#ifdef __cplusplus
}
#endif
#endif
