// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Actors: an object of a class, alive in a process of its own, whose methods are called by reference.
///
/// (What an actor of this kind runs is a corral_class; the table of functions in actor.h is of rollout
/// workers.)
///
/// Calls of one caller are run in their order, also over a restart. A call runs at most once: when the
/// actor's process dies, the call that may have begun fails with CORRAL_ERROR_LOST, and what has not begun
/// waits for the next process. With `max_retries` such a call is run again instead, in its place. A call that
/// has ended never is.
///
/// An actor ends when no process holds a reference to it and its calls are done, or when it is killed. A
/// detached one stays until it is killed, also after the program that spawned it.
#ifndef CORRAL_ACTORS_ACTOR_CALL_H
#define CORRAL_ACTORS_ACTOR_CALL_H

#include "corral/actors/task.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct corral_actor_options {
    double cpus; // held as long as it lives (default 0)
    double gpus;
    const corral_resource *resources;
    size_t resource_count;
    uint32_t max_restarts; // default 0
    const char *name;      // for corral_actor_find(); NULL: none
    bool detached;         // needs a name
    uint32_t concurrency;  // threads that run calls (default 1: one after the other)
    uint32_t max_pending;  // calls of one process that may be open; 0: any number
} corral_actor_options;

corral_actor_options corral_actor_options_default(void);

/// Gives back at once; corral_get() on the reference waits until create() has returned. A name that is in use
/// is CORRAL_ERROR_EXISTS.
CORRAL_MUST_USE corral_status corral_actor_spawn(corral_client *client, const char *class_name,
                                                 const corral_argument *arguments, size_t count,
                                                 const corral_actor_options *options, corral_ref **out_actor);
/// A living actor by its name. CORRAL_ERROR_NOT_FOUND.
CORRAL_MUST_USE corral_status corral_actor_find(corral_client *client, const char *name,
                                                corral_ref **out_actor);

typedef struct corral_call_options {
    uint32_t max_retries; // default 0: at most once
} corral_call_options;

/// CORRAL_ERROR_FULL where max_pending calls of this process are open. `options` NULL: the defaults.
CORRAL_MUST_USE corral_status corral_actor_call(corral_ref *actor, const char *method,
                                                const corral_argument *arguments, size_t count,
                                                const corral_call_options *options, corral_ref **out_result);

/// Kills its process; open calls fail. With `restart`, as if it had crashed: max_restarts decides.
CORRAL_MUST_USE corral_status corral_actor_kill(corral_ref *actor, bool restart);

#ifdef __cplusplus
}
#endif
#endif
