// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Submitting tasks, spawning actors and calling them: options become a spec, arguments that are too large
/// for one message become objects first.
#include "client_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONCURRENCY_MAX = 256 };

corral_argument corral_argument_bytes(const void *data, size_t size)
{
    return (corral_argument){.kind = CORRAL_ARGUMENT_BYTES, .bytes = {data, size}};
}

corral_argument corral_argument_text(const char *text)
{
    return corral_argument_bytes(text, strlen(text));
}

corral_argument corral_argument_value(corral_ref *ref)
{
    return (corral_argument){.kind = CORRAL_ARGUMENT_VALUE, .ref = ref};
}

corral_argument corral_argument_reference(corral_ref *ref)
{
    return (corral_argument){.kind = CORRAL_ARGUMENT_REFERENCE, .ref = ref};
}

corral_task_options corral_task_options_default(void)
{
    return (corral_task_options){.cpus = 1};
}

corral_actor_options corral_actor_options_default(void)
{
    return (corral_actor_options){.concurrency = 1};
}

// --- checks ------------------------------------------------------------------------------------------------

static corral_status check_name(const char *what, const char *name)
{
    if (name == NULL || name[0] == '\0' || strlen(name) > CORRAL_NAME_MAX)
        return corral_fail(CORRAL_ERROR_INVALID, "%s has a name of 1 to %d letters", what, CORRAL_NAME_MAX);
    return CORRAL_OK;
}

static corral_status check_arguments(const corral_client *client, const char *name,
                                     const corral_argument *arguments, size_t count)
{
    if (count > CORRAL_ARGUMENTS_MAX)
        return corral_fail(CORRAL_ERROR_INVALID, "\"%s\": %zu arguments, at most %d", name, count,
                           CORRAL_ARGUMENTS_MAX);
    for (size_t i = 0; i < count; i++) {
        const corral_argument *a = &arguments[i];
        const bool by_bytes = a->kind == CORRAL_ARGUMENT_BYTES;
        const bool good =
            by_bytes ? a->bytes.data != NULL || a->bytes.size == 0
                     : a->kind <= CORRAL_ARGUMENT_REFERENCE && a->ref != NULL && a->ref->client == client;
        if (!good)
            return corral_fail(CORRAL_ERROR_INVALID,
                               "\"%s\": argument %zu is neither bytes nor a reference of this client", name,
                               i);
    }
    return CORRAL_OK;
}

static void use_resources(spec *s, const corral_resource *resources, size_t count)
{
    s->head.resource_count = (uint32_t)count;
    for (size_t i = 0; i < count; i++)
        s->resources[i] = resources[i];
}

// Refused here, before anything is begun, where it can be known.
static corral_status check_demand(const corral_client *client, const spec *s,
                                  const corral_resource *resources, size_t count)
{
    char what[CORRAL_NAME_MAX + 16];
    spec_describe(s, what, sizeof what);
    resource_demand ignored;
    return resource_demand_init(&client->pool, what, s->head.cpus, s->head.gpus, resources, count, &ignored);
}

// --- sending -----------------------------------------------------------------------------------------------

static size_t largest_bytes(const corral_argument *arguments, size_t count)
{
    size_t largest = count;
    for (size_t i = 0; i < count; i++)
        if (arguments[i].kind == CORRAL_ARGUMENT_BYTES &&
            (largest == count || arguments[i].bytes.size > arguments[largest].bytes.size))
            largest = i;
    return largest;
}

// The largest first, until the rest fits into one message.
static corral_status shrink(corral_client *client, const spec *s, corral_argument *arguments)
{
    const size_t count = s->head.argument_count;
    while (spec_size(s, arguments) == SIZE_MAX) {
        const size_t largest = largest_bytes(arguments, count);
        if (largest == count)
            return corral_fail(CORRAL_ERROR_FULL, "\"%s\": its arguments do not fit into one message",
                               s->name);
        corral_ref *ref = NULL;
        const corral_status status =
            corral_put(client, arguments[largest].bytes.data, arguments[largest].bytes.size, &ref);
        if (status != CORRAL_OK) return status;
        arguments[largest] = corral_argument_value(ref);
    }
    return CORRAL_OK;
}

static corral_status send_spec(corral_client *client, const spec *s, const corral_argument *arguments,
                               corral_ref *result)
{
    if (client->local) return local_submit(client, s, arguments, result);
    const size_t size = spec_size(s, arguments);
    spec_pack(s, arguments, client->send_buffer);
    const corral_message submit = {
        .kind = CORRAL_MESSAGE_SUBMIT, .tag = result->id, .tail_size = (uint32_t)size};
    return client_send(client, &submit, client->send_buffer, -1);
}

static corral_status submit(corral_client *client, const spec *s, const corral_argument *arguments,
                            corral_ref *actor, corral_ref **out_result)
{
    pthread_mutex_lock(&client->lock);
    corral_ref *result = NULL;
    corral_status status = CORRAL_OK;
    if (actor != NULL) actor->is_actor = true;
    if (actor != NULL && actor->max_pending > 0 && actor->pending >= actor->max_pending) client_poll(client);
    if (actor != NULL && actor->max_pending > 0 && actor->pending >= actor->max_pending)
        status =
            corral_fail(CORRAL_ERROR_FULL, "call \"%s\": %u calls of this actor are open, at most %u may be",
                        s->name, actor->pending, actor->max_pending);
    if (status == CORRAL_OK) status = client_ref_create(client, client_new_id(client), &result);
    if (status == CORRAL_OK) {
        result->handles = 1;
        result->held = result->asked = true;
        result->is_actor = s->head.kind == SPEC_SPAWN;
        if (actor != NULL && actor->max_pending > 0) {
            result->actor = actor;
            actor->pending++;
            actor->uses++;
        }
        status = send_spec(client, s, arguments, result);
        if (status != CORRAL_OK) {
            result->handles = 0;
            result->held = false;
            client_ref_free_if_unused(result);
        }
    }
    if (status == CORRAL_OK) *out_result = result;
    pthread_mutex_unlock(&client->lock);
    return status;
}

static corral_status submit_with(corral_client *client, spec *s, const corral_argument *arguments,
                                 size_t count, corral_ref *actor, corral_ref **out_result)
{
    corral_status status = check_arguments(client, s->name, arguments, count);
    if (status != CORRAL_OK) return status;
    s->head.name_size = (uint32_t)strlen(s->name);
    s->head.label_size = (uint32_t)strlen(s->label);
    s->head.argument_count = (uint32_t)count;
    if (client->local || spec_size(s, arguments) != SIZE_MAX)
        return submit(client, s, arguments, actor, out_result);
    corral_argument *smaller = malloc(count * sizeof *smaller);
    if (smaller == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for %zu arguments", count);
    memcpy(smaller, arguments, count * sizeof *smaller);
    status = shrink(client, s, smaller);
    if (status == CORRAL_OK) status = submit(client, s, smaller, actor, out_result);
    for (size_t i = 0; i < count; i++)
        if (smaller[i].kind != arguments[i].kind) corral_release(smaller[i].ref); // the task holds it now
    free(smaller);
    return status;
}

corral_status corral_task_submit(corral_client *client, const char *function,
                                 const corral_argument *arguments, size_t count,
                                 const corral_task_options *options, corral_ref **out_result)
{
    const corral_task_options given = options != NULL ? *options : corral_task_options_default();
    corral_status status = check_name("a function", function);
    if (status != CORRAL_OK) return status;
    spec s = {.name = function, .label = ""};
    s.head.kind = SPEC_TASK;
    s.head.cpus = given.cpus;
    s.head.gpus = given.gpus;
    s.head.retries = given.max_retries;
    status = check_demand(client, &s, given.resources, given.resource_count);
    if (status != CORRAL_OK) return status;
    use_resources(&s, given.resources, given.resource_count);
    return submit_with(client, &s, arguments, count, NULL, out_result);
}

corral_status corral_actor_find(corral_client *client, const char *name, corral_ref **out_actor)
{
    corral_status status = check_name("an actor that can be found", name);
    if (status != CORRAL_OK) return status;
    pthread_mutex_lock(&client->lock);
    if (client->local) {
        status = local_find(client, name, out_actor);
    } else {
        corral_message find = {.kind = CORRAL_MESSAGE_FIND, .tail_size = (uint32_t)strlen(name)};
        client_question question;
        client_flush_drops(client);
        status = client_ask(client, &find, name, &question);
        corral_ref *ref = status == CORRAL_OK ? client_ref_find(client, question.answer.offset) : NULL;
        if (status == CORRAL_OK && ref == NULL) {
            status = client_ref_create(client, question.answer.offset, &ref);
            if (status == CORRAL_OK) ref->is_actor = true;
        }
        if (status == CORRAL_OK) {
            ref->held = true;
            ref->handles++;
            *out_actor = ref;
        }
    }
    pthread_mutex_unlock(&client->lock);
    return status;
}

corral_status corral_actor_spawn(corral_client *client, const char *class_name,
                                 const corral_argument *arguments, size_t count,
                                 const corral_actor_options *options, corral_ref **out_actor)
{
    const corral_actor_options given = options != NULL ? *options : corral_actor_options_default();
    const bool named = given.name != NULL;
    corral_status status = check_name("a class", class_name);
    if (status == CORRAL_OK && named) status = check_name("an actor that can be found", given.name);
    if (status == CORRAL_OK && given.detached && !named)
        status =
            corral_fail(CORRAL_ERROR_INVALID,
                        "actor \"%s\": a detached actor needs a name, or nobody can find it", class_name);
    if (status != CORRAL_OK) return status;
    if (given.concurrency > CONCURRENCY_MAX)
        return corral_fail(CORRAL_ERROR_INVALID, "actor \"%s\": %u threads, at most %d", class_name,
                           given.concurrency, CONCURRENCY_MAX);
    spec s = {.name = class_name, .label = named ? given.name : ""};
    s.head.kind = SPEC_SPAWN;
    s.head.cpus = given.cpus;
    s.head.gpus = given.gpus;
    s.head.retries = given.max_restarts;
    s.head.concurrency = given.concurrency > 0 ? given.concurrency : 1;
    s.head.detached = given.detached;
    status = check_demand(client, &s, given.resources, given.resource_count);
    if (status != CORRAL_OK) return status;
    use_resources(&s, given.resources, given.resource_count);
    corral_ref *actor = NULL;
    if (named && corral_actor_find(client, given.name, &actor) == CORRAL_OK) {
        corral_release(actor);
        return corral_fail(CORRAL_ERROR_EXISTS, "a living actor has the name \"%s\" already", given.name);
    }
    status = submit_with(client, &s, arguments, count, NULL, &actor);
    if (status != CORRAL_OK) return status;
    actor->max_pending = given.max_pending;
    *out_actor = actor;
    return CORRAL_OK;
}

corral_status corral_actor_call(corral_ref *actor, const char *method, const corral_argument *arguments,
                                size_t count, const corral_call_options *options, corral_ref **out_result)
{
    const corral_status status = check_name("a method", method);
    if (status != CORRAL_OK) return status;
    spec s = {.name = method, .label = ""};
    s.head.kind = SPEC_CALL;
    s.head.actor = actor->id;
    s.head.retries = options != NULL ? options->max_retries : 0;
    return submit_with(actor->client, &s, arguments, count, actor, out_result);
}

static corral_status tell(corral_ref *ref, uint32_t kind, bool flag)
{
    corral_client *client = ref->client;
    pthread_mutex_lock(&client->lock);
    corral_status status = CORRAL_OK;
    if (client->local) {
        if (kind == CORRAL_MESSAGE_KILL && ref->local != NULL && !flag)
            local_actor_end(ref, "was killed on request");
    } else {
        const corral_message message = {.kind = kind, .tag = ref->id, .code = flag};
        status = client_send(client, &message, NULL, -1);
    }
    pthread_mutex_unlock(&client->lock);
    return status;
}

corral_status corral_cancel(corral_ref *result, bool force)
{
    return tell(result, CORRAL_MESSAGE_CANCEL, force);
}

corral_status corral_actor_kill(corral_ref *actor, bool restart)
{
    return tell(actor, CORRAL_MESSAGE_KILL, restart);
}
