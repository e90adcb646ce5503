// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A hub in a thread of its own, with the spawner that it needs: what an agent gives the runtime, without an
/// agent. Workers are the test program again.
#ifndef TESTS_ACTORS_RUNTIME_RIG_H
#define TESTS_ACTORS_RUNTIME_RIG_H

#include "corral/actors/actor_call.h"
#include "corral/actors/client.h"

/// What the functions of the tests are: square, add, join, fail, die, ...
extern const corral_library runtime_library;

/// Before the process has threads.
void runtime_rig_begin(void);
void runtime_rig_end(void);

/// A client of a fresh hub (cpus, gpus, resources, store_bytes of the configuration), or a local one.
corral_client *runtime_open(const corral_client_config *config);
void runtime_close(corral_client *client);
/// One driver more at the same hub.
corral_client *runtime_open_second(const corral_client_config *config);
/// The hub's report; the caller frees it.
char *runtime_report(void);

// What tests do all the time. A failure ends the test.
corral_ref *runtime_number(corral_client *client, double value);
corral_ref *runtime_submit(corral_client *client, const char *function, const corral_argument *arguments,
                           size_t count);
double runtime_get_number(corral_ref *ref);

#endif
