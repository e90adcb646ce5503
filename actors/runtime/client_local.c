// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The local client: everything at once, in the caller's thread. A value is there when submit returns, so
/// nothing ever waits. The lock is let go while a function of the user runs, since that may come back here.
#include "client_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct local_actor {
    const corral_class *class;
    void *self;
    char name[CORRAL_NAME_MAX + 1];
    unsigned busy; // calls that run
    bool ending;
} local_actor;

// --- the end of an actor -----------------------------------------------------------------------------------

static void destroy(corral_client *client, local_actor *actor)
{
    pthread_mutex_unlock(&client->lock);
    if (actor->class->destroy != NULL) actor->class->destroy(actor->self);
    free(actor);
    pthread_mutex_lock(&client->lock);
}

void local_actor_end(corral_ref *ref, const char *why)
{
    local_actor *actor = ref->local;
    corral_client *client = ref->client;
    if (actor == NULL) return;
    char text[256];
    snprintf(text, sizeof text, "actor \"%s\": its process %s", actor->class->name, why);
    free(ref->text);
    ref->text = strdup(text);
    ref->local = NULL;
    id_map_remove(&client->local_actors, ref->id);
    if (actor->busy > 0)
        actor->ending = true;
    else
        destroy(client, actor);
}

// --- calls -------------------------------------------------------------------------------------------------

static void end_call(corral_call *call, const corral_argument *arguments)
{
    for (size_t i = 0; call->values != NULL && i < call->count; i++)
        if (arguments[i].kind == CORRAL_ARGUMENT_BYTES) free((void *)(uintptr_t)call->values[i].data);
    for (size_t i = 0; i < call->count; i++)
        if (arguments[i].kind != CORRAL_ARGUMENT_BYTES) client_ref_unuse(arguments[i].ref);
    free(call->values);
    free(call->references);
}

// The arguments as a worker would see them: bytes are copies, aligned.
static corral_status begin_call(corral_client *client, size_t count, const corral_argument *arguments,
                                corral_call *out_call)
{
    *out_call = (corral_call){.client = client, .count = count};
    out_call->values = calloc(count + 1, sizeof *out_call->values);
    out_call->references = calloc(count + 1, sizeof(corral_ref *));
    corral_status status = CORRAL_OK;
    if (out_call->values == NULL || out_call->references == NULL) {
        out_call->count = 0;
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a call");
    }
    for (size_t i = 0; i < count; i++) {
        if (arguments[i].kind != CORRAL_ARGUMENT_BYTES) {
            arguments[i].ref->uses++;
            if (arguments[i].kind == CORRAL_ARGUMENT_REFERENCE)
                out_call->references[i] = arguments[i].ref;
            else
                out_call->values[i] = (corral_bytes){arguments[i].ref->data, arguments[i].ref->size};
            continue;
        }
        void *copy = client_aligned(arguments[i].bytes.size);
        if (copy == NULL) status = corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a call");
        if (copy != NULL && arguments[i].bytes.size > 0)
            memcpy(copy, arguments[i].bytes.data, arguments[i].bytes.size);
        out_call->values[i] = (corral_bytes){copy, copy != NULL ? arguments[i].bytes.size : 0};
    }
    return status;
}

static void set_result(corral_ref *result, corral_call *call, corral_status status)
{
    if (status != CORRAL_OK) {
        free(call->result);
        client_ref_set_error(result, status, corral_last_error(), strlen(corral_last_error()));
        return;
    }
    result->owned = call->result;
    result->data = call->result;
    result->size = call->result_size;
    result->state = REF_VALUE;
    client_ref_resolved(result);
}

static bool fails_by_argument(const corral_argument *arguments, size_t count, corral_ref *result)
{
    for (size_t i = 0; i < count; i++) {
        const corral_ref *ref = arguments[i].ref;
        if (arguments[i].kind != CORRAL_ARGUMENT_VALUE || ref->state != REF_ERROR) continue;
        const char *text = ref->text != NULL ? ref->text : "";
        client_ref_set_error(result, ref->status, text, strlen(text));
        return true;
    }
    return false;
}

static corral_status run_spawn(corral_client *client, const spec *s, corral_call *call, corral_ref *result)
{
    local_actor *actor = calloc(1, sizeof *actor);
    if (actor == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for an actor");
    actor->class = library_class(client->library, s->name);
    snprintf(actor->name, sizeof actor->name, "%s", s->label);
    pthread_mutex_unlock(&client->lock);
    corral_status status = call_run_create(call, actor->class, s->name, &actor->self);
    pthread_mutex_lock(&client->lock);
    if (status == CORRAL_OK) status = id_map_put(&client->local_actors, result->id, result);
    if (status != CORRAL_OK) {
        free(actor);
        return status;
    }
    result->local = actor;
    if (s->head.detached) result->uses++; // until it is killed, or the client closed
    return CORRAL_OK;
}

static corral_status run_call(corral_client *client, const spec *s, corral_call *call)
{
    corral_ref *ref = client_ref_find(client, s->head.actor);
    local_actor *actor = ref != NULL ? ref->local : NULL;
    if (actor == NULL) {
        const bool failed = ref != NULL && ref->state == REF_ERROR;
        return corral_fail(failed ? ref->status : CORRAL_ERROR_LOST, "%s",
                           ref != NULL && ref->text != NULL ? ref->text : "the actor is gone");
    }
    actor->busy++;
    pthread_mutex_unlock(&client->lock);
    const corral_status status = call_run_method(call, actor->class, actor->self, s->name);
    pthread_mutex_lock(&client->lock);
    if (--actor->busy == 0 && actor->ending) {
        char sentence[1024]; // destroy() may leave another
        snprintf(sentence, sizeof sentence, "%s", corral_last_error());
        destroy(client, actor);
        (void)corral_fail(status, "%s", sentence);
    }
    return status;
}

corral_status local_submit(corral_client *client, const spec *s, const corral_argument *arguments,
                           corral_ref *result)
{
    const size_t count = s->head.argument_count;
    if (fails_by_argument(arguments, count, result)) return CORRAL_OK;
    corral_call call;
    corral_status status = begin_call(client, count, arguments, &call);
    if (status == CORRAL_OK) {
        if (s->head.kind == SPEC_SPAWN) {
            status = run_spawn(client, s, &call, result);
        } else if (s->head.kind == SPEC_CALL) {
            status = run_call(client, s, &call);
        } else {
            pthread_mutex_unlock(&client->lock);
            status = call_run_function(&call, client->library, s->name);
            pthread_mutex_lock(&client->lock);
        }
    }
    set_result(result, &call, status);
    end_call(&call, arguments);
    return CORRAL_OK;
}

corral_status local_find(corral_client *client, const char *name, corral_ref **out_actor)
{
    for (size_t i = 0; i < client->local_actors.capacity; i++) {
        corral_ref *ref = client->local_actors.slots[i].thing;
        if (ref == NULL || strcmp(ref->local->name, name) != 0) continue;
        ref->handles++;
        *out_actor = ref;
        return CORRAL_OK;
    }
    return corral_fail(CORRAL_ERROR_NOT_FOUND, "no living actor has the name \"%s\"", name);
}
