// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A pipeline with back-pressure: a fast producer, a slow consumer, and between them at most four items,
/// since the consumer takes no more open calls than that. The producer waits for its oldest call instead of
/// piling up memory.
///
///     cc -shared -fPIC -o pipeline.so pipeline.c $(pkg-config --cflags corral)
///     corral run pipeline.so flow
#include "corral/actors/actor_call.h"
#include "corral/actors/client.h"
#include "corral/base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ITEMS = 40, OPEN_MAX = 4, ITEM_SIZE = 200000 };

static corral_status produce(corral_call *call)
{
    uint8_t *item;
    int index;
    memcpy(&index, corral_call_argument(call, 0).data, sizeof index);
    const corral_status status = corral_call_return_into(call, ITEM_SIZE, (void **)&item);
    if (status == CORRAL_OK) memset(item, index, ITEM_SIZE);
    return status;
}

static corral_status create(corral_call *call, void **out_self)
{
    (void)call;
    *out_self = calloc(1, sizeof(long));
    return *out_self != NULL ? CORRAL_OK : CORRAL_ERROR_NO_MEMORY;
}

static corral_status consume(void *self, corral_call *call)
{
    long *sum = self;
    const uint8_t *item = corral_call_argument(call, 0).data;
    corral_sleep_ns(2 * CORRAL_MILLISECOND); // it is thorough
    *sum += item[0] + item[ITEM_SIZE - 1];
    return corral_call_return(call, sum, sizeof *sum);
}

static const corral_named_method methods[] = {{"consume", consume}, {NULL, NULL}};
static const corral_class consumer = {
    .name = "consumer", .create = create, .destroy = free, .methods = methods};

// Item `i` is made and consumed; `*slot` is the call that it replaces, which has to be over first.
static corral_status push(corral_client *client, corral_ref *actor, int i, corral_ref **slot)
{
    corral_ref *item = NULL;
    corral_status status = *slot != NULL ? corral_get(*slot, -1, NULL) : CORRAL_OK;
    corral_release(*slot);
    *slot = NULL;
    const corral_argument index = corral_argument_bytes(&i, sizeof i);
    if (status == CORRAL_OK) status = corral_task_submit(client, "produce", &index, 1, NULL, &item);
    const corral_argument value = corral_argument_value(item);
    if (status == CORRAL_OK) status = corral_actor_call(actor, "consume", &value, 1, NULL, slot);
    corral_release(item);
    return status;
}

static corral_status flow(corral_call *call)
{
    corral_client *client = corral_call_client(call);
    corral_ref *actor = NULL, *slots[OPEN_MAX] = {0};
    corral_actor_options options = corral_actor_options_default();
    options.max_pending = OPEN_MAX;
    corral_status status = corral_actor_spawn(client, "consumer", NULL, 0, &options, &actor);
    for (int i = 0; i < ITEMS && status == CORRAL_OK; i++)
        status = push(client, actor, i, &slots[i % OPEN_MAX]);
    corral_bytes sum = {0};
    if (status == CORRAL_OK) status = corral_get(slots[(ITEMS - 1) % OPEN_MAX], -1, &sum);
    char line[64];
    int size = 0;
    if (status == CORRAL_OK)
        size = snprintf(line, sizeof line, "%d items, sum %ld\n", ITEMS, *(const long *)sum.data);
    for (int i = 0; i < OPEN_MAX; i++)
        corral_release(slots[i]);
    corral_release(actor);
    return status == CORRAL_OK ? corral_call_return(call, line, (size_t)size) : status;
}

static const corral_named_function functions[] = {{"produce", produce}, {"flow", flow}, {NULL, NULL}};
static const corral_class *const classes[] = {&consumer, NULL};

const corral_library corral_library_table = {CORRAL_LIBRARY_ABI, functions, classes};
