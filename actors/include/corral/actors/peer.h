// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The consumer's end of one actor on this host: grants leases, passes weights, takes sealed blocks.
///
/// Nothing that the actor says is trusted: a sealed message must name a lease that is open, with this
/// incarnation, and a length within the block. What lies in the block is the reader's to validate, after
/// copying its header.
///
/// Nothing waits for a busy actor: where the socket is full, a lease or a call is CORRAL_ERROR_FULL (an event
/// will come: try again after it), and news of weights are kept until they go through. [one thread at a time]
#ifndef CORRAL_ACTORS_PEER_H
#define CORRAL_ACTORS_PEER_H

#include "corral/actors/board.h"
#include "corral/base/status.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct corral_peer corral_peer;

typedef struct corral_peer_config {
    int socket;     // taken over, also on failure
    int segment_fd; // read-only; taken over, also on failure
    uint64_t incarnation;
    size_t block_bytes;
    uint32_t block_count;
    uint32_t actor; // index in its group
    uint32_t actor_count;
    const char *class_name;
    const void *class_config; // copied into HELLO
    size_t class_config_size; // at most CORRAL_MESSAGE_TAIL_MAX less a little
} corral_peer_config;

typedef enum corral_peer_event_kind {
    CORRAL_PEER_READY,
    CORRAL_PEER_SEALED,
    CORRAL_PEER_REPLY,
    CORRAL_PEER_ERROR, // the actor said why it ends; LOST follows
    CORRAL_PEER_LOST,  // end-of-file: its open leases are gone
} corral_peer_event_kind;

typedef struct corral_peer_event {
    corral_peer_event_kind kind;
    uint64_t tag;     // SEALED, REPLY: of the lease or call
    uint32_t block;   // SEALED: give back with corral_peer_release()
    const void *data; // SEALED: in the segment, until released. REPLY, ERROR: until the next receive
    size_t length;
    corral_status status; // REPLY, ERROR
} corral_peer_event;

/// Sends HELLO. The actor answers READY. Leases may be granted before that. End-of-file is seen only when
/// nobody else holds the actor's end of the socket: close it in this process once the actor has been started.
CORRAL_MUST_USE corral_status corral_peer_open(const corral_peer_config *config, corral_peer **out_peer);
/// Asks the actor to stop (STOP) and closes; blocks not yet released become invalid.
void corral_peer_close(corral_peer *peer);

/// Readable when an event may be there.
int corral_peer_fd(const corral_peer *peer);
uint64_t corral_peer_incarnation(const corral_peer *peer);
bool corral_peer_is_ready(const corral_peer *peer);
uint32_t corral_peer_free_blocks(const corral_peer *peer);

/// Tells the actor where the newest weights lie on the board.
CORRAL_MUST_USE corral_status corral_peer_weights(corral_peer *peer, const corral_board *board);
/// Grants a free block. CORRAL_ERROR_FULL when all blocks are leased or unreleased.
CORRAL_MUST_USE corral_status corral_peer_lease(corral_peer *peer, uint64_t tag, const void *request,
                                                size_t size);
CORRAL_MUST_USE corral_status corral_peer_call(corral_peer *peer, uint64_t tag, uint32_t method,
                                               const void *arguments, size_t size);
void corral_peer_release(corral_peer *peer, uint32_t block);

/// The next event, without waiting: CORRAL_ERROR_EMPTY when there is none, CORRAL_ERROR_LOST after the event
/// LOST. An actor that breaks the rules gives an event ERROR with what it did, and then LOST.
CORRAL_MUST_USE corral_status corral_peer_receive(corral_peer *peer, corral_peer_event *out_event);

/// What the actor's beacon says, as a sentence part: "stepping environments 0 to 3, step 17"; "" when it says
/// nothing. Safe at any time, also after the actor died.
void corral_peer_beacon(const corral_peer *peer, char *out_text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
