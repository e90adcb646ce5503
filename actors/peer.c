// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The consumer's end of an actor's socket. Nothing waits for a busy actor: what a full socket does not take
/// is told as CORRAL_ERROR_FULL, and news of weights, which may be merged, are kept until they go through.
///
/// A block is free, leased, or sealed (filled and not yet released). Each lease gets a generation of its own,
/// and a SEALED message has to name an open lease's tag, offset and generation. What breaks these rules comes
/// from an actor that has lost its mind: its socket is shut, and it is reported as an error and then as lost.
#include "corral/actors/peer.h"

#include "beacon.h"
#include "corral/actors/actor.h"
#include "corral/actors/message.h"
#include "corral/base/clock.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define IDLE_TIMEOUT CORRAL_SECOND

enum {
    DROPPED_AT_ONCE = 64, // messages that are no event, per receive: a flood of them must not keep the caller
    SENTENCE_SIZE = 512,
};

typedef enum block_state { BLOCK_FREE, BLOCK_LEASED, BLOCK_SEALED } block_state;

typedef struct peer_block {
    block_state state;
    uint64_t tag, generation; // of the lease
} peer_block;

typedef enum peer_state { PEER_STARTING, PEER_READY, PEER_BROKEN, PEER_LOST } peer_state;

struct corral_peer {
    int socket;
    corral_segment segment; // read-only
    uint64_t incarnation;
    size_t block_bytes;
    uint32_t block_count, free_count, actor;
    uint32_t next_block; // where the search for a free one begins
    uint64_t generation; // of the newest lease
    uint32_t open_leases, open_calls;
    peer_state state;
    corral_message weights; // news that the socket was too full for; kind 0: none
    peer_block *blocks;
    char tail[CORRAL_MESSAGE_TAIL_MAX + 1];
};

// --- opening and closing -----------------------------------------------------------------------------------

static corral_status map_segment(corral_peer *peer, const corral_peer_config *config)
{
    const size_t size = corral_actor_segment_size(config->block_bytes, config->block_count);
    corral_status status = corral_segment_map(config->segment_fd, false, &peer->segment);
    if (status != CORRAL_OK) return corral_fail_within(status, "actor %u", (unsigned)config->actor);
    if (size == 0 || config->block_count == 0 || peer->segment.size != size)
        return corral_fail(CORRAL_ERROR_INVALID,
                           "actor %u: its shared memory has %zu bytes, %u blocks of %zu need %zu",
                           (unsigned)config->actor, peer->segment.size, (unsigned)config->block_count,
                           config->block_bytes, size);
    return CORRAL_OK;
}

static corral_status say_hello(corral_peer *peer, const corral_peer_config *config)
{
    const size_t name_size = strlen(config->class_name) + 1;
    if (name_size > CORRAL_MESSAGE_TAIL_MAX ||
        config->class_config_size > CORRAL_MESSAGE_TAIL_MAX - name_size)
        return corral_fail(CORRAL_ERROR_INVALID,
                           "actor %u: a configuration of %zu bytes is too large, at most %d",
                           (unsigned)config->actor, config->class_config_size, CORRAL_MESSAGE_TAIL_MAX);
    memcpy(peer->tail, config->class_name, name_size);
    if (config->class_config_size > 0)
        memcpy(peer->tail + name_size, config->class_config, config->class_config_size);
    const corral_message hello = {
        .kind = CORRAL_MESSAGE_HELLO,
        .tail_size = (uint32_t)(name_size + config->class_config_size),
        .incarnation = peer->incarnation,
        .actor = config->actor,
        .code = config->actor_count,
    };
    return corral_message_send(peer->socket, &hello, peer->tail, NULL, 0, 0);
}

static void free_peer(corral_peer *peer)
{
    corral_segment_finish(&peer->segment);
    if (peer->socket >= 0) close(peer->socket);
    free(peer->blocks);
    free(peer);
}

corral_status corral_peer_open(const corral_peer_config *config, corral_peer **out_peer)
{
    corral_peer *peer = calloc(1, sizeof *peer);
    peer_block *blocks = calloc(config->block_count > 0 ? config->block_count : 1, sizeof *blocks);
    if (peer == NULL || blocks == NULL) {
        free(peer);
        free(blocks);
        close(config->socket);
        close(config->segment_fd);
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "actor %u: no memory for its peer",
                           (unsigned)config->actor);
    }
    peer->socket = config->socket;
    peer->incarnation = config->incarnation;
    peer->block_bytes = config->block_bytes;
    peer->block_count = peer->free_count = config->block_count;
    peer->actor = config->actor;
    peer->blocks = blocks;

    corral_status status = map_segment(peer, config);
    if (status == CORRAL_OK) status = say_hello(peer, config);
    if (status != CORRAL_OK) {
        free_peer(peer);
        return status;
    }
    *out_peer = peer;
    return CORRAL_OK;
}

void corral_peer_close(corral_peer *peer)
{
    if (peer == NULL) return;
    const corral_message stop = {.kind = CORRAL_MESSAGE_STOP, .incarnation = peer->incarnation};
    const corral_status sent = corral_message_send(peer->socket, &stop, NULL, NULL, 0, 0);
    (void)sent; // end-of-file says the same
    free_peer(peer);
}

int corral_peer_fd(const corral_peer *peer)
{
    return peer->socket;
}

uint64_t corral_peer_incarnation(const corral_peer *peer)
{
    return peer->incarnation;
}

bool corral_peer_is_ready(const corral_peer *peer)
{
    return peer->state == PEER_READY;
}

uint32_t corral_peer_free_blocks(const corral_peer *peer)
{
    return peer->free_count;
}

void corral_peer_beacon(const corral_peer *peer, char *out_text, size_t size)
{
    corral_beacon_format(peer->segment.data, out_text, size);
}

// --- to the actor ------------------------------------------------------------------------------------------

static corral_status send_within(corral_peer *peer, const corral_message *message, const void *tail,
                                 int64_t timeout_ns)
{
    if (peer->state >= PEER_BROKEN)
        return corral_fail(CORRAL_ERROR_LOST, "actor %u is gone", (unsigned)peer->actor);
    return corral_fail_within(corral_message_send(peer->socket, message, tail, NULL, 0, timeout_ns),
                              "actor %u", (unsigned)peer->actor);
}

static corral_status send_kept_weights(corral_peer *peer, int64_t timeout_ns)
{
    if (peer->weights.kind == 0) return CORRAL_OK;
    const corral_status status = send_within(peer, &peer->weights, NULL, timeout_ns);
    if (status == CORRAL_OK) peer->weights.kind = 0;
    return status;
}

// A busy actor ends what it does with an event, after which the caller tries again. An idle one gives no
// event, but it is just reading what fills the socket: wait for that.
static corral_status send_work(corral_peer *peer, const corral_message *message, const void *tail)
{
    const bool is_idle = peer->state == PEER_READY && peer->open_leases == 0 && peer->open_calls == 0;
    const int64_t timeout_ns = is_idle ? IDLE_TIMEOUT : 0;
    const corral_status status = send_kept_weights(peer, timeout_ns);
    return status == CORRAL_OK ? send_within(peer, message, tail, timeout_ns) : status;
}

corral_status corral_peer_weights(corral_peer *peer, const corral_board *board)
{
    if (board->published == 0) return corral_fail(CORRAL_ERROR_EMPTY, "no weights have been published yet");
    peer->weights = (corral_message){
        .kind = CORRAL_MESSAGE_WEIGHTS,
        .incarnation = peer->incarnation,
        .offset = board->offset,
        .length = board->length,
        .generation = board->generation,
        .version = board->version,
    };
    const corral_status status = send_kept_weights(peer, 0);
    return status == CORRAL_ERROR_FULL ? CORRAL_OK : status; // kept: they go before the next lease
}

static uint32_t find_free_block(const corral_peer *peer)
{
    uint32_t block = peer->next_block;
    while (peer->blocks[block].state != BLOCK_FREE)
        block = (block + 1) % peer->block_count;
    return block;
}

corral_status corral_peer_lease(corral_peer *peer, uint64_t tag, const void *request, size_t size)
{
    if (size > CORRAL_MESSAGE_TAIL_MAX)
        return corral_fail(CORRAL_ERROR_INVALID, "a lease's request of %zu bytes is too large, at most %d",
                           size, CORRAL_MESSAGE_TAIL_MAX);
    if (peer->free_count == 0)
        return corral_fail(CORRAL_ERROR_FULL, "actor %u: all %u blocks are leased or not yet released",
                           (unsigned)peer->actor, (unsigned)peer->block_count);

    const uint32_t block = find_free_block(peer);
    const corral_message lease = {
        .kind = CORRAL_MESSAGE_LEASE,
        .tail_size = (uint32_t)size,
        .incarnation = peer->incarnation,
        .tag = tag,
        .offset = corral_actor_block_offset(peer->block_bytes, block),
        .length = peer->block_bytes,
        .generation = peer->generation + 1,
    };
    const corral_status status = send_work(peer, &lease, request);
    if (status != CORRAL_OK) return status;
    peer->generation++;
    peer->free_count--;
    peer->open_leases++;
    peer->next_block = (block + 1) % peer->block_count;
    peer->blocks[block] = (peer_block){.state = BLOCK_LEASED, .tag = tag, .generation = lease.generation};
    return CORRAL_OK;
}

corral_status corral_peer_call(corral_peer *peer, uint64_t tag, uint32_t method, const void *arguments,
                               size_t size)
{
    if (size > CORRAL_MESSAGE_TAIL_MAX)
        return corral_fail(CORRAL_ERROR_INVALID, "a call's arguments of %zu bytes are too large, at most %d",
                           size, CORRAL_MESSAGE_TAIL_MAX);
    const corral_message call = {
        .kind = CORRAL_MESSAGE_CALL,
        .tail_size = (uint32_t)size,
        .incarnation = peer->incarnation,
        .tag = tag,
        .code = method,
    };
    const corral_status status = send_work(peer, &call, arguments);
    if (status == CORRAL_OK) peer->open_calls++;
    return status;
}

void corral_peer_release(corral_peer *peer, uint32_t block)
{
    CORRAL_ASSERT(block < peer->block_count && peer->blocks[block].state == BLOCK_SEALED);
    peer->blocks[block].state = BLOCK_FREE;
    peer->free_count++;
}

// --- from the actor ----------------------------------------------------------------------------------------

// The text is kept in the peer's buffer, where an event's data live.
CORRAL_PRINTF(3, 4)
static corral_status broken(corral_peer *peer, corral_peer_event *out_event, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(peer->tail, SENTENCE_SIZE, format, arguments);
    va_end(arguments);
    peer->state = PEER_BROKEN;
    shutdown(peer->socket, SHUT_RDWR); // the actor sees an end, as if we were gone
    *out_event = (corral_peer_event){
        .kind = CORRAL_PEER_ERROR,
        .data = peer->tail,
        .length = length < SENTENCE_SIZE ? (size_t)length : SENTENCE_SIZE - 1,
        .status = CORRAL_ERROR_CORRUPT,
    };
    return CORRAL_OK;
}

static corral_status lost(corral_peer *peer, corral_peer_event *out_event)
{
    peer->state = PEER_LOST;
    *out_event = (corral_peer_event){.kind = CORRAL_PEER_LOST};
    return CORRAL_OK;
}

static corral_status take_sealed(corral_peer *peer, const corral_message *sealed,
                                 corral_peer_event *out_event)
{
    const size_t first = corral_actor_block_offset(peer->block_bytes, 0);
    const size_t stride = corral_actor_block_offset(peer->block_bytes, 1) - first;
    const uint64_t block =
        stride > 0 && sealed->offset >= first ? (sealed->offset - first) / stride : UINT64_MAX;
    if (block >= peer->block_count || sealed->offset != first + block * stride)
        return broken(peer, out_event, "the actor sealed a block at %" PRIu64 ", where none lies",
                      sealed->offset);
    const peer_block *lease = &peer->blocks[block];
    if (lease->state != BLOCK_LEASED || lease->tag != sealed->tag || lease->generation != sealed->generation)
        return broken(peer, out_event,
                      "the actor sealed block %" PRIu64 " with tag %" PRIu64 " and generation %" PRIu64
                      ", which no open lease has",
                      block, sealed->tag, sealed->generation);
    if (sealed->length > peer->block_bytes)
        return broken(peer, out_event, "the actor sealed %" PRIu64 " bytes in a block of %zu", sealed->length,
                      peer->block_bytes);
    peer->blocks[block].state = BLOCK_SEALED;
    peer->open_leases--;
    *out_event = (corral_peer_event){
        .kind = CORRAL_PEER_SEALED,
        .tag = sealed->tag,
        .block = (uint32_t)block,
        .data = (const char *)peer->segment.data + sealed->offset,
        .length = sealed->length,
    };
    return CORRAL_OK;
}

static corral_status take_reply(corral_peer *peer, const corral_message *reply, corral_peer_event *out_event)
{
    if (peer->open_calls == 0 || reply->code >= CORRAL_STATUS_COUNT)
        return broken(peer, out_event,
                      "the actor answered a call (tag %" PRIu64 ", code %u) that nobody made", reply->tag,
                      (unsigned)reply->code);
    peer->open_calls--;
    *out_event = (corral_peer_event){
        .kind = CORRAL_PEER_REPLY,
        .tag = reply->tag,
        .data = peer->tail,
        .length = reply->tail_size,
        .status = (corral_status)reply->code,
    };
    return CORRAL_OK;
}

static corral_status take_error(corral_peer *peer, const corral_message *error, corral_peer_event *out_event)
{
    peer->tail[error->tail_size] = '\0';
    const bool known = error->code != CORRAL_OK && error->code < CORRAL_STATUS_COUNT;
    *out_event = (corral_peer_event){
        .kind = CORRAL_PEER_ERROR,
        .data = peer->tail,
        .length = error->tail_size,
        .status = known ? (corral_status)error->code : CORRAL_ERROR_CORRUPT,
    };
    return CORRAL_OK;
}

// CORRAL_ERROR_EMPTY: the message is no event.
static corral_status take_message(corral_peer *peer, const corral_message *message,
                                  corral_peer_event *out_event)
{
    if (message->incarnation != peer->incarnation) return CORRAL_ERROR_EMPTY;
    if (message->kind == CORRAL_MESSAGE_ERROR) return take_error(peer, message, out_event);
    if (message->kind == CORRAL_MESSAGE_PONG) return CORRAL_ERROR_EMPTY;
    if (peer->state == PEER_STARTING && message->kind == CORRAL_MESSAGE_READY) {
        peer->state = PEER_READY;
        *out_event = (corral_peer_event){.kind = CORRAL_PEER_READY};
        return CORRAL_OK;
    }
    if (peer->state == PEER_READY && message->kind == CORRAL_MESSAGE_SEALED)
        return take_sealed(peer, message, out_event);
    if (peer->state == PEER_READY && message->kind == CORRAL_MESSAGE_REPLY)
        return take_reply(peer, message, out_event);
    return broken(peer, out_event, "the actor sent a message of kind %u out of turn",
                  (unsigned)message->kind);
}

corral_status corral_peer_receive(corral_peer *peer, corral_peer_event *out_event)
{
    if (peer->state == PEER_BROKEN) return lost(peer, out_event);
    if (peer->state == PEER_LOST)
        return corral_fail(CORRAL_ERROR_LOST, "actor %u is gone", (unsigned)peer->actor);

    corral_message message;
    corral_status status = CORRAL_ERROR_EMPTY;
    for (int i = 0; i < DROPPED_AT_ONCE && status == CORRAL_ERROR_EMPTY; i++) {
        status = corral_message_receive(peer->socket, &message, peer->tail, CORRAL_MESSAGE_TAIL_MAX, NULL, 0);
        if (status == CORRAL_ERROR_EMPTY) break;
        if (status == CORRAL_ERROR_LOST) return lost(peer, out_event);
        if (status != CORRAL_OK) return broken(peer, out_event, "%s", corral_last_error());
        status = take_message(peer, &message, out_event);
    }
    if (status != CORRAL_ERROR_EMPTY) return status;
    const corral_status kept = send_kept_weights(peer, 0); // the actor may have made room
    (void)kept;                                            // a loss is seen by the next receive
    return CORRAL_ERROR_EMPTY;
}
