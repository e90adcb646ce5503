// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Actors: a process each, and the calls of many clients.
///
/// Each client's calls wait in a queue of their own, in order; a call whose arguments are not there holds
/// back those behind it and nobody else's. A few calls are sent ahead, since a process runs them in the order
/// in which they came and tells of each before it begins the next. That also says, when the process dies,
/// which calls may have begun: of those that it was sent and has not told of, the first `concurrency`. They
/// fail, or, with retries left, are run again; the others have certainly not begun and go back to where they
/// were.
#include "hub_private.h"

#include "corral/base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_DELAY (100 * CORRAL_MILLISECOND)
#define LAST_DELAY  (30 * CORRAL_SECOND)

// --- callers -----------------------------------------------------------------------------------------------

static hub_caller *caller_of(hub_actor *actor, uint32_t number)
{
    hub_caller **link = &actor->callers;
    for (; *link != NULL; link = &(*link)->next)
        if ((*link)->number == number) return *link;
    hub_caller *caller = calloc(1, sizeof *caller);
    if (caller == NULL) return NULL;
    caller->number = number;
    *link = caller;
    return caller;
}

static uint32_t number_of(const hub_task *call)
{
    return (uint32_t)(call->id >> HUB_ID_SHIFT);
}

// The next call that can be sent; its caller goes to the end of the row.
static hub_task *next_call(hub_actor *actor)
{
    for (hub_caller **link = &actor->callers; *link != NULL;) {
        hub_caller *caller = *link;
        if (caller->queue.count == 0) { // nobody's queue is kept for ever
            *link = caller->next;
            free(caller);
            continue;
        }
        if (caller->queue.first->missing > 0) {
            link = &caller->next;
            continue;
        }
        *link = caller->next;
        hub_caller **end = link;
        while (*end != NULL)
            end = &(*end)->next;
        *end = caller;
        caller->next = NULL;
        actor->waiting--;
        return hub_queue_pop(&caller->queue);
    }
    return NULL;
}

static size_t window_of(const hub_actor *actor)
{
    const size_t concurrency = actor->creation->spec.head.concurrency;
    return concurrency > HUB_WINDOW ? concurrency : HUB_WINDOW;
}

// A process that is being killed lives on for a moment: it is sent nothing that was asked for after that.
static void send_calls(corral_hub *hub, hub_actor *actor)
{
    while (actor->state == ACTOR_ALIVE && !actor->worker->ending && actor->running.count < window_of(actor)) {
        hub_task *call = next_call(actor);
        if (call == NULL) return;
        hub_queue_push(&actor->running, call);
        hub_task_send(hub, call, actor->worker);
    }
}

// --- the end of an actor -----------------------------------------------------------------------------------

static void fail_calls(corral_hub *hub, hub_actor *actor, corral_status status)
{
    hub_task *call;
    while ((call = hub_queue_pop(&actor->running)) != NULL)
        hub_task_fail(hub, call, status, actor->why);
    while (actor->callers != NULL) {
        hub_caller *caller = actor->callers;
        if (caller->queue.first != NULL) {
            hub_task_fail(hub, caller->queue.first, status, actor->why); // takes it out of the queue
            continue;
        }
        actor->callers = caller->next;
        free(caller);
    }
}

// Everything that waits for it is told. It stays, as DEAD, for as long as somebody refers to it.
static void die(corral_hub *hub, hub_actor *actor, corral_status status, const char *why)
{
    if (actor->state == ACTOR_DEAD) return;
    if (actor->state == ACTOR_RESTARTING) hub->restarting--;
    hub_object *reference = actor->reference;
    hub_object_pin(reference);
    actor->state = ACTOR_DEAD;
    actor->worker = NULL;
    snprintf(actor->why, sizeof actor->why, "%s", why);
    fail_calls(hub, actor, status);
    hub_task *creation = actor->creation;
    actor->creation = NULL;
    hub_task_free(hub, creation);
    hub_object_fail(hub, reference, status, why);
    if (actor->detached) {
        actor->detached = false;
        hub_object_unpin(hub, reference);
    }
    hub_object_unpin(hub, reference);
}

static void detach_worker(corral_hub *hub, hub_actor *actor, bool gently)
{
    hub_worker *worker = actor->worker;
    if (worker == NULL) return;
    actor->worker = NULL;
    worker->actor = NULL;
    worker->task = NULL;
    if (gently)
        hub_worker_stop(hub, worker);
    else
        hub_worker_kill(hub, worker);
}

void hub_actor_unreferenced(corral_hub *hub, hub_actor *actor)
{
    hub_object *reference = actor->reference;
    detach_worker(hub, actor, actor->state == ACTOR_ALIVE);
    if (actor->state != ACTOR_DEAD) {
        hub_task_withdraw(hub, actor->creation);
        die(hub, actor, CORRAL_ERROR_LOST, "nobody refers to it any more");
        return; // die() has brought us here again
    }
    reference->actor = NULL;
    id_map_remove(&hub->actors, actor->id);
    free(actor);
    hub_object_free_if_unused(hub, reference);
}

void hub_actor_creation_failed(corral_hub *hub, hub_actor *actor, corral_status status, const char *why)
{
    detach_worker(hub, actor, true);
    die(hub, actor, status, why);
}

void hub_actor_kill(corral_hub *hub, hub_actor *actor, bool may_restart)
{
    if (actor->state == ACTOR_DEAD) return;
    actor->killed = actor->killed || !may_restart;
    if (actor->worker != NULL) {
        hub_worker_kill(hub, actor->worker); // its exit goes on from here
        return;
    }
    if (!actor->killed) return;
    hub_task_withdraw(hub, actor->creation);
    char why[HUB_TEXT_SIZE];
    snprintf(why, sizeof why, "actor \"%s\" was killed on request", actor->class_name);
    die(hub, actor, CORRAL_ERROR_LOST, why);
}

// --- beginning ---------------------------------------------------------------------------------------------

hub_actor *hub_actor_named(const corral_hub *hub, const char *name)
{
    for (size_t i = 0; name[0] != '\0' && i < hub->actors.capacity; i++) {
        hub_actor *actor = hub->actors.slots[i].thing;
        if (actor != NULL && actor->state != ACTOR_DEAD && !actor->killed && strcmp(actor->name, name) == 0)
            return actor;
    }
    return NULL;
}

corral_status hub_actor_create(corral_hub *hub, hub_task *creation)
{
    const spec *s = &creation->spec;
    if (hub_actor_named(hub, s->label) != NULL)
        return corral_fail(CORRAL_ERROR_EXISTS, "a living actor has the name \"%s\" already", s->label);
    hub_actor *actor = calloc(1, sizeof *actor);
    if (actor == NULL || id_map_put(&hub->actors, creation->id, actor) != CORRAL_OK) {
        free(actor);
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for one actor more");
    }
    actor->id = creation->id;
    actor->reference = creation->result;
    actor->reference->actor = actor;
    actor->job = creation->job;
    actor->creation = creation;
    actor->restarts_left = s->head.retries;
    actor->detached = s->head.detached != 0;
    snprintf(actor->name, sizeof actor->name, "%s", s->label);
    snprintf(actor->class_name, sizeof actor->class_name, "%s", s->name);
    creation->actor = actor;
    if (actor->detached) hub_object_pin(actor->reference);
    return CORRAL_OK;
}

void hub_actor_started(hub_actor *actor, hub_worker *worker)
{
    actor->state = ACTOR_STARTING;
    actor->worker = worker;
    worker->actor = actor;
}

void hub_actor_created(corral_hub *hub, hub_actor *actor, const corral_message *message, const uint8_t *tail)
{
    hub_worker *worker = actor->worker;
    worker->task = NULL;
    if (message->code != CORRAL_OK) {
        char why[HUB_TEXT_SIZE];
        snprintf(why, sizeof why, "%.*s", (int)message->tail_size, (const char *)tail);
        const bool known = message->code < CORRAL_STATUS_COUNT;
        hub_actor_creation_failed(hub, actor, known ? (corral_status)message->code : CORRAL_ERROR_CORRUPT,
                                  why);
        return;
    }
    actor->state = ACTOR_ALIVE;
    actor->creation->state = TASK_WAITING; // for a restart
    hub_object_resolve(hub, actor->reference, worker->client, message, tail);
    if (!actor->killed) send_calls(hub, actor);
}

// --- calls -------------------------------------------------------------------------------------------------

void hub_actor_enqueue(corral_hub *hub, hub_task *call)
{
    hub_actor *actor = id_map_find(&hub->actors, call->spec.head.actor);
    hub_caller *caller =
        actor != NULL && actor->state != ACTOR_DEAD ? caller_of(actor, number_of(call)) : NULL;
    if (caller == NULL) {
        char why[HUB_TEXT_SIZE] = "the actor is gone";
        if (actor != NULL) snprintf(why, sizeof why, "%s", actor->why);
        // An actor that could not be created gives its calls the reason that it has itself.
        const bool failed = actor != NULL && actor->reference->state == HUB_ERROR;
        hub_task_fail(hub, call, failed ? actor->reference->status : CORRAL_ERROR_LOST, why);
        return;
    }
    call->actor = actor;
    hub_object_pin(actor->reference);
    hub_queue_push(&caller->queue, call);
    actor->waiting++;
    if (call->missing == 0) hub_task_ready(hub, call);
}

void hub_actor_dispatch(corral_hub *hub, hub_actor *actor)
{
    send_calls(hub, actor);
}

bool hub_actor_withdraw(hub_actor *actor, hub_task *call)
{
    for (hub_caller *caller = actor != NULL ? actor->callers : NULL; caller != NULL; caller = caller->next)
        if (caller->number == number_of(call) && hub_queue_remove(&caller->queue, call)) {
            actor->waiting--;
            return true;
        }
    return false;
}

bool hub_actor_call_done(corral_hub *hub, hub_actor *actor, uint64_t id, const corral_message *message,
                         const uint8_t *tail)
{
    hub_task *call = actor->running.first;
    while (call != NULL && call->id != id)
        call = call->next;
    if (call == NULL) return false;
    hub_queue_remove(&actor->running, call);
    actor->crashes_in_row = 0;
    hub->tasks_ended++;
    hub_object *result = call->result, *reference = actor->reference;
    hub_client *client = actor->worker->client;
    hub_object_pin(result);
    hub_task_free(hub, call);
    hub_object_resolve(hub, result, client, message, tail);
    hub_object_unpin(hub, result);
    send_calls(hub, actor);
    hub_object_unpin(hub, reference); // the call's; may be the end of the actor
    return true;
}

// --- its process -------------------------------------------------------------------------------------------

static int64_t delay_after(uint32_t crashes)
{
    int64_t delay = FIRST_DELAY;
    for (uint32_t i = 1; i < crashes && delay < LAST_DELAY; i++)
        delay *= 2;
    return delay < LAST_DELAY ? delay : LAST_DELAY;
}

// Sorts what the process was sent into what may have begun and what has not, and puts back what may run.
static void recall(corral_hub *hub, hub_actor *actor, const char *why)
{
    hub_queue sent = actor->running, back = {0};
    actor->running = (hub_queue){0};
    const size_t begun = actor->creation->spec.head.concurrency;
    hub_task *call;
    for (size_t i = 0; (call = hub_queue_pop(&sent)) != NULL; i++) {
        const bool may_have_begun = i < begun;
        if (call->owner == NULL) {
            hub_task_fail(hub, call, CORRAL_ERROR_LOST, "the process that asked for it has ended");
            continue;
        }
        if (may_have_begun && (call->retries_left == 0 || call->cancelled)) {
            hub_task_fail(hub, call, call->cancelled ? CORRAL_ERROR_CANCELLED : CORRAL_ERROR_LOST, why);
            continue;
        }
        if (may_have_begun) {
            call->retries_left--;
            call->attempt++;
        }
        hub_queue_push_front(&back, call); // backwards, so that the first is put back last
    }
    while ((call = hub_queue_pop(&back)) != NULL) {
        hub_caller *caller = caller_of(actor, number_of(call));
        call->state = TASK_READY;
        call->worker = NULL;
        if (caller == NULL) {
            hub_task_fail(hub, call, CORRAL_ERROR_NO_MEMORY, "the agent has no memory to keep this call");
            continue;
        }
        hub_queue_push_front(&caller->queue, call);
        actor->waiting++;
    }
}

void hub_actor_process_gone(corral_hub *hub, hub_actor *actor, const char *how)
{
    char why[HUB_TEXT_SIZE];
    hub_object *reference = actor->reference;
    hub_object_pin(reference); // failing calls may be what refers to it last
    actor->worker = NULL;
    snprintf(why, sizeof why, "actor \"%s\": its process %s%s", actor->class_name,
             actor->killed ? "was killed on request" : how,
             actor->killed || actor->restarts_left > 0 ? "" : ", and it has no restarts left");
    if (actor->killed || actor->restarts_left == 0) {
        die(hub, actor, CORRAL_ERROR_LOST, why);
    } else {
        if (actor->restarts_left != UINT32_MAX) actor->restarts_left--;
        // One that ends while it has nothing to do does not end by what it does.
        if (actor->state == ACTOR_ALIVE && actor->running.count == 0) actor->crashes_in_row = 0;
        actor->restarts++;
        actor->state = ACTOR_RESTARTING;
        hub->restarting++;
        actor->creation->state = TASK_WAITING;
        actor->creation->attempt++;
        actor->restart_at_ns = corral_now_ns() + delay_after(++actor->crashes_in_row);
        recall(hub, actor, why);
    }
    hub_object_unpin(hub, reference);
}

void hub_actors_turn(corral_hub *hub, int64_t now_ns)
{
    for (size_t i = 0; hub->restarting > 0 && i < hub->actors.capacity; i++) {
        hub_actor *actor = hub->actors.slots[i].thing;
        if (actor == NULL || actor->state != ACTOR_RESTARTING || actor->restart_at_ns > now_ns) continue;
        actor->state = ACTOR_WAITING;
        hub->restarting--;
        hub_task_requeue(hub, actor->creation);
    }
}

int64_t hub_actors_next_wake(const corral_hub *hub)
{
    int64_t next = INT64_MAX;
    for (size_t i = 0; hub->restarting > 0 && i < hub->actors.capacity; i++) {
        const hub_actor *actor = hub->actors.slots[i].thing;
        if (actor != NULL && actor->state == ACTOR_RESTARTING && actor->restart_at_ns < next)
            next = actor->restart_at_ns;
    }
    return next;
}
