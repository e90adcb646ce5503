// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A task's way: submitted, waiting for its arguments, ready in a queue, running, done. A task belongs to the
/// object that it will make; whatever ends it resolves that object, so nobody waits for something that cannot
/// come.
#include "hub_private.h"

#include "corral/base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// --- shapes ------------------------------------------------------------------------------------------------

static corral_status shape_for(corral_hub *hub, const resource_demand *demand, hub_shape **out_shape)
{
    for (hub_shape *shape = hub->shapes; shape != NULL; shape = shape->next)
        if (resource_demand_equal(&shape->demand, demand)) {
            *out_shape = shape;
            return CORRAL_OK;
        }
    hub_shape *shape = calloc(1, sizeof *shape);
    if (shape == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for one demand more");
    shape->demand = *demand;
    shape->next = hub->shapes;
    hub->shapes = shape;
    *out_shape = shape;
    return CORRAL_OK;
}

static void leave_shape(corral_hub *hub, hub_shape *shape)
{
    if (shape == NULL || --shape->tasks > 0) return;
    for (hub_shape **link = &hub->shapes; *link != NULL; link = &(*link)->next)
        if (*link == shape) {
            *link = shape->next;
            free(shape);
            return;
        }
}

static corral_status find_shape(corral_hub *hub, hub_task *task)
{
    const spec *s = &task->spec;
    char what[CORRAL_NAME_MAX + 16];
    spec_describe(s, what, sizeof what);
    resource_demand demand;
    corral_status status = resource_demand_init(&hub->pool, what, s->head.cpus, s->head.gpus, s->resources,
                                                s->head.resource_count, &demand);
    if (status == CORRAL_OK) status = shape_for(hub, &demand, &task->shape);
    if (status == CORRAL_OK) task->shape->tasks++;
    return status;
}

// --- arguments ---------------------------------------------------------------------------------------------

static hub_object *argument_object(const corral_hub *hub, const hub_task *task, size_t index)
{
    const spec_argument argument = spec_argument_at(&task->spec, index);
    return argument.kind == CORRAL_ARGUMENT_BYTES ? NULL : hub_object_find(hub, argument.ref);
}

// Pins them all or none; counts those that are not there yet.
static corral_status take_arguments(corral_hub *hub, hub_task *task)
{
    const size_t count = task->spec.head.argument_count;
    for (size_t i = 0; i < count; i++) {
        if (spec_argument_at(&task->spec, i).kind == CORRAL_ARGUMENT_BYTES) continue;
        const hub_object *object = argument_object(hub, task, i);
        if (object != NULL && object != task->result) continue; // nothing waits for itself
        task->spec.head.argument_count = 0;
        return corral_fail(CORRAL_ERROR_LOST, "its argument %zu is an object that is gone", i);
    }
    corral_status status = CORRAL_OK;
    for (size_t i = 0; i < count; i++) {
        hub_object *object = argument_object(hub, task, i);
        if (object == NULL) continue;
        hub_object_pin(object);
        if (object->state != HUB_PENDING || spec_argument_at(&task->spec, i).kind != CORRAL_ARGUMENT_VALUE)
            continue;
        const corral_status added = hub_list_add(&object->waiting, task);
        if (added != CORRAL_OK) status = added;
        if (added == CORRAL_OK) task->missing++;
    }
    return status;
}

static void release_arguments(corral_hub *hub, hub_task *task)
{
    for (size_t i = 0; i < task->spec.head.argument_count; i++) {
        hub_object *object = argument_object(hub, task, i);
        if (object == NULL) continue;
        hub_list_remove(&object->waiting, task);
        hub_object_unpin(hub, object);
    }
}

// The first argument that is an error is the task's error, too.
static bool fails_by_argument(corral_hub *hub, hub_task *task)
{
    for (size_t i = 0; i < task->spec.head.argument_count; i++) {
        hub_object *object = argument_object(hub, task, i);
        if (object == NULL || object->state != HUB_ERROR ||
            spec_argument_at(&task->spec, i).kind != CORRAL_ARGUMENT_VALUE)
            continue;
        char sentence[HUB_TEXT_SIZE];
        snprintf(sentence, sizeof sentence, "%.*s", (int)object->size, (const char *)object->bytes);
        hub_task_fail(hub, task, object->status, sentence);
        return true;
    }
    return false;
}

// --- queues ------------------------------------------------------------------------------------------------

static void call_ready(corral_hub *hub, hub_task *call)
{
    hub_actor *actor = call->actor;
    hub_object *reference = actor->reference;
    hub_object_pin(reference); // a call that fails may have been the last thing that refers to the actor
    if (!fails_by_argument(hub, call)) call->state = TASK_READY;
    hub_actor_dispatch(hub, actor);
    hub_object_unpin(hub, reference);
}

void hub_task_ready(corral_hub *hub, hub_task *task)
{
    if (task->spec.head.kind == SPEC_CALL)
        call_ready(hub, task);
    else if (!fails_by_argument(hub, task))
        hub_task_requeue(hub, task);
}

void hub_task_requeue(corral_hub *hub, hub_task *task)
{
    task->state = TASK_READY;
    task->ready_at_ns = corral_now_ns();
    hub_queue_push(&task->shape->ready, task);
    hub->dispatching = true;
}

void hub_task_argument_ready(corral_hub *hub, hub_task *task)
{
    if (--task->missing == 0) hub_task_ready(hub, task);
}

void hub_task_withdraw(corral_hub *hub, hub_task *task)
{
    (void)hub;
    if (task->spec.head.kind == SPEC_CALL)
        hub_actor_withdraw(task->actor, task);
    else if (task->state == TASK_READY)
        hub_queue_remove(&task->shape->ready, task);
}

// --- beginning ---------------------------------------------------------------------------------------------

static corral_status create_task(corral_hub *hub, hub_client *client, const corral_message *message,
                                 const uint8_t *tail, hub_task **out_task)
{
    if (message->tag >> HUB_ID_SHIFT != client->number || hub_object_find(hub, message->tag) != NULL)
        return corral_fail(CORRAL_ERROR_INVALID, "a task by a number that is not its own");
    hub_task *task = calloc(1, sizeof *task);
    uint8_t *bytes = malloc((size_t)message->tail_size + 1);
    corral_status status = CORRAL_OK;
    if (task == NULL || bytes == NULL)
        status = corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for one task more");
    if (status == CORRAL_OK) {
        memcpy(bytes, tail, message->tail_size);
        status = spec_read(bytes, message->tail_size, &task->spec);
    }
    char what[CORRAL_NAME_MAX + 16];
    if (status == CORRAL_OK) spec_describe(&task->spec, what, sizeof what);
    if (status == CORRAL_OK) status = hub_object_create(hub, message->tag, what, &task->result);
    if (status == CORRAL_OK) status = hub_list_add(&task->result->holders, client);
    if (status != CORRAL_OK) {
        if (task != NULL && task->result != NULL) hub_object_free_if_unused(hub, task->result);
        free(bytes);
        free(task);
        return status;
    }
    task->id = message->tag;
    task->sequence = ++hub->last_sequence;
    task->bytes = bytes;
    task->size = message->tail_size;
    task->owner = client;
    task->job = client->job;
    task->job->tasks++;
    task->retries_left = task->spec.head.kind == SPEC_SPAWN ? 0 : task->spec.head.retries;
    task->result->task = task;
    *out_task = task;
    return CORRAL_OK;
}

static void fail_with_last_error(corral_hub *hub, hub_task *task, corral_status status)
{
    char sentence[HUB_TEXT_SIZE];
    snprintf(sentence, sizeof sentence, "%s", corral_last_error());
    hub_task_fail(hub, task, status, sentence);
}

corral_status hub_task_submit(corral_hub *hub, hub_client *client, const corral_message *message,
                              const uint8_t *tail)
{
    hub_task *task = NULL;
    corral_status status = create_task(hub, client, message, tail, &task);
    if (status != CORRAL_OK) return status;
    if (hub_list_add(&task->result->wanting, client) != CORRAL_OK)
        client->doom = "no memory for what it is owed";
    status = take_arguments(hub, task);
    const uint32_t kind = task->spec.head.kind;
    if (status == CORRAL_OK && kind != SPEC_CALL) status = find_shape(hub, task);
    if (status == CORRAL_OK && kind == SPEC_SPAWN) status = hub_actor_create(hub, task);
    if (status != CORRAL_OK) {
        fail_with_last_error(hub, task, status);
        return CORRAL_OK;
    }
    if (kind == SPEC_CALL)
        hub_actor_enqueue(hub, task); // in its place, whether or not its arguments are there
    else if (task->missing == 0)
        hub_task_ready(hub, task);
    return CORRAL_OK;
}

// --- running -----------------------------------------------------------------------------------------------

static bool lends_cpus(const hub_worker *worker)
{
    return worker->has_grant && worker->grant.demand.amount[RESOURCE_CPUS] > 0;
}

void hub_task_send(corral_hub *hub, hub_task *task, hub_worker *worker)
{
    task->state = TASK_RUNNING;
    task->worker = worker;
    for (size_t i = 0; i < task->spec.head.argument_count; i++)
        if (spec_argument_at(&task->spec, i).kind == CORRAL_ARGUMENT_VALUE)
            hub_client_send_value(hub, worker->client, argument_object(hub, task, i), true);
    const corral_message run = {
        .kind = CORRAL_MESSAGE_RUN,
        .tail_size = (uint32_t)task->size,
        .tag = task->id,
        .version = task->attempt,
        .generation = worker->grant.gpus,
        .code = lends_cpus(worker),
    };
    hub_client_send(hub, worker->client, &run, task->bytes);
}

void hub_task_done(corral_hub *hub, hub_client *client, const corral_message *message, const uint8_t *tail)
{
    hub_worker *worker = client->worker;
    if (worker == NULL) return;
    hub_actor *actor = worker->actor;
    hub_task *task = worker->task;
    if (actor != NULL && (task == NULL || task->id != message->tag)) {
        hub_actor_call_done(hub, actor, message->tag, message, tail);
        return;
    }
    if (task == NULL || task->id != message->tag) return;
    if (actor != NULL) {
        hub_actor_created(hub, actor, message, tail);
        return;
    }
    worker->task = NULL;
    hub_worker_take_back(hub, worker);
    hub_object *result = task->result;
    hub_object_pin(result);
    hub_task_free(hub, task);
    hub_object_resolve(hub, result, client, message, tail);
    hub_object_unpin(hub, result);
    hub->tasks_ended++;
    hub_worker_idle(hub, worker);
}

// --- ending ------------------------------------------------------------------------------------------------

void hub_task_free(corral_hub *hub, hub_task *task)
{
    if (task->result != NULL && task->result->task == task) task->result->task = NULL;
    release_arguments(hub, task);
    leave_shape(hub, task->shape);
    task->job->tasks--;
    hub_job_free_if_over(hub, task->job);
    free(task->bytes);
    free(task);
}

void hub_task_fail(corral_hub *hub, hub_task *task, corral_status status, const char *sentence)
{
    hub_object *result = task->result;
    hub_object_pin(result);
    hub_task_withdraw(hub, task);
    if (task->spec.head.kind == SPEC_SPAWN && task->actor != NULL) {
        hub_actor_creation_failed(hub, task->actor, status, sentence);
    } else {
        if (task->spec.head.kind == SPEC_CALL && task->actor != NULL)
            hub_object_unpin(hub, task->actor->reference);
        hub_task_free(hub, task);
        hub_object_fail(hub, result, status, sentence);
    }
    hub_object_unpin(hub, result);
}

void hub_task_cancel(corral_hub *hub, hub_task *task, bool force)
{
    char why[HUB_TEXT_SIZE];
    if (task->spec.head.kind == SPEC_SPAWN) {
        hub_actor_kill(hub, task->actor, false);
        return;
    }
    if (task->state != TASK_RUNNING) {
        snprintf(why, sizeof why, "%s was cancelled before it began", task->result->made_by);
        hub_task_fail(hub, task, CORRAL_ERROR_CANCELLED, why);
        return;
    }
    task->cancelled = true;
    const corral_message cancel = {.kind = CORRAL_MESSAGE_CANCEL, .tag = task->id};
    hub_client_send(hub, task->worker->client, &cancel, NULL);
    if (force && task->spec.head.kind == SPEC_TASK) hub_worker_kill(hub, task->worker);
}
