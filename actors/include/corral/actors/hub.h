// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The hub: a node's object table, scheduler, and the lives of its workers. For programs that are agents.
///
/// It is a state machine without a thread: its owner waits until corral_hub_fd() is readable (or the time has
/// come) and calls corral_hub_turn(). Workers are started by the owner's spawner; what that says of exits is
/// handed on. [one thread]
#ifndef CORRAL_ACTORS_HUB_H
#define CORRAL_ACTORS_HUB_H

#include "corral/actors/client.h"
#include "corral/actors/spawner.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct corral_hub corral_hub;

typedef struct corral_hub_config {
    corral_spawner *spawner; // outlives the hub
    const char *worker;      // the program for jobs that are a shared library
    double cpus, gpus;
    const corral_resource *resources;
    size_t resource_count;
    size_t store_bytes; // shared memory for objects; 0: 30 % of what is free
} corral_hub_config;

CORRAL_MUST_USE corral_status corral_hub_create(const corral_hub_config *config, corral_hub **out_hub);
/// Kills what still runs; it is gone when the spawner has been stopped. NULL is fine.
void corral_hub_destroy(corral_hub *hub);

/// A driver at the other end of `socket`, which is taken over, also on failure. When it ends, so does its
/// job.
CORRAL_MUST_USE corral_status corral_hub_add_driver(corral_hub *hub, int socket);

/// The other end of that socket, which is taken over, also on failure. Of the configuration: library or
/// library_path, store_timeout_ns.
CORRAL_MUST_USE corral_status corral_client_attach(int socket, const corral_client_config *config,
                                                   corral_client **out_client);
/// What else is to be ended when the client has been closed.
void corral_client_on_close(corral_client *client, void (*on_close)(void *context), void *context);

int corral_hub_fd(const corral_hub *hub);
void corral_hub_turn(corral_hub *hub);
/// CLOCK_MONOTONIC; INT64_MAX: nothing is planned.
int64_t corral_hub_next_wake_ns(const corral_hub *hub);
/// False: that process was none of its workers.
bool corral_hub_exited(corral_hub *hub, const corral_spawner_exit *exit_info);

/// One of its processes, for who has to choose between them.
typedef struct corral_hub_process {
    pid_t pid;
    int64_t started_ns; // CLOCK_MONOTONIC
    bool again;         // what it does would be begun again
    char what[160];     // "task \"resize\""
} corral_hub_process;

size_t corral_hub_processes(const corral_hub *hub, corral_hub_process *out_processes, size_t capacity);
/// Whoever waits for it is told `how` it ended; a task that is not begun again ends with
/// CORRAL_ERROR_NO_MEMORY.
void corral_hub_kill(corral_hub *hub, pid_t pid, const char *how);

/// What is there and what waits, as JSON text that the caller frees; NULL without memory.
char *corral_hub_report(const corral_hub *hub);

#ifdef __cplusplus
}
#endif
#endif
