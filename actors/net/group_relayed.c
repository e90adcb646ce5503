// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Actors behind a link: their node is their consumer. Each lease has a block of our memory reserved, into
/// which the pieces of its fragment are gathered as they come, once. That memory is ours: it outlives the
/// actor, and its node.
#include "cluster_private.h"

#include "corral/base/clock.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define RELAYED_HANDLE (UINT64_C(1) << 63)

corral_status group_relayed_prepare(corral_group *group, group_actor *actor)
{
    actor->relayed = true;
    if (actor->memory != NULL) return CORRAL_OK;
    const size_t size = group->stride * group->config.blocks_per_actor;
    void *memory =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED)
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "group \"%s\": no memory for %u blocks of %zu bytes",
                           group->config.class_name, group->config.blocks_per_actor, group->stride);
    actor->memory = memory;
    return CORRAL_OK;
}

static uint32_t free_block(const corral_group *group, const group_actor *actor)
{
    uint32_t block = 0;
    while (block < group->config.blocks_per_actor && actor->leases[block].state != LEASE_FREE)
        block++;
    return block;
}

corral_status group_relayed_lease(corral_group *group, group_actor *actor, uint64_t tag, const void *request,
                                  size_t size)
{
    const uint32_t block = free_block(group, actor);
    if (block == group->config.blocks_per_actor)
        return corral_fail(CORRAL_ERROR_FULL,
                           "actor %u of group \"%s\": all %u blocks are leased or not yet released",
                           actor->index, group->config.class_name, block);
    Corral__V1__Lease message = CORRAL__V1__LEASE__INIT;
    message.group = group->id;
    message.actor = actor->index;
    message.incarnation = actor->incarnation;
    message.tag = tag;
    message.request.data = (uint8_t *)(uintptr_t)request;
    message.request.len = size;
    const corral_status status =
        corral_channel_send(&actor->site->channel, CORRAL__V1__ENVELOPE__BODY_LEASE, &message);
    if (status != CORRAL_OK) return status;
    actor->leases[block] = (group_lease){.state = LEASE_OPEN, .tag = tag, .granted_at_ns = corral_now_ns()};
    actor->open_leases++;
    return CORRAL_OK;
}

void group_relayed_ready(corral_group *group, const Corral__V1__Ready *message)
{
    if (message->actor >= group->config.count) return;
    group_actor *actor = &group->actors[message->actor];
    const bool newer =
        message->incarnation > actor->incarnation || actor->incarnation >> 40 != message->incarnation >> 40;
    if (!actor->relayed || !newer || actor->state == ACTOR_DOWN || actor->site == NULL ||
        actor->site->node != message->incarnation >> 40)
        return;
    if (actor->state != ACTOR_ABSENT) group_actor_lost(group, actor, "has ended", "");
    actor->incarnation = message->incarnation;
    actor->told_progress = false;
    actor->where[0] = actor->error[0] = '\0';
    actor->state = ACTOR_READY;
    actor->progress_at_ns = corral_now_ns();
    group->stats.actors_started++;
    group->stats.actors_alive++;
    group_post(group, &(corral_group_event){.kind = CORRAL_GROUP_ACTOR_READY, .actor = actor->index}, NULL);
}

// --- fragments
// ------------------------------------------------------------------------------------------------------------

void group_relayed_fragment(corral_group *group, const Corral__V1__Fragment *message,
                            corral_rpc_message *chunk, size_t chunk_size)
{
    group_actor *actor = group_find_actor(group, message->actor, message->incarnation);
    group_lease *lease = actor != NULL && actor->relayed && actor->state == ACTOR_READY
                             ? group_find_open(group, actor, message->tag)
                             : NULL;
    // Of an incarnation that is gone, or of a lease that was given up.
    if (lease == NULL) return;
    if (message->size > group->config.block_bytes || message->offset != lease->gathered ||
        chunk_size > message->size - message->offset)
        return; // pieces come in order; what does not fit is from a node that has lost its mind: the lease
                // runs out
    const uint32_t block = (uint32_t)(lease - actor->leases);
    uint8_t *memory = actor->memory + block * group->stride;
    if (chunk_size > 0 && !corral_rpc_message_read(chunk, memory + message->offset, chunk_size)) return;
    lease->gathered += chunk_size;
    group->stats.bytes_remote += chunk_size;
    if (lease->gathered < message->size) return;

    lease->state = LEASE_HELD;
    actor->open_leases--;
    group->stats.fragments_remote++;
    group_progress(group, actor);
    const corral_group_event fragment = {
        .kind = CORRAL_GROUP_FRAGMENT,
        .actor = actor->index,
        .tag = message->tag,
        .data = memory,
        .length = message->size,
        .remote = true,
        .handle = RELAYED_HANDLE | (uint64_t)actor->index << 32 | block,
    };
    group_post(group, &fragment, NULL);
}

void group_relayed_release(corral_group *group, group_actor *actor, uint32_t block)
{
    CORRAL_ASSERT(block < group->config.blocks_per_actor && actor->leases[block].state == LEASE_HELD);
    actor->leases[block] = (group_lease){0};
}

// --- weights
// --------------------------------------------------------------------------------------------------------------

static void send_weights(corral_group *group, cluster_site *site)
{
    corral_payload *payload =
        group->weights[(group->weights_next + WEIGHTS_IN_FLIGHT - 1) % WEIGHTS_IN_FLIGHT];
    if (payload == NULL || site->gone || site->channel.link == NULL) return;
    Corral__V1__Weights message = CORRAL__V1__WEIGHTS__INIT;
    message.group = group->id;
    message.version = group->weights_version;
    message.size = group->weights_size;
    const corral_envelope envelope = corral_envelope_of(CORRAL__V1__ENVELOPE__BODY_WEIGHTS, &message);
    corral_status status = CORRAL_OK;
    do {
        const size_t left = message.size - message.offset;
        const size_t size = left < CORRAL_WIRE_CHUNK_MAX ? left : CORRAL_WIRE_CHUNK_MAX;
        status = corral_link_send(site->channel.link, &envelope, payload, message.offset, size);
        message.offset += size;
    } while (status == CORRAL_OK && message.offset < message.size);
}

// A learner that publishes faster than a network carries waits here, instead of filling memory with versions.
static void await_room(corral_group *group, const corral_payload *oldest)
{
    while (corral_payload_others(oldest) > 0 && cluster_failure(group->cluster) == NULL)
        cluster_pump(group->cluster, CORRAL_MILLISECOND);
}

corral_status group_relayed_publish(corral_group *group, uint64_t version, const void *bytes, size_t size)
{
    void *copy = malloc(size > 0 ? size : 1);
    if (copy == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for %zu bytes of weights", size);
    if (size > 0) memcpy(copy, bytes, size);
    corral_payload *payload = corral_payload_create(copy, size, NULL, NULL);
    if (payload == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for weights");
    corral_payload **place = &group->weights[group->weights_next];
    if (*place != NULL) {
        await_room(group, *place);
        corral_payload_release(*place);
    }
    *place = payload;
    group->weights_next = (group->weights_next + 1) % WEIGHTS_IN_FLIGHT;
    group->weights_bytes = copy;
    group->weights_size = size;
    group->weights_version = version;
    for (size_t i = 0; i < group->site_count; i++)
        send_weights(group, group->sites[i]);
    return CORRAL_OK;
}

corral_status group_relayed_catch_up(corral_group *group, cluster_site *site)
{
    const corral_board *board = &group->board;
    if (group->weights_bytes == NULL && board->published > 0) // to all sites, this one among them
        return group_relayed_publish(group, board->version, corral_board_newest(board), board->length);
    send_weights(group, site);
    return CORRAL_OK;
}

corral_status group_relayed_to_board(corral_group *group)
{
    if (group->weights_bytes == NULL) return CORRAL_OK;
    return corral_board_publish(&group->board, group->weights_version, group->weights_bytes,
                                group->weights_size);
}
