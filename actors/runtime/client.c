// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "client_private.h"

#include "corral/actors/hub.h"
#include "corral/base/clock.h"
#include "corral/base/threads.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SHORT_WAIT    CORRAL_MILLISECOND // after which others are told that we wait
#define ADMIT_TIMEOUT (10 * CORRAL_SECOND)

// --- beginning and end -------------------------------------------------------------------------------------

corral_client_config corral_client_config_default(void)
{
    return (corral_client_config){.store_timeout_ns = 10 * CORRAL_SECOND};
}

void *client_aligned(size_t size)
{
    const size_t rounded = (size + SPEC_ALIGNMENT - 1) / SPEC_ALIGNMENT * SPEC_ALIGNMENT;
    return rounded < size ? NULL : aligned_alloc(SPEC_ALIGNMENT, rounded > 0 ? rounded : SPEC_ALIGNMENT);
}

corral_status client_create(corral_client **out_client)
{
    corral_client *client = calloc(1, sizeof *client);
    if (client == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a client");
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&client->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&client->lock, NULL);
    client->socket = -1;
    client->buffer = client_aligned(CORRAL_MESSAGE_TAIL_MAX);
    client->send_buffer = client_aligned(CORRAL_MESSAGE_TAIL_MAX);
    client->dropped = calloc(CLIENT_DROPS_MAX, sizeof *client->dropped);
    if (client->buffer == NULL || client->send_buffer == NULL || client->dropped == NULL) {
        client_free(client);
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a client");
    }
    *out_client = client;
    return CORRAL_OK;
}

void client_free(corral_client *client)
{
    if (client->socket >= 0) close(client->socket);
    for (size_t i = 0; i < client->refs.capacity; i++) {
        corral_ref *ref = client->refs.slots[i].thing;
        if (ref == NULL) continue;
        free(ref->owned);
        free(ref->text);
        free(ref);
    }
    id_map_finish(&client->refs);
    id_map_finish(&client->local_actors);
    client_store_finish(client);
    while (client->run_first != NULL) {
        client_run *run = client->run_first;
        client->run_first = run->next;
        free(run->bytes);
        free(run);
    }
    pthread_mutex_destroy(&client->lock);
    pthread_cond_destroy(&client->changed);
    free(client->buffer);
    free(client->send_buffer);
    free(client->dropped);
    free(client->library_path);
    free(client->failure);
    free(client);
}

static void end_local_actors(corral_client *client)
{
    for (size_t i = 0; i < client->local_actors.capacity; i++) {
        corral_ref *actor = client->local_actors.slots[i].thing;
        if (actor != NULL) local_actor_end(actor, "its client was closed");
    }
}

void corral_client_close(corral_client *client)
{
    if (client == NULL || client->worker) return;
    end_local_actors(client);
    if (client->socket >= 0) close(client->socket); // the job ends with it
    client->socket = -1;
    if (client->on_close != NULL) client->on_close(client->close_context);
    client_free(client);
}

static bool has_number(void *context)
{
    return ((const corral_client *)context)->number != 0;
}

static char *own_program(void)
{
    char path[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length < 0) return NULL;
    path[length] = '\0';
    return strdup(path);
}

static corral_status say_join(corral_client *client, const corral_client_config *config)
{
    char *program = config->library_path != NULL ? strdup("") : own_program();
    char *library = config->library_path != NULL ? realpath(config->library_path, NULL) : strdup("");
    corral_status status = CORRAL_OK;
    char tail[2 * PATH_MAX + 2];
    if (program == NULL || library == NULL) {
        status = corral_fail_errno(CORRAL_ERROR_NOT_FOUND, errno, "the library %s",
                                   config->library_path != NULL ? config->library_path : "of this program");
    } else {
        const int size = snprintf(tail, sizeof tail, "%s%c%s", program, '\0', library) + 1;
        const corral_message join = {.kind = CORRAL_MESSAGE_JOIN, .tail_size = (uint32_t)size};
        status = client_send(client, &join, tail, -1);
    }
    free(program);
    free(library);
    return status;
}

static corral_status load_table(const corral_client_config *config, const corral_library **out_library)
{
    *out_library = config->library;
    if (config->library != NULL && config->library_path != NULL)
        return corral_fail(CORRAL_ERROR_INVALID, "a client has either a library or the path of one");
    if (config->library_path != NULL) return corral_library_open(config->library_path, out_library);
    if (config->library != NULL && config->library->abi != CORRAL_LIBRARY_ABI)
        return corral_fail(CORRAL_ERROR_VERSION, "this program's library says ABI %u, this is %d",
                           config->library->abi, CORRAL_LIBRARY_ABI);
    return CORRAL_OK;
}

corral_status corral_client_attach(int socket, const corral_client_config *config, corral_client **out_client)
{
    corral_client *client = NULL;
    corral_status status = client_create(&client);
    if (status != CORRAL_OK) {
        close(socket);
        return status;
    }
    client->socket = socket;
    client->store.timeout_ns = config->store_timeout_ns;
    status = load_table(config, &client->library);
    pthread_mutex_lock(&client->lock);
    if (status == CORRAL_OK) status = say_join(client, config);
    if (status == CORRAL_OK)
        status = client_wait(client, has_number, client, corral_now_ns() + ADMIT_TIMEOUT);
    pthread_mutex_unlock(&client->lock);
    if (status != CORRAL_OK) {
        client_free(client);
        return status;
    }
    *out_client = client;
    return CORRAL_OK;
}

void corral_client_on_close(corral_client *client, void (*on_close)(void *context), void *context)
{
    client->on_close = on_close;
    client->close_context = context;
}

corral_status corral_client_open_local(const corral_client_config *config, corral_client **out_client)
{
    corral_client *client = NULL;
    corral_status status = client_create(&client);
    if (status != CORRAL_OK) return status;
    client->local = true;
    client->number = 1;
    const double cpus = config->cpus > 0 ? config->cpus : corral_available_cores();
    status = load_table(config, &client->library);
    if (status == CORRAL_OK)
        status =
            resource_pool_init(&client->pool, cpus, config->gpus, config->resources, config->resource_count);
    if (status != CORRAL_OK) {
        client_free(client);
        return status;
    }
    *out_client = client;
    return CORRAL_OK;
}

// --- sending -----------------------------------------------------------------------------------------------

static void lose_hub(corral_client *client, const char *why)
{
    if (client->failure == NULL) {
        char text[256];
        snprintf(text, sizeof text, "the agent is gone (%s)", why);
        client->failure = strdup(text);
    }
    client->stopping = true;
    pthread_cond_broadcast(&client->changed);
}

static corral_status fail_lost(const corral_client *client)
{
    return corral_fail(CORRAL_ERROR_LOST, "%s",
                       client->failure != NULL ? client->failure : "the agent is gone");
}

corral_status client_send(corral_client *client, const corral_message *message, const void *tail, int fd)
{
    if (client->failure != NULL) return fail_lost(client);
    // The hub always reads, so this waits only while it is busy.
    const corral_status status = corral_message_send(client->socket, message, tail, &fd, fd >= 0 ? 1 : 0, -1);
    if (status == CORRAL_OK) return status;
    lose_hub(client, corral_last_error());
    return fail_lost(client);
}

void client_flush_drops(corral_client *client)
{
    if (client->drop_count == 0 || client->local) return;
    const corral_message drop = {.kind = CORRAL_MESSAGE_DROP,
                                 .tail_size = (uint32_t)(client->drop_count * sizeof *client->dropped)};
    const corral_status status = client_send(client, &drop, client->dropped, -1);
    (void)status; // a hub that is gone holds nothing
    client->drop_count = 0;
}

// --- receiving ---------------------------------------------------------------------------------------------

static void take_admitted(corral_client *client, const corral_message *message, const uint8_t *tail)
{
    if (message->tail_size <= sizeof client->pool || tail[message->tail_size - 1] != '\0') {
        lose_hub(client, "it admits us in a way that makes no sense");
        return;
    }
    memcpy(&client->pool, tail, sizeof client->pool);
    client->library_path = strdup((const char *)tail + sizeof client->pool);
    client->store.limit = message->length;
    client->number = (uint32_t)message->tag;
}

static void take_answer(corral_client *client, const corral_message *message, const uint8_t *tail)
{
    for (client_question *question = client->questions; question != NULL; question = question->next) {
        if (question->tag != message->tag) continue;
        question->answered = true;
        question->answer = *message;
        snprintf(question->text, sizeof question->text, "%.*s", (int)message->tail_size, (const char *)tail);
    }
}

static void take(corral_client *client, const corral_message *message, const uint8_t *tail, int fd)
{
    switch (message->kind) {
    case CORRAL_MESSAGE_ADMITTED:
        take_admitted(client, message, tail);
        break;
    case CORRAL_MESSAGE_VALUE:
        client_ref_take_value(client, message, tail, fd);
        return; // it has taken the descriptor over
    case CORRAL_MESSAGE_RUN:
        worker_take_run(client, message, tail);
        break;
    case CORRAL_MESSAGE_CANCEL:
        worker_cancel(client, message->tag);
        break;
    case CORRAL_MESSAGE_RESERVED:
    case CORRAL_MESSAGE_FOUND:
        take_answer(client, message, tail);
        break;
    case CORRAL_MESSAGE_FREED:
        client_store_freed(client, message->generation, message->offset, message->length);
        break;
    case CORRAL_MESSAGE_TRIM:
        client_store_trim(client, 0);
        break;
    case CORRAL_MESSAGE_UNSEGMENT:
        client_store_unmap(client, message->tag);
        break;
    case CORRAL_MESSAGE_RESUME:
        client->resumed = true;
        break;
    case CORRAL_MESSAGE_STOP:
        client->stopping = true;
        break;
    default:
        lose_hub(client, "it says what we do not understand");
        break;
    }
    if (fd >= 0) close(fd);
}

// One message; the lock is held, and let go while we wait. False: nothing came.
static bool receive(corral_client *client, int64_t timeout_ns)
{
    corral_message message;
    int fds[CORRAL_MESSAGE_FDS_MAX];
    client->leading = true;
    pthread_mutex_unlock(&client->lock);
    const corral_status status = corral_message_receive(client->socket, &message, client->buffer,
                                                        CORRAL_MESSAGE_TAIL_MAX, fds, timeout_ns);
    pthread_mutex_lock(&client->lock);
    client->leading = false;
    if (status == CORRAL_OK) {
        for (int i = 1; i < CORRAL_MESSAGE_FDS_MAX; i++)
            if (fds[i] >= 0) close(fds[i]);
        take(client, &message, client->buffer, fds[0]);
    } else if (status != CORRAL_ERROR_EMPTY) {
        lose_hub(client, corral_last_error());
    }
    if (client->waiting > 0) pthread_cond_broadcast(&client->changed); // its own news, or the lead
    return status == CORRAL_OK;
}

void client_poll(corral_client *client)
{
    while (!client->local && !client->leading && client->failure == NULL && receive(client, 0)) {
    }
}

// --- waiting -----------------------------------------------------------------------------------------------

int64_t client_deadline(int64_t timeout_ns)
{
    if (timeout_ns < 0) return -1;
    const int64_t now = corral_now_ns();
    return timeout_ns < INT64_MAX - now ? now + timeout_ns : -1;
}

static void wait_for_leader(corral_client *client, int64_t deadline_ns)
{
    client->waiting++;
    if (deadline_ns < 0) {
        pthread_cond_wait(&client->changed, &client->lock);
    } else {
        const struct timespec until = {.tv_sec = deadline_ns / CORRAL_SECOND,
                                       .tv_nsec = deadline_ns % CORRAL_SECOND};
        pthread_cond_timedwait(&client->changed, &client->lock, &until);
    }
    client->waiting--;
}

static corral_status wait_until(corral_client *client, bool (*condition)(void *context), void *context,
                                int64_t deadline_ns)
{
    while (!condition(context)) {
        if (client->failure != NULL) return fail_lost(client);
        const int64_t left = deadline_ns < 0 ? -1 : deadline_ns - corral_now_ns();
        if (deadline_ns >= 0 && left <= 0)
            return corral_fail(CORRAL_ERROR_TIMEOUT, "it is not there in time");
        if (client->leading)
            wait_for_leader(client, deadline_ns);
        else
            receive(client, left);
    }
    return CORRAL_OK;
}

static bool is_resumed(void *context)
{
    return ((const corral_client *)context)->resumed;
}

static void tell_blocked(corral_client *client)
{
    if (!client->lends || client->blocked) return;
    const corral_message blocked = {.kind = CORRAL_MESSAGE_BLOCKED};
    client->blocked = client_send(client, &blocked, NULL, -1) == CORRAL_OK;
}

// CPUs that were lent are asked back before we go on.
static void resume(corral_client *client)
{
    if (!client->blocked) return;
    const corral_message unblocked = {.kind = CORRAL_MESSAGE_UNBLOCKED};
    client->resumed = false;
    corral_status status = client_send(client, &unblocked, NULL, -1);
    if (status == CORRAL_OK) status = wait_until(client, is_resumed, client, -1);
    client->blocked = false;
}

corral_status client_wait(corral_client *client, bool (*condition)(void *context), void *context,
                          int64_t deadline_ns)
{
    if (condition(context)) return CORRAL_OK;
    if (client->drop_count > 0 || client->lends) {
        const int64_t soon = corral_now_ns() + SHORT_WAIT;
        const bool is_last = deadline_ns >= 0 && deadline_ns <= soon;
        const corral_status status = wait_until(client, condition, context, is_last ? deadline_ns : soon);
        if (status != CORRAL_ERROR_TIMEOUT || is_last) return status;
        client_flush_drops(client);
        tell_blocked(client);
    }
    const corral_status status = wait_until(client, condition, context, deadline_ns);
    resume(client);
    return status;
}

static bool is_answered(void *context)
{
    return ((const client_question *)context)->answered;
}

corral_status client_ask(corral_client *client, corral_message *message, const void *tail,
                         client_question *question)
{
    *question = (client_question){.tag = ++client->last_question, .next = client->questions};
    client->questions = question;
    message->tag = question->tag;
    corral_status status = client_send(client, message, tail, -1);
    if (status == CORRAL_OK) status = client_wait(client, is_answered, question, -1);
    for (client_question **link = &client->questions; *link != NULL; link = &(*link)->next)
        if (*link == question) {
            *link = question->next;
            break;
        }
    if (status != CORRAL_OK || question->answer.code == CORRAL_OK) return status;
    return corral_fail(question->answer.code < CORRAL_STATUS_COUNT ? (corral_status)question->answer.code
                                                                   : CORRAL_ERROR_CORRUPT,
                       "%s", question->text);
}
