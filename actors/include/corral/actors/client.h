// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A client: one process's way into the runtime. A driver opens one; inside a task or actor it is the call's.
///
///     int main(void)
///     {
///         if (corral_is_worker()) return corral_worker_main(&library); // this program is its own worker
///         program corral_client *client; corral_client_config config = corral_client_config_default();
///         config.library = &library;
///         if (corral_client_connect(&config, &client) != CORRAL_OK) ...   (corral/net/client.h)
///
/// A local client (corral_client_open_local()) starts nothing: each task runs to its end inside
/// corral_task_submit(), each call inside corral_actor_call(), on the calling thread. Results and errors are
/// the same; a debugger sees all.
#ifndef CORRAL_ACTORS_CLIENT_H
#define CORRAL_ACTORS_CLIENT_H

#include "corral/actors/task.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct corral_client_config {
    const corral_library *library;    // of this very program; workers are this program again
    const char *library_path;         // or: a shared library, which corral-worker opens
    const char *address;              // "HOST:PORT" of a head, or NULL: an agent of our own, gone with us
    bool local;                       // everything in this process and thread
    double cpus;                      // of our own agent, or local; 0: the cores that this process may use
    double gpus;                      // of our own agent (0: those that the machine shows), or local
    const corral_resource *resources; // the same
    size_t resource_count;
    size_t store_bytes;       // of our own agent: shared memory for objects; 0: 30 % of what is free
    int64_t store_timeout_ns; // how long a put waits for room (10 s)
} corral_client_config;

corral_client_config corral_client_config_default(void);

/// Of the configuration: library or library_path, cpus, gpus, resources.
CORRAL_MUST_USE corral_status corral_client_open_local(const corral_client_config *config,
                                                       corral_client **out_client);
/// Ends the job: its tasks and actors (but detached ones) stop. References that are left become invalid. NULL
/// is fine. A worker's client is not the function's to close.
void corral_client_close(corral_client *client);

/// Runs a function of the client's library here and now: the entry of a program. Its arguments are texts.
/// `*out_bytes` is its result, which the caller frees.
CORRAL_MUST_USE corral_status corral_client_run(corral_client *client, const char *function,
                                                const char *const *arguments, size_t count, void **out_bytes,
                                                size_t *out_size);

/// Started by an agent, as a worker? Then corral_worker_main() is what this process is for.
bool corral_is_worker(void);
/// Runs tasks or an actor until told to stop; returns the exit status. `library` NULL: the shared library
/// that the job was started with.
int corral_worker_main(const corral_library *library);

/// Opens a shared library and checks its table. It stays open until the process ends.
CORRAL_MUST_USE corral_status corral_library_open(const char *path, const corral_library **out_library);

#ifdef __cplusplus
}
#endif
#endif
