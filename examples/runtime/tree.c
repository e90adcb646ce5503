// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Tree reduction: sums vectors in pairs, and the sums in pairs. Each task names the results of others as
/// arguments, so the whole tree is submitted at once, and runs as its parts get ready; the vectors are never
/// copied to the driver.
///
///     cc -shared -fPIC -o tree.so tree.c $(pkg-config --cflags corral)
///     corral run tree.so reduce
#include "corral/actors/client.h"

#include <stdio.h>
#include <string.h>

enum { LEAVES = 16, LENGTH = 100000 };

static corral_status leaf(corral_call *call)
{
    double *vector;
    int index;
    memcpy(&index, corral_call_argument(call, 0).data, sizeof index);
    const corral_status status = corral_call_return_into(call, LENGTH * sizeof *vector, (void **)&vector);
    for (int i = 0; status == CORRAL_OK && i < LENGTH; i++)
        vector[i] = index + i % 10;
    return status;
}

static corral_status sum(corral_call *call)
{
    const double *a = corral_call_argument(call, 0).data, *b = corral_call_argument(call, 1).data;
    double *vector;
    const corral_status status = corral_call_return_into(call, LENGTH * sizeof *vector, (void **)&vector);
    for (int i = 0; status == CORRAL_OK && i < LENGTH; i++)
        vector[i] = a[i] + b[i];
    return status;
}

static corral_status reduce(corral_call *call)
{
    corral_client *client = corral_call_client(call);
    corral_ref *parts[LEAVES] = {0};
    corral_status status = CORRAL_OK;
    for (int i = 0; i < LEAVES && status == CORRAL_OK; i++) {
        const corral_argument argument = corral_argument_bytes(&i, sizeof i);
        status = corral_task_submit(client, "leaf", &argument, 1, NULL, &parts[i]);
    }
    for (int width = LEAVES / 2; width >= 1 && status == CORRAL_OK; width /= 2)
        for (int i = 0; i < width && status == CORRAL_OK; i++) {
            corral_ref *both = NULL;
            const corral_argument pair[] = {corral_argument_value(parts[i]),
                                            corral_argument_value(parts[width + i])};
            status = corral_task_submit(client, "sum", pair, 2, NULL, &both);
            if (status != CORRAL_OK) break;
            corral_release(parts[i]); // the task holds them for as long as it needs them
            corral_release(parts[width + i]);
            parts[i] = both;
            parts[width + i] = NULL;
        }
    corral_bytes vector = {0};
    if (status == CORRAL_OK) status = corral_get(parts[0], -1, &vector);
    char line[64];
    int size = 0;
    if (status == CORRAL_OK) {
        const double *values = vector.data;
        size = snprintf(line, sizeof line, "first %g, last %g\n", values[0], values[LENGTH - 1]);
    }
    for (int i = 0; i < LEAVES; i++)
        corral_release(parts[i]);
    return status == CORRAL_OK ? corral_call_return(call, line, (size_t)size) : status;
}

static const corral_named_function functions[] = {
    {"leaf", leaf}, {"sum", sum}, {"reduce", reduce}, {NULL, NULL}};

const corral_library corral_library_table = {CORRAL_LIBRARY_ABI, functions, NULL};
