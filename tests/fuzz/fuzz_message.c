// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Feeds a peer what an actor that has lost its mind might send. The input is a row of datagrams, each with
/// its size in front (two bytes, little endian). Whatever comes, an event's data must lie where they may lie.
#include "fuzz.h"

#include "corral/actors/actor.h"
#include "corral/actors/message.h"
#include "corral/actors/peer.h"

#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BLOCK = 1000, BLOCKS = 3 };

static corral_segment segment;

static corral_peer *open_peer(int *out_actor)
{
    int sockets[2];
    corral_peer *peer = NULL;
    if (segment.data == NULL)
        CORRAL_ASSERT(corral_segment_create("fuzz", corral_actor_segment_size(BLOCK, BLOCKS), &segment) ==
                      CORRAL_OK);
    CORRAL_ASSERT(corral_message_pair(sockets) == CORRAL_OK);
    corral_peer_config config = {
        .socket = sockets[0],
        .incarnation = 1,
        .block_bytes = BLOCK,
        .block_count = BLOCKS,
        .actor_count = 1,
        .class_name = "fuzz",
    };
    CORRAL_ASSERT(corral_segment_share(&segment, &config.segment_fd) == CORRAL_OK);
    CORRAL_ASSERT(corral_peer_open(&config, &peer) == CORRAL_OK);
    for (uint64_t tag = 1; tag < BLOCKS; tag++)
        CORRAL_ASSERT(corral_peer_lease(peer, tag, NULL, 0) == CORRAL_OK);
    CORRAL_ASSERT(corral_peer_call(peer, 1, 0, NULL, 0) == CORRAL_OK);
    *out_actor = sockets[1];
    return peer;
}

static void check_event(corral_peer *peer, const corral_peer_event *event)
{
    unsigned sum = 0; // reads all of it, for the sanitizer
    for (size_t i = 0; i < event->length; i++)
        sum += ((const unsigned char *)event->data)[i];
    CORRAL_ASSERT(sum <= 255 * event->length);
    if (event->kind != CORRAL_PEER_SEALED) return;
    CORRAL_ASSERT(event->length <= BLOCK && event->block < BLOCKS && (uintptr_t)event->data % 64 == 0);
    corral_peer_release(peer, event->block);
}

// False when the peer has given up on this actor.
static bool take_events(corral_peer *peer)
{
    corral_peer_event event;
    corral_status status;
    while ((status = corral_peer_receive(peer, &event)) == CORRAL_OK)
        check_event(peer, &event);
    CORRAL_ASSERT(status == CORRAL_ERROR_EMPTY || status == CORRAL_ERROR_LOST);
    return status == CORRAL_ERROR_EMPTY;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    int actor = -1;
    corral_peer *peer = open_peer(&actor);
    bool open = true;
    while (open && size > 2) {
        const size_t wanted = bytes[0] | (size_t)bytes[1] << 8;
        bytes += 2;
        size -= 2;
        const size_t length = wanted < size ? wanted : size;
        CORRAL_ASSERT(send(actor, bytes, length, MSG_NOSIGNAL) >= 0);
        open = take_events(peer);
        bytes += length;
        size -= length;
    }
    corral_peer_close(peer);
    close(actor);
    return 0;
}
