// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Clients: drivers and workers. A client that says what makes no sense is ended, with a line in the log;
/// what it asked for is its loss alone. Nothing here waits for a client: what its socket does not take is
/// queued, and since clients are sent only what they asked for, the queue is bounded by that.
#include "hub_private.h"

#include "corral/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static int64_t pid_of(int socket)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.pid : 0;
}

corral_status hub_client_open(corral_hub *hub, int socket, hub_client **out_client)
{
    hub_client *client = calloc(1, sizeof *client);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = client};
    if (client == NULL || epoll_ctl(hub->epoll, EPOLL_CTL_ADD, socket, &event) != 0) {
        free(client);
        close(socket);
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for one client more");
    }
    client->socket = socket;
    client->number = ++hub->last_client;
    client->pid = pid_of(socket);
    client->next = hub->clients;
    hub->clients = client;
    *out_client = client;
    return CORRAL_OK;
}

// --- sending -----------------------------------------------------------------------------------------------

static void watch_for_room(corral_hub *hub, hub_client *client, bool wanted)
{
    if (client->waiting == wanted) return;
    client->waiting = wanted;
    struct epoll_event event = {.events = wanted ? EPOLLIN | EPOLLOUT : EPOLLIN, .data.ptr = client};
    epoll_ctl(hub->epoll, EPOLL_CTL_MOD, client->socket, &event);
}

static void free_out(corral_hub *hub, hub_out *out)
{
    if (out->object != NULL) hub_object_unpin(hub, out->object);
    if (out->fd >= 0) close(out->fd);
    free(out->tail);
    free(out);
}

static void queue_out(corral_hub *hub, hub_client *client, const corral_message *message, const void *tail,
                      hub_object *object, int fd)
{
    hub_out *out = calloc(1, sizeof *out);
    if (out == NULL) {
        client->doom = "no memory for what it is owed";
        return;
    }
    out->message = *message;
    out->fd = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
    if (object != NULL) {
        out->object = object;
        hub_object_pin(object);
    } else if (message->tail_size > 0) {
        out->tail = malloc(message->tail_size);
        if (out->tail != NULL) memcpy(out->tail, tail, message->tail_size);
    }
    if ((fd >= 0 && out->fd < 0) || (object == NULL && message->tail_size > 0 && out->tail == NULL)) {
        free_out(hub, out);
        client->doom = "no memory for what it is owed";
        return;
    }
    if (client->out_last != NULL)
        client->out_last->next = out;
    else
        client->out_first = out;
    client->out_last = out;
    watch_for_room(hub, client, true);
}

static void send_or_queue(corral_hub *hub, hub_client *client, const corral_message *message,
                          const void *tail, hub_object *object, int fd)
{
    if (client == NULL || client->ended) return;
    corral_status status = CORRAL_ERROR_FULL;
    if (client->out_first == NULL)
        status = corral_message_send(client->socket, message, tail, &fd, fd >= 0 ? 1 : 0, 0);
    // A client that is gone is seen by its end of file.
    if (status == CORRAL_ERROR_FULL) queue_out(hub, client, message, tail, object, fd);
}

void hub_client_send(corral_hub *hub, hub_client *client, const corral_message *message, const void *tail)
{
    send_or_queue(hub, client, message, tail, NULL, -1);
}

void hub_client_send_value(corral_hub *hub, hub_client *client, hub_object *object, bool argument)
{
    if (client == NULL || client->ended) return;
    corral_message message = {.kind = CORRAL_MESSAGE_VALUE,
                              .tag = object->id,
                              .version = argument,
                              .length = object->size,
                              .code = object->status};
    int fd = -1;
    if (object->state == HUB_SHARED) {
        message.generation = object->segment->id;
        message.offset = object->offset;
        if (object->segment->writer != client && !hub_list_has(&client->mapped, object->segment)) {
            fd = object->segment->fd;
            if (hub_list_add(&client->mapped, object->segment) != CORRAL_OK) {
                client->doom = "no memory for what it has mapped";
                return;
            }
        }
    } else {
        message.tail_size = (uint32_t)object->size;
    }
    send_or_queue(hub, client, &message, object->bytes, object, fd);
}

void hub_client_flush(corral_hub *hub, hub_client *client)
{
    while (client->out_first != NULL) {
        hub_out *out = client->out_first;
        const void *tail = out->object != NULL ? out->object->bytes : out->tail;
        if (corral_message_send(client->socket, &out->message, tail, &out->fd, out->fd >= 0 ? 1 : 0, 0) ==
            CORRAL_ERROR_FULL)
            return;
        client->out_first = out->next;
        if (client->out_first == NULL) client->out_last = NULL;
        free_out(hub, out);
    }
    watch_for_room(hub, client, false);
}

// --- joining -----------------------------------------------------------------------------------------------

void hub_client_admit(corral_hub *hub, hub_client *client)
{
    const size_t library = strlen(client->job->library) + 1, size = sizeof hub->pool + library;
    uint8_t *tail = malloc(size);
    if (tail == NULL) {
        client->doom = "no memory to admit it";
        return;
    }
    memcpy(tail, &hub->pool, sizeof hub->pool);
    memcpy(tail + sizeof hub->pool, client->job->library, library);
    const corral_message message = {.kind = CORRAL_MESSAGE_ADMITTED,
                                    .tail_size = (uint32_t)size,
                                    .tag = client->number,
                                    .length = hub->store_limit};
    hub_client_send(hub, client, &message, tail);
    free(tail);
}

static corral_status join(corral_hub *hub, hub_client *client, const char *tail, size_t size)
{
    const size_t first = strnlen(tail, size);
    if (client->job != NULL || size < 2 || tail[size - 1] != '\0' || first + 1 >= size)
        return corral_fail(CORRAL_ERROR_INVALID, "a JOIN that makes no sense");
    hub_job *job = calloc(1, sizeof *job);
    if (job == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a job");
    job->program = strdup(tail);
    job->library = strdup(tail + first + 1);
    job->id = ++hub->last_job;
    job->driver = client;
    job->driver_pid = client->pid;
    job->next = hub->jobs;
    hub->jobs = job;
    client->job = job;
    if (job->program == NULL || job->library == NULL)
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a job");
    hub_client_admit(hub, client);
    return CORRAL_OK;
}

// --- what clients say --------------------------------------------------------------------------------------

static corral_status take_ids(corral_hub *hub, hub_client *client, const corral_message *message,
                              const uint8_t *tail)
{
    if (message->tail_size % sizeof(uint64_t) != 0)
        return corral_fail(CORRAL_ERROR_CORRUPT, "a list that is cut");
    for (size_t at = 0; at < message->tail_size; at += sizeof(uint64_t)) {
        uint64_t id;
        memcpy(&id, tail + at, sizeof id);
        hub_object *object = hub_object_find(hub, id);
        if (message->kind == CORRAL_MESSAGE_DROP) {
            if (object != NULL) hub_object_drop(hub, object, client);
        } else if (object == NULL) { // it was not entitled to ask
            const corral_message gone = {.kind = CORRAL_MESSAGE_VALUE, .tag = id, .code = CORRAL_ERROR_LOST};
            hub_client_send(hub, client, &gone, NULL);
        } else if (object->state != HUB_PENDING) {
            hub_client_send_value(hub, client, object, false);
        } else if (!hub_list_has(&object->wanting, client)) {
            const corral_status status = hub_list_add(&object->wanting, client);
            if (status != CORRAL_OK) return status;
        }
    }
    return CORRAL_OK;
}

static corral_status on_hold(corral_hub *hub, hub_client *client, uint64_t id)
{
    hub_object *object = hub_object_find(hub, id);
    if (object == NULL || hub_list_has(&object->holders, client)) return CORRAL_OK;
    return hub_list_add(&object->holders, client);
}

static corral_status on_put(corral_hub *hub, hub_client *client, const corral_message *message,
                            const uint8_t *tail)
{
    if (message->tag >> HUB_ID_SHIFT != client->number || hub_object_find(hub, message->tag) != NULL)
        return corral_fail(CORRAL_ERROR_INVALID, "an object by a number that is not its own");
    hub_object *object = NULL;
    corral_status status = hub_object_create(hub, message->tag, "put", &object);
    if (status != CORRAL_OK) return status;
    status = hub_list_add(&object->holders, client);
    hub_object_resolve(hub, object, client, message, tail);
    return status;
}

static void on_cancel(corral_hub *hub, hub_client *client, const corral_message *message)
{
    hub_object *object = hub_object_find(hub, message->tag);
    if (object != NULL && object->task != NULL && object->task->job == client->job)
        hub_task_cancel(hub, object->task, message->code != 0);
}

static void on_find(corral_hub *hub, hub_client *client, const corral_message *message, const uint8_t *tail)
{
    char name[CORRAL_NAME_MAX + 1] = "";
    if (message->tail_size <= CORRAL_NAME_MAX) memcpy(name, tail, message->tail_size);
    hub_actor *actor = hub_actor_named(hub, name);
    corral_message answer = {.kind = CORRAL_MESSAGE_FOUND, .tag = message->tag};
    corral_status status =
        actor == NULL ? corral_fail(CORRAL_ERROR_NOT_FOUND, "no living actor has the name \"%s\"", name)
                      : CORRAL_OK;
    if (status == CORRAL_OK) status = on_hold(hub, client, actor->id);
    if (status == CORRAL_OK) answer.offset = actor->id;
    answer.code = status;
    const char *why = status == CORRAL_OK ? "" : corral_last_error();
    answer.tail_size = (uint32_t)strlen(why);
    hub_client_send(hub, client, &answer, why);
}

static void on_kill(corral_hub *hub, const corral_message *message)
{
    hub_actor *actor = id_map_find(&hub->actors, message->tag);
    if (actor != NULL) hub_actor_kill(hub, actor, message->code != 0);
}

static corral_status take_message(corral_hub *hub, hub_client *client, const corral_message *message,
                                  int *fds)
{
    const uint8_t *tail = hub->buffer;
    if (client->job == NULL && message->kind != CORRAL_MESSAGE_JOIN)
        return corral_fail(CORRAL_ERROR_INVALID, "a driver that does not begin with JOIN");
    switch (message->kind) {
    case CORRAL_MESSAGE_JOIN:
        return join(hub, client, (const char *)tail, message->tail_size);
    case CORRAL_MESSAGE_SUBMIT:
        return hub_task_submit(hub, client, message, tail);
    case CORRAL_MESSAGE_DONE:
        hub_task_done(hub, client, message, tail);
        return CORRAL_OK;
    case CORRAL_MESSAGE_PUT:
        return on_put(hub, client, message, tail);
    case CORRAL_MESSAGE_WANT:
    case CORRAL_MESSAGE_DROP:
        return take_ids(hub, client, message, tail);
    case CORRAL_MESSAGE_HOLD:
        return on_hold(hub, client, message->tag);
    case CORRAL_MESSAGE_RESERVE:
        hub_store_reserve(hub, client, message);
        return CORRAL_OK;
    case CORRAL_MESSAGE_SEGMENT: {
        const int fd = fds[0];
        fds[0] = -1;
        return hub_store_segment(hub, client, message->tag, fd);
    }
    case CORRAL_MESSAGE_UNSEGMENT:
        hub_store_unsegment(hub, client, message->tag);
        return CORRAL_OK;
    case CORRAL_MESSAGE_BLOCKED:
        if (client->worker != NULL) hub_worker_blocked(hub, client->worker);
        return CORRAL_OK;
    case CORRAL_MESSAGE_UNBLOCKED:
        if (client->worker != NULL) hub_worker_unblocked(hub, client->worker);
        return CORRAL_OK;
    case CORRAL_MESSAGE_CANCEL:
        on_cancel(hub, client, message);
        return CORRAL_OK;
    case CORRAL_MESSAGE_KILL:
        on_kill(hub, message);
        return CORRAL_OK;
    case CORRAL_MESSAGE_FIND:
        on_find(hub, client, message, tail);
        return CORRAL_OK;
    default:
        return corral_fail(CORRAL_ERROR_INVALID, "a message of kind %u", message->kind);
    }
}

void hub_client_receive(corral_hub *hub, hub_client *client, size_t limit)
{
    for (size_t i = 0; i < limit && !client->ended; i++) {
        corral_message message;
        int fds[CORRAL_MESSAGE_FDS_MAX];
        corral_status status =
            corral_message_receive(client->socket, &message, hub->buffer, CORRAL_MESSAGE_TAIL_MAX, fds, 0);
        if (status == CORRAL_ERROR_EMPTY) return;
        if (status == CORRAL_OK) {
            status = take_message(hub, client, &message, fds);
            for (int k = 0; k < CORRAL_MESSAGE_FDS_MAX; k++)
                if (fds[k] >= 0) close(fds[k]);
            if (status != CORRAL_OK)
                corral_log(CORRAL_LOG_WARNING, "client %u (pid %lld) is dropped: %s", client->number,
                           (long long)client->pid, corral_last_error());
        }
        if (status != CORRAL_OK) hub_client_end(hub, client, corral_last_error());
    }
}

// --- ending ------------------------------------------------------------------------------------------------

static bool concerns(const hub_object *object, const hub_client *client)
{
    return hub_list_has(&object->holders, client) || hub_list_has(&object->wanting, client) ||
           (object->task != NULL && object->task->owner == client);
}

// What it held is let go; what was to be made for it and has not begun is not made.
static void forget(corral_hub *hub, hub_client *client, hub_object *object)
{
    hub_task *task = object->task;
    hub_list_remove(&object->wanting, client);
    if (task != NULL && task->owner == client) {
        task->owner = NULL;
        if (task->state != TASK_RUNNING && task->spec.head.kind != SPEC_SPAWN) {
            hub_object_pin(object);
            char why[HUB_TEXT_SIZE];
            snprintf(why, sizeof why, "%s: process %lld, which asked for it, ended before it began",
                     object->made_by, (long long)client->pid);
            hub_task_fail(hub, task, CORRAL_ERROR_LOST, why);
            hub_object_drop(hub, object, client);
            hub_object_unpin(hub, object);
            return;
        }
    }
    hub_object_drop(hub, object, client);
}

static void forget_all(corral_hub *hub, hub_client *client)
{
    uint64_t *ids = calloc(hub->objects.count + 1, sizeof *ids);
    size_t count = 0;
    for (size_t i = 0; ids != NULL && i < hub->objects.capacity; i++) {
        const hub_object *object = hub->objects.slots[i].thing;
        if (object != NULL && concerns(object, client)) ids[count++] = object->id;
    }
    for (size_t i = 0; i < count; i++) { // one may take others along
        hub_object *object = hub_object_find(hub, ids[i]);
        if (object != NULL) forget(hub, client, object);
    }
    free(ids);
}

void hub_client_end(corral_hub *hub, hub_client *client, const char *reason)
{
    if (client->ended) return;
    client->ended = true;
    corral_log(CORRAL_LOG_DEBUG, "client %u: %s", client->number, reason);
    epoll_ctl(hub->epoll, EPOLL_CTL_DEL, client->socket, NULL);
    close(client->socket);
    client->socket = -1;
    if (client->worker != NULL) {
        client->worker->client = NULL;
        hub_worker_kill(hub, client->worker);
        client->worker = NULL;
    }
    if (client->job != NULL && client->job->driver == client) hub_job_end(hub, client->job);
    forget_all(hub, client);
    hub_store_writer_gone(hub, client);
    hub->dispatching = true;
}

void hub_client_free(corral_hub *hub, hub_client *client)
{
    while (client->out_first != NULL) {
        hub_out *out = client->out_first;
        client->out_first = out->next;
        free_out(hub, out);
    }
    free(client->mapped.things);
    free(client);
}
