// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A parameter server: an actor has the parameters of a line; tasks compute gradients on their share of the
/// data and send them to it. Each round waits for all gradients, so that the result does not depend on who is
/// faster.
///
///     cc -shared -fPIC -o parameters.so parameters.c $(pkg-config --cflags corral)
///     corral run parameters.so fit
#include "corral/actors/actor_call.h"
#include "corral/actors/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHARES = 4, POINTS = 100, ROUNDS = 200 };

typedef struct line {
    double slope, offset;
} line;

// The data: points of y = 3 x - 1, share by share.
static double point(int share, int i)
{
    return (share * POINTS + i) / (double)(SHARES * POINTS) - 0.5;
}

static corral_status gradient(corral_call *call)
{
    line now, sum = {0, 0};
    int share;
    memcpy(&now, corral_call_argument(call, 0).data, sizeof now);
    memcpy(&share, corral_call_argument(call, 1).data, sizeof share);
    for (int i = 0; i < POINTS; i++) {
        const double x = point(share, i), error = now.slope * x + now.offset - (3 * x - 1);
        sum.slope += error * x / POINTS;
        sum.offset += error / POINTS;
    }
    return corral_call_return(call, &sum, sizeof sum);
}

static corral_status create(corral_call *call, void **out_self)
{
    (void)call;
    *out_self = calloc(1, sizeof(line));
    return *out_self != NULL ? CORRAL_OK : CORRAL_ERROR_NO_MEMORY;
}

// One step along the mean of the gradients; gives the new parameters.
static corral_status step(void *self, corral_call *call)
{
    line *parameters = self;
    for (size_t i = 0; i < corral_call_count(call); i++) {
        line g;
        memcpy(&g, corral_call_argument(call, i).data, sizeof g);
        parameters->slope -= 2.0 * g.slope / (double)corral_call_count(call);
        parameters->offset -= 0.5 * g.offset / (double)corral_call_count(call);
    }
    return corral_call_return(call, parameters, sizeof *parameters);
}

static const corral_named_method methods[] = {{"step", step}, {NULL, NULL}};
static const corral_class server = {.name = "server", .create = create, .destroy = free, .methods = methods};

// Submits one round: gradients at the parameters that `now` will be, and a step along them, which takes its
// place.
static corral_status submit_round(corral_client *client, corral_ref *actor, corral_ref **now)
{
    corral_ref *gradients[SHARES] = {0}, *next = NULL;
    corral_argument all[SHARES];
    corral_status status = CORRAL_OK;
    for (int share = 0; share < SHARES && status == CORRAL_OK; share++) {
        const corral_argument arguments[] = {corral_argument_value(*now),
                                             corral_argument_bytes(&share, sizeof share)};
        status = corral_task_submit(client, "gradient", arguments, 2, NULL, &gradients[share]);
        all[share] = corral_argument_value(gradients[share]);
    }
    if (status == CORRAL_OK) status = corral_actor_call(actor, "step", all, SHARES, NULL, &next);
    for (int share = 0; share < SHARES; share++)
        corral_release(gradients[share]);
    if (status != CORRAL_OK) return status;
    corral_release(*now);
    *now = next;
    return CORRAL_OK;
}

static corral_status fit(corral_call *call)
{
    corral_client *client = corral_call_client(call);
    corral_ref *actor = NULL, *now = NULL;
    corral_status status = corral_actor_spawn(client, "server", NULL, 0, NULL, &actor);
    if (status == CORRAL_OK) status = corral_actor_call(actor, "step", NULL, 0, NULL, &now);
    for (int round = 0; round < ROUNDS && status == CORRAL_OK; round++)
        status = submit_round(client, actor, &now);
    corral_bytes value = {0};
    if (status == CORRAL_OK) status = corral_get(now, -1, &value);
    char text[64];
    int size = 0;
    if (status == CORRAL_OK) {
        const line *found = value.data;
        size = snprintf(text, sizeof text, "y = %.2f x %+.2f\n", found->slope, found->offset);
    }
    corral_release(now);
    corral_release(actor);
    return status == CORRAL_OK ? corral_call_return(call, text, (size_t)size) : status;
}

static const corral_named_function functions[] = {{"gradient", gradient}, {"fit", fit}, {NULL, NULL}};
static const corral_class *const classes[] = {&server, NULL};

const corral_library corral_library_table = {CORRAL_LIBRARY_ABI, functions, classes};
