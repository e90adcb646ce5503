// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Parallel tasks: pi by throwing darts, each task with a stream of its own.
///
///     cc -shared -fPIC -o tasks.so tasks.c $(pkg-config --cflags corral)
///     corral run tasks.so pi 16          (add --local to have it all in one process)
#include "corral/actors/client.h"
#include "corral/base/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DARTS = 100000, TASKS_MAX = 1000 };

static corral_status throw_darts(corral_call *call)
{
    uint64_t task, inside = 0;
    memcpy(&task, corral_call_argument(call, 0).data, sizeof task);
    corral_rng rng;
    corral_rng_seed(&rng, task);
    for (int i = 0; i < DARTS; i++) {
        const double x = corral_rng_double(&rng), y = corral_rng_double(&rng);
        inside += x * x + y * y < 1;
    }
    return corral_call_return(call, &inside, sizeof inside);
}

static corral_status pi(corral_call *call)
{
    corral_client *client = corral_call_client(call);
    const size_t count =
        corral_call_count(call) > 0 ? strtoul(corral_call_argument(call, 0).data, NULL, 10) : 16;
    corral_ref *results[TASKS_MAX] = {0};
    corral_bytes values[TASKS_MAX];
    if (count < 1 || count > TASKS_MAX) return corral_fail(CORRAL_ERROR_INVALID, "1 to %d tasks", TASKS_MAX);
    corral_status status = CORRAL_OK;
    for (uint64_t task = 0; task < count && status == CORRAL_OK; task++) {
        const corral_argument argument = corral_argument_bytes(&task, sizeof task);
        status = corral_task_submit(client, "throw_darts", &argument, 1, NULL, &results[task]);
    }
    if (status == CORRAL_OK) status = corral_get_many(results, count, -1, values);
    uint64_t inside = 0;
    for (size_t i = 0; i < count && status == CORRAL_OK; i++)
        inside += *(const uint64_t *)values[i].data;
    for (size_t i = 0; i < count; i++)
        corral_release(results[i]);
    if (status != CORRAL_OK) return status;
    char line[64];
    const int size =
        snprintf(line, sizeof line, "pi is about %.5f\n", 4.0 * (double)inside / (double)count / DARTS);
    return corral_call_return(call, line, (size_t)size);
}

static const corral_named_function functions[] = {{"throw_darts", throw_darts}, {"pi", pi}, {NULL, NULL}};

const corral_library corral_library_table = {CORRAL_LIBRARY_ABI, functions, NULL};
