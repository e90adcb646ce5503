// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Ten tasks that sleep a second each take a second: a task that waits for something outside needs little of
/// a CPU, and says so.
///
///     cc -shared -fPIC -o sleep.so sleep.c $(pkg-config --cflags corral)
///     corral run sleep.so together
#include "corral/actors/client.h"
#include "corral/base/clock.h"

#include <stdio.h>

enum { TASKS = 10 };

static corral_status doze(corral_call *call)
{
    corral_sleep_ns(CORRAL_SECOND);
    return corral_call_return(call, NULL, 0);
}

static corral_status together(corral_call *call)
{
    corral_client *client = corral_call_client(call);
    corral_ref *tasks[TASKS] = {0};
    corral_bytes nothing[TASKS];
    corral_task_options options = corral_task_options_default();
    options.cpus = 0.1;
    corral_status status = CORRAL_OK;
    const int64_t begin = corral_now_ns();
    for (int i = 0; i < TASKS && status == CORRAL_OK; i++)
        status = corral_task_submit(client, "doze", NULL, 0, &options, &tasks[i]);
    if (status == CORRAL_OK) status = corral_get_many(tasks, TASKS, -1, nothing);
    for (int i = 0; i < TASKS; i++)
        corral_release(tasks[i]);
    if (status != CORRAL_OK) return status;
    char line[64];
    const int size =
        snprintf(line, sizeof line, "%d naps in %.0f s\n", TASKS, (double)(corral_now_ns() - begin) / 1e9);
    return corral_call_return(call, line, (size_t)size);
}

static const corral_named_function functions[] = {{"doze", doze}, {"together", together}, {NULL, NULL}};

const corral_library corral_library_table = {CORRAL_LIBRARY_ABI, functions, NULL};
