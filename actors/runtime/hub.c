// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "hub_private.h"

#include "corral/actors/host_memory.h"

#include "corral/base/clock.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { TURN_EVENTS = 64, STORE_PERCENT = 30 };

// --- lists and queues --------------------------------------------------------------------------------------

corral_status hub_list_add(hub_list *list, void *thing)
{
    if (list->count == list->capacity) {
        const size_t capacity = list->capacity == 0 ? 2 : list->capacity * 2;
        void **things = realloc(list->things, capacity * sizeof *things);
        if (things == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a longer list");
        list->things = things;
        list->capacity = capacity;
    }
    list->things[list->count++] = thing;
    return CORRAL_OK;
}

bool hub_list_has(const hub_list *list, const void *thing)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->things[i] == thing) return true;
    return false;
}

bool hub_list_remove(hub_list *list, const void *thing)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->things[i] != thing) continue;
        list->things[i] = list->things[--list->count];
        return true;
    }
    return false;
}

void hub_queue_push(hub_queue *queue, hub_task *task)
{
    task->next = NULL;
    if (queue->last != NULL)
        queue->last->next = task;
    else
        queue->first = task;
    queue->last = task;
    queue->count++;
}

void hub_queue_push_front(hub_queue *queue, hub_task *task)
{
    task->next = queue->first;
    queue->first = task;
    if (queue->last == NULL) queue->last = task;
    queue->count++;
}

hub_task *hub_queue_pop(hub_queue *queue)
{
    hub_task *task = queue->first;
    if (task == NULL) return NULL;
    queue->first = task->next;
    if (queue->first == NULL) queue->last = NULL;
    queue->count--;
    task->next = NULL;
    return task;
}

bool hub_queue_remove(hub_queue *queue, const hub_task *task)
{
    hub_task *before = NULL;
    for (hub_task *t = queue->first; t != NULL; before = t, t = t->next) {
        if (t != task) continue;
        if (before != NULL)
            before->next = t->next;
        else
            queue->first = t->next;
        if (queue->last == t) queue->last = before;
        queue->count--;
        t->next = NULL;
        return true;
    }
    return false;
}

// --- beginning and end -------------------------------------------------------------------------------------

static size_t default_store(void)
{
    const uint64_t available = corral_host_memory_available();
    if (available == UINT64_MAX) return (size_t)1 << 30;
    return (size_t)(available / 100 * STORE_PERCENT);
}

corral_status corral_hub_create(const corral_hub_config *config, corral_hub **out_hub)
{
    corral_hub *hub = calloc(1, sizeof *hub);
    if (hub == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a hub");
    hub->spawner = config->spawner;
    hub->store_limit = config->store_bytes > 0 ? config->store_bytes : default_store();
    hub->worker_program = strdup(config->worker != NULL ? config->worker : "");
    hub->epoll = epoll_create1(EPOLL_CLOEXEC);
    hub->buffer = aligned_alloc(SPEC_ALIGNMENT, CORRAL_MESSAGE_TAIL_MAX);
    corral_status status =
        resource_pool_init(&hub->pool, config->cpus, config->gpus, config->resources, config->resource_count);
    if (hub->worker_program == NULL || hub->epoll < 0 || hub->buffer == NULL)
        status = corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a hub");
    if (status != CORRAL_OK) {
        corral_hub_destroy(hub);
        return status;
    }
    *out_hub = hub;
    return CORRAL_OK;
}

static void sweep(corral_hub *hub)
{
    for (hub_client *client = hub->clients; client != NULL; client = client->next)
        if (client->doom != NULL) hub_client_end(hub, client, client->doom);
    for (hub_client **link = &hub->clients; *link != NULL;) {
        hub_client *client = *link;
        if (!client->ended) {
            link = &client->next;
            continue;
        }
        *link = client->next;
        hub_client_free(hub, client);
    }
}

// What is left when all clients are gone: what detached actors hold, and processes whose exit nobody waits
// for.
static void forget_all(corral_hub *hub)
{
    while (hub->workers != NULL) {
        hub_worker *worker = hub->workers;
        hub->workers = worker->next;
        free(worker);
    }
    for (size_t i = 0; i < hub->actors.capacity; i++) {
        hub_actor *actor = hub->actors.slots[i].thing;
        if (actor == NULL) continue;
        while (actor->callers != NULL) {
            hub_caller *caller = actor->callers;
            actor->callers = caller->next;
            free(caller);
        }
        free(actor);
    }
    for (size_t i = 0; i < hub->objects.capacity; i++) {
        hub_object *object = hub->objects.slots[i].thing;
        if (object == NULL) continue;
        if (object->task != NULL) {
            free(object->task->bytes);
            free(object->task);
        }
        free(object->bytes);
        free(object->holders.things);
        free(object->wanting.things);
        free(object->waiting.things);
        free(object);
    }
    for (size_t i = 0; i < hub->segments.capacity; i++) {
        hub_segment *segment = hub->segments.slots[i].thing;
        if (segment == NULL) continue;
        if (segment->fd >= 0) close(segment->fd);
        free(segment);
    }
    while (hub->shapes != NULL) {
        hub_shape *shape = hub->shapes;
        hub->shapes = shape->next;
        free(shape);
    }
    while (hub->jobs != NULL) {
        hub_job *job = hub->jobs;
        hub->jobs = job->next;
        free(job->program);
        free(job->library);
        free(job);
    }
    id_map_finish(&hub->actors);
    id_map_finish(&hub->objects);
    id_map_finish(&hub->segments);
}

void corral_hub_destroy(corral_hub *hub)
{
    if (hub == NULL) return;
    for (hub_worker *worker = hub->workers; worker != NULL; worker = worker->next)
        hub_worker_kill(hub, worker);
    for (hub_client *client = hub->clients; client != NULL; client = client->next)
        hub_client_end(hub, client, "the agent ends");
    sweep(hub);
    forget_all(hub);
    if (hub->epoll >= 0) close(hub->epoll);
    free(hub->worker_program);
    free(hub->buffer);
    free(hub);
}

// --- the loop's side ---------------------------------------------------------------------------------------

int corral_hub_fd(const corral_hub *hub)
{
    return hub->epoll;
}

corral_status corral_hub_add_driver(corral_hub *hub, int socket)
{
    hub_client *client;
    return hub_client_open(hub, socket, &client);
}

void corral_hub_turn(corral_hub *hub)
{
    struct epoll_event events[TURN_EVENTS];
    const int count = epoll_wait(hub->epoll, events, TURN_EVENTS, 0);
    for (int i = 0; i < count; i++) {
        hub_client *client = events[i].data.ptr;
        if (!client->ended && (events[i].events & EPOLLOUT) != 0) hub_client_flush(hub, client);
        if (!client->ended && (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0)
            hub_client_receive(hub, client, HUB_TURN_MESSAGES);
    }
    const int64_t now = corral_now_ns();
    hub_actors_turn(hub, now);
    hub_store_turn(hub, now);
    hub_workers_turn(hub, now);
    if (hub->dispatching) hub_dispatch(hub);
    sweep(hub);
}

int64_t corral_hub_next_wake_ns(const corral_hub *hub)
{
    const int64_t wakes[] = {hub_actors_next_wake(hub), hub_store_next_wake(hub), hub_workers_next_wake(hub)};
    int64_t next = INT64_MAX;
    for (size_t i = 0; i < sizeof wakes / sizeof wakes[0]; i++)
        if (wakes[i] < next) next = wakes[i];
    return next;
}
