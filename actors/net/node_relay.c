// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Actors of a driver that is reached over gRPC: this node is their consumer. It passes leases and weights
/// on, and sends the blocks that they fill straight out of their shared memory. A block is free again when
/// the driver has acknowledged all of it and gRPC has let go of it; until then the segment stays mapped,
/// whatever has become of its writer.
#include "node_private.h"

#include "corral/base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// One block on its way.
typedef struct relay_block {
    node_life *life;
    uint32_t block;
} relay_block;

// A lease that came before the last piece of an earlier block had been acknowledged and let go.
typedef struct node_deferred {
    struct node_deferred *next;
    uint64_t tag;
    size_t size;
    uint8_t request[];
} node_deferred;

corral_status node_relay_open(node_actor *actor, int socket, int segment_fd)
{
    node_group *group = actor->group;
    const corral_peer_config config = {
        .socket = socket,
        .segment_fd = segment_fd,
        .incarnation = actor->incarnation,
        .block_bytes = group->block_bytes,
        .block_count = group->blocks_per_actor,
        .actor = actor->index,
        .actor_count = group->count,
        .class_name = group->class_name,
        .class_config = group->config,
        .class_config_size = group->config_size,
    };
    corral_peer *peer = NULL;
    corral_status status = corral_peer_open(&config, &peer);
    if (status != CORRAL_OK) return status;
    node_life *life = calloc(1, sizeof *life);
    if (life == NULL) {
        corral_peer_close(peer);
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for an actor");
    }
    life->peer = peer;
    actor->life = life;
    return node_watch_start(group->session->node, &actor->peer_watch, WATCH_PEER, corral_peer_fd(peer),
                            actor);
}

static void free_when_done(node_life *life)
{
    if (!life->ended || life->sending > 0) return;
    while (life->deferred != NULL) {
        node_deferred *first = life->deferred;
        life->deferred = first->next;
        free(first);
    }
    corral_peer_close(life->peer);
    free(life);
}

void node_relay_retire(node_actor *actor)
{
    if (actor->life == NULL) return;
    node_watch_stop(actor->group->session->node, &actor->peer_watch);
    actor->life->ended = true;
    free_when_done(actor->life);
    actor->life = NULL;
}

static void defer(node_life *life, const Corral__V1__Lease *message)
{
    node_deferred *lease = malloc(sizeof *lease + message->request.len);
    if (lease == NULL) return; // it runs out, and the actor is started again
    *lease = (node_deferred){.tag = message->tag, .size = message->request.len};
    if (lease->size > 0) memcpy(lease->request, message->request.data, lease->size);
    node_deferred **end = &life->deferred;
    while (*end != NULL)
        end = &(*end)->next;
    *end = lease;
}

static void grant_deferred(node_life *life)
{
    node_deferred *first = life->deferred;
    if (first == NULL ||
        corral_peer_lease(life->peer, first->tag, first->request, first->size) == CORRAL_ERROR_FULL)
        return;
    life->deferred = first->next;
    free(first);
}

void node_relay_released(void *owner)
{
    relay_block *block = owner;
    node_life *life = block->life;
    life->sending--;
    if (!life->ended) {
        corral_peer_release(life->peer, block->block);
        grant_deferred(life);
    }
    free_when_done(life);
    free(block);
}

// --- from the actor
// ---------------------------------------------------------------------------------------------------

static corral_status send_pieces(node_actor *actor, const corral_peer_event *event, corral_payload *payload)
{
    Corral__V1__Fragment message = CORRAL__V1__FRAGMENT__INIT;
    message.group = actor->group->id;
    message.actor = actor->index;
    message.incarnation = actor->incarnation;
    message.tag = event->tag;
    message.size = event->length;
    const corral_envelope envelope = corral_envelope_of(CORRAL__V1__ENVELOPE__BODY_FRAGMENT, &message);
    corral_status status = CORRAL_OK;
    do { // an empty fragment is one message without a chunk
        const size_t left = event->length - message.offset;
        const size_t size = left < CORRAL_WIRE_CHUNK_MAX ? left : CORRAL_WIRE_CHUNK_MAX;
        status =
            corral_link_send(actor->group->session->channel.link, &envelope, payload, message.offset, size);
        message.offset += size;
    } while (status == CORRAL_OK && message.offset < event->length);
    return status;
}

static void send_fragment(node_actor *actor, const corral_peer_event *event)
{
    node *n = actor->group->session->node;
    node_life *life = actor->life;
    relay_block *block = malloc(sizeof *block);
    if (block == NULL) return; // the lease runs out, and the actor is started again
    *block = (relay_block){life, event->block};
    life->sending++;
    // Read-only memory that nobody frees: the payload only tells when it is no longer needed.
    corral_payload *payload =
        corral_payload_create((void *)(uintptr_t)event->data, event->length, n->mailbox, block);
    if (payload == NULL) {
        node_relay_released(block);
        return;
    }
    n->fragments_remote++;
    node_actor_progress(actor);
    const corral_status status = send_pieces(actor, event, payload);
    (void)status; // memory ran out: the lease does, too
    corral_payload_release(payload);
}

static void announce_ready(node_actor *actor)
{
    node_group *group = actor->group;
    if (group->board.published > 0) {
        const corral_status status = corral_peer_weights(actor->life->peer, &group->board);
        (void)status; // a loss is seen by the next receive
    }
    Corral__V1__Ready message = CORRAL__V1__READY__INIT;
    message.group = group->id;
    message.actor = actor->index;
    message.incarnation = actor->incarnation;
    corral_channel_tell(&group->session->channel, CORRAL__V1__ENVELOPE__BODY_READY, &message);
}

static void keep_error(node_actor *actor, const corral_peer_event *event)
{
    const size_t length = event->length < sizeof actor->error ? event->length : sizeof actor->error - 1;
    memcpy(actor->error, event->data, length);
    actor->error[length] = '\0';
    corral_wire_clean(actor->error);
}

void node_relay_receive(node_actor *actor)
{
    corral_peer_event event;
    while (actor->life != NULL && corral_peer_receive(actor->life->peer, &event) == CORRAL_OK) {
        switch (event.kind) {
        case CORRAL_PEER_READY:
            announce_ready(actor);
            break;
        case CORRAL_PEER_SEALED:
            send_fragment(actor, &event);
            break;
        case CORRAL_PEER_ERROR:
            keep_error(actor, &event);
            break;
        case CORRAL_PEER_LOST: // its exit follows; without a consumer it has nothing to live for
            node_watch_stop(actor->group->session->node, &actor->peer_watch);
            node_actor_kill(actor);
            return;
        case CORRAL_PEER_REPLY:
            break; // no call is made on this road
        }
    }
}

// --- from the driver
// ----------------------------------------------------------------------------------------------------

void node_relay_lease(node_session *session, const Corral__V1__Lease *message)
{
    node_actor *actor = node_actor_find(session, message->group, message->actor, message->incarnation);
    if (actor == NULL || actor->life == NULL) return; // of an incarnation that is gone
    // The driver counts blocks as we do, but one may have arrived there and not yet be free here.
    if (actor->life->deferred != NULL ||
        corral_peer_lease(actor->life->peer, message->tag, message->request.data, message->request.len) ==
            CORRAL_ERROR_FULL)
        defer(actor->life, message);
}

static bool keep_piece(node_group *group, const Corral__V1__Weights *message, corral_rpc_message *chunk,
                       size_t chunk_size)
{
    // Pieces come in order. One that does not go on where the last one ended begins a new version, or is
    // junk.
    if (message->offset == 0) group->staged = 0;
    if (message->size > group->weights_bytes || message->offset != group->staged ||
        chunk_size > message->size - message->offset)
        return false;
    if (chunk_size > 0 && !corral_rpc_message_read(chunk, group->staging + message->offset, chunk_size))
        return false;
    group->staged += chunk_size;
    return group->staged == message->size;
}

void node_relay_weights(node_session *session, const Corral__V1__Weights *message, corral_rpc_message *chunk,
                        size_t chunk_size)
{
    node_group *group = node_group_find(session, message->group);
    if (group == NULL || !group->relayed || !keep_piece(group, message, chunk, chunk_size)) return;
    if (corral_board_publish(&group->board, message->version, group->staging, message->size) != CORRAL_OK)
        return;
    for (uint32_t i = 0; i < group->count; i++) {
        node_life *life = group->actors[i].life;
        if (life == NULL || !corral_peer_is_ready(life->peer)) continue;
        const corral_status status = corral_peer_weights(life->peer, &group->board);
        (void)status; // a loss is seen by the next receive
    }
}
