// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// An actor's process from its first message to its end.
///
/// One thread, one blocking receive, one message at a time in the order of the socket. Weights are the one
/// thing that may overtake: a WEIGHTS message only wakes the actor up, and so does a lease; what it then
/// takes is the newest on the board. The consumer publishes before it announces, so a lease is never filled
/// with weights older than those announced before it; an actor that was busy during ten publishes copies one
/// set; and one that was overtaken while it copied takes the newer one at once, without waiting for the
/// message about it.
#include "corral/actors/actor.h"

#include "corral/actors/board.h"
#include "corral/actors/message.h"
#include "corral/actors/segment.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    BLOCK_ALIGNMENT = 64,
    COPY_ATTEMPTS = 1000, // each lost to three publishes: far more than can happen
};

typedef struct actor_process {
    const corral_actor_class *class;
    void *actor; // what the class made
    corral_segment segment, board;
    uint64_t incarnation;
    uint64_t weights_generation; // what the actor has; 0: none
    uint64_t weights_version;
    void *weights; // a private copy of the newest
    size_t weights_capacity;
    char *reply; // made by the first call
    char tail[CORRAL_MESSAGE_TAIL_MAX + 1];
} actor_process;

static corral_status send_to_consumer(const actor_process *process, corral_message message, const void *tail)
{
    message.incarnation = process->incarnation;
    return corral_message_send(CORRAL_ACTOR_SOCKET_FD, &message, tail, NULL, 0, -1);
}

static void report_failure(const actor_process *process, corral_status failure)
{
    const char *sentence = corral_last_error();
    if (sentence[0] == '\0') sentence = corral_status_name(failure);
    const corral_message message = {
        .kind = CORRAL_MESSAGE_ERROR, .code = failure, .tail_size = (uint32_t)strlen(sentence)};
    const corral_status sent = send_to_consumer(process, message, sentence);
    (void)sent; // a consumer that is gone needs no reason
}

// --- the first message -------------------------------------------------------------------------------------

// What the actor starts itself must not keep these open: end-of-file on them is how others learn that the
// actor died.
static corral_status take_descriptors(actor_process *process)
{
    for (int fd = CORRAL_ACTOR_SOCKET_FD; fd <= CORRAL_ACTOR_BOARD_FD; fd++)
        if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
            return corral_fail(
                CORRAL_ERROR_INVALID,
                "descriptor %d is not open: an actor is started by its node's agent, not by hand", fd);
    corral_status status = corral_segment_map(CORRAL_ACTOR_SEGMENT_FD, true, &process->segment);
    if (status == CORRAL_OK) status = corral_segment_map(CORRAL_ACTOR_BOARD_FD, false, &process->board);
    return corral_fail_within(status, "an actor's shared memory");
}

static const corral_actor_class *find_class(const corral_actor_class *const *classes, const char *name)
{
    for (; *classes != NULL; classes++)
        if (strcmp((*classes)->name, name) == 0) return *classes;
    return NULL;
}

static corral_status create_actor(actor_process *process, const corral_message *hello,
                                  const corral_actor_class *const *classes)
{
    process->incarnation = hello->incarnation;
    process->tail[hello->tail_size] = '\0';
    const size_t name_size = strlen(process->tail) + 1;
    if (hello->kind != CORRAL_MESSAGE_HELLO || name_size > hello->tail_size)
        return corral_fail(CORRAL_ERROR_CORRUPT, "the first message to an actor is not its HELLO");
    process->class = find_class(classes, process->tail);
    if (process->class == NULL)
        return corral_fail(CORRAL_ERROR_NOT_FOUND, "this worker program has no actor class \"%s\"",
                           process->tail);

    const corral_actor_context context = {
        .index = hello->actor,
        .count = hello->code,
        .incarnation = hello->incarnation,
        .beacon = process->segment.data,
    };
    return process->class->create(&context, process->tail + name_size, hello->tail_size - name_size,
                                  &process->actor);
}

static corral_status begin(actor_process *process, const corral_actor_class *const *classes)
{
    corral_status status = take_descriptors(process);
    corral_message hello;
    if (status == CORRAL_OK)
        status = corral_message_receive(CORRAL_ACTOR_SOCKET_FD, &hello, process->tail,
                                        CORRAL_MESSAGE_TAIL_MAX, NULL, -1);
    if (status == CORRAL_OK) status = create_actor(process, &hello, classes);
    if (status == CORRAL_OK)
        status = send_to_consumer(process, (corral_message){.kind = CORRAL_MESSAGE_READY}, NULL);
    return status;
}

// --- weights -----------------------------------------------------------------------------------------------

static corral_status reserve_weights(actor_process *process, size_t size)
{
    if (size <= process->weights_capacity) return CORRAL_OK;
    const size_t rounded = (size + BLOCK_ALIGNMENT - 1) / BLOCK_ALIGNMENT * BLOCK_ALIGNMENT;
    free(process->weights);
    process->weights_capacity = 0;
    process->weights = aligned_alloc(BLOCK_ALIGNMENT, rounded);
    if (process->weights == NULL)
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for %zu bytes of weights", size);
    process->weights_capacity = rounded;
    return CORRAL_OK;
}

static corral_status copy_newest(actor_process *process, corral_board_entry *newest)
{
    corral_status status = CORRAL_ERROR_STALE;
    for (int attempt = 0; attempt < COPY_ATTEMPTS && status == CORRAL_ERROR_STALE; attempt++) {
        if (attempt > 0) sched_yield();
        status = corral_board_find_newest(&process->board, newest);
        if (status != CORRAL_OK || newest->generation == process->weights_generation) return status;
        if (newest->length > process->board.size)
            return corral_fail(CORRAL_ERROR_CORRUPT, "the weights board is damaged");
        status = reserve_weights(process, newest->length);
        if (status == CORRAL_OK)
            status = corral_board_copy(&process->board, newest->offset, newest->length, newest->generation,
                                       process->weights);
    }
    return status;
}

static corral_status take_newest_weights(actor_process *process)
{
    corral_board_entry newest = {0};
    corral_status status = copy_newest(process, &newest);
    if (status == CORRAL_ERROR_EMPTY || newest.generation == process->weights_generation) return CORRAL_OK;
    if (status == CORRAL_OK && process->class->set_weights != NULL)
        status = process->class->set_weights(process->actor, newest.version, process->weights, newest.length);
    if (status != CORRAL_OK) return status;
    process->weights_generation = newest.generation;
    process->weights_version = newest.version;
    return CORRAL_OK;
}

// --- leases and calls --------------------------------------------------------------------------------------

static corral_status fill_block(actor_process *process, const corral_message *lease)
{
    const size_t size = process->segment.size;
    if (lease->offset % BLOCK_ALIGNMENT != 0 || lease->offset < sizeof(corral_beacon) ||
        lease->offset > size || lease->length > size - lease->offset)
        return corral_fail(CORRAL_ERROR_CORRUPT, "a lease of %llu bytes at %llu lies outside the actor's %zu",
                           (unsigned long long)lease->length, (unsigned long long)lease->offset, size);
    corral_status status = take_newest_weights(process);
    if (status != CORRAL_OK) return status;

    size_t length = 0;
    status = process->class->fill(process->actor, process->tail, lease->tail_size,
                                  (char *)process->segment.data + lease->offset, lease->length, &length);
    if (status != CORRAL_OK) return status;
    if (length > lease->length)
        return corral_fail(CORRAL_ERROR_INVALID,
                           "actor class \"%s\" says that it filled %zu bytes of a block of %llu",
                           process->class->name, length, (unsigned long long)lease->length);
    const corral_message sealed = {
        .kind = CORRAL_MESSAGE_SEALED,
        .tag = lease->tag,
        .offset = lease->offset,
        .length = length,
        .generation = lease->generation,
        .version = process->weights_version,
    };
    return send_to_consumer(process, sealed, NULL);
}

static corral_status answer_call(actor_process *process, const corral_message *call)
{
    corral_message answer = {.kind = CORRAL_MESSAGE_REPLY, .tag = call->tag};
    if (process->class->call == NULL) {
        answer.code = CORRAL_ERROR_UNSUPPORTED;
        return send_to_consumer(process, answer, NULL);
    }
    if (process->reply == NULL) process->reply = malloc(CORRAL_MESSAGE_TAIL_MAX);
    if (process->reply == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a reply");

    size_t size = 0;
    const corral_status status =
        process->class->call(process->actor, call->code, process->tail, call->tail_size, process->reply,
                             CORRAL_MESSAGE_TAIL_MAX, &size);
    if (status != CORRAL_OK) return status;
    CORRAL_ASSERT(size <= CORRAL_MESSAGE_TAIL_MAX);
    answer.tail_size = (uint32_t)size;
    return send_to_consumer(process, answer, process->reply);
}

static corral_status handle(actor_process *process, const corral_message *message, bool *out_stop)
{
    switch (message->kind) {
    case CORRAL_MESSAGE_WEIGHTS:
        return take_newest_weights(process);
    case CORRAL_MESSAGE_LEASE:
        return fill_block(process, message);
    case CORRAL_MESSAGE_CALL:
        return answer_call(process, message);
    case CORRAL_MESSAGE_PING:
        return send_to_consumer(process, (corral_message){.kind = CORRAL_MESSAGE_PONG, .tag = message->tag},
                                NULL);
    case CORRAL_MESSAGE_STOP:
        *out_stop = true;
        return CORRAL_OK;
    default:
        return corral_fail(CORRAL_ERROR_CORRUPT, "a message of kind %u is not for an actor",
                           (unsigned)message->kind);
    }
}

static corral_status serve(actor_process *process)
{
    corral_message message;
    bool stop = false;
    corral_status status = CORRAL_OK;
    while (status == CORRAL_OK && !stop) {
        status = corral_message_receive(CORRAL_ACTOR_SOCKET_FD, &message, process->tail,
                                        CORRAL_MESSAGE_TAIL_MAX, NULL, -1);
        if (status == CORRAL_OK) status = handle(process, &message, &stop);
    }
    return status;
}

static void finish(actor_process *process)
{
    if (process->actor != NULL && process->class->destroy != NULL) process->class->destroy(process->actor);
    corral_segment_finish(&process->segment);
    corral_segment_finish(&process->board);
    free(process->weights);
    free(process->reply);
    free(process);
}

int corral_actor_main(const corral_actor_class *const *classes)
{
    signal(SIGPIPE, SIG_IGN); // an actor must outlive a plug-in that writes to a closed pipe
    actor_process *process = calloc(1, sizeof *process);
    if (process == NULL) return 1;
    process->segment.fd = process->board.fd = -1;

    corral_status status = begin(process, classes);
    if (status == CORRAL_OK) status = serve(process);
    // Only the consumer's socket can say LOST here, and an actor without a consumer has done its work.
    const bool failed = status != CORRAL_OK && status != CORRAL_ERROR_LOST;
    if (failed) report_failure(process, status);
    finish(process);
    return failed ? 1 : 0;
}
