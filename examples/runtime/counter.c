// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A counter actor: its state lives in one process; calls of one caller are run in their order.
///
///     cc -shared -fPIC -o counter.so counter.c $(pkg-config --cflags corral)
///     corral run counter.so count
#include "corral/actors/actor_call.h"
#include "corral/actors/client.h"

#include <stdio.h>
#include <stdlib.h>

static corral_status create(corral_call *call, void **out_self)
{
    (void)call;
    *out_self = calloc(1, sizeof(long));
    return *out_self != NULL ? CORRAL_OK : CORRAL_ERROR_NO_MEMORY;
}

static corral_status increment(void *self, corral_call *call)
{
    long *value = self;
    ++*value;
    return corral_call_return(call, value, sizeof *value);
}

static const corral_named_method methods[] = {{"increment", increment}, {NULL, NULL}};
static const corral_class counter = {
    .name = "counter", .create = create, .destroy = free, .methods = methods};

static corral_status count(corral_call *call)
{
    corral_ref *actor = NULL, *last = NULL;
    corral_bytes value = {0};
    corral_status status = corral_actor_spawn(corral_call_client(call), "counter", NULL, 0, NULL, &actor);
    for (int i = 0; i < 1000 && status == CORRAL_OK; i++) {
        corral_release(last); // we want the last result alone; the others are dropped when they come
        last = NULL;
        status = corral_actor_call(actor, "increment", NULL, 0, NULL, &last);
    }
    if (status == CORRAL_OK) status = corral_get(last, -1, &value);
    char line[64];
    int size = 0;
    if (status == CORRAL_OK)
        size = snprintf(line, sizeof line, "counted to %ld\n", *(const long *)value.data);
    corral_release(last);
    corral_release(actor); // nobody else knows it: it ends
    return status == CORRAL_OK ? corral_call_return(call, line, (size_t)size) : status;
}

static const corral_named_function functions[] = {{"count", count}, {NULL, NULL}};
static const corral_class *const classes[] = {&counter, NULL};

const corral_library corral_library_table = {CORRAL_LIBRARY_ABI, functions, classes};
