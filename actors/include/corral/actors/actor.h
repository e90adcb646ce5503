// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What an actor is, seen from inside its process.
///
/// An actor class is a table of functions. The worker program lists the classes it knows and calls
/// corral_actor_main(); the agent starts one process per actor. Actors get leases (blocks of shared memory to
/// fill) ahead of time: a worker without a lease waits, and that is the flow control.
#ifndef CORRAL_ACTORS_ACTOR_H
#define CORRAL_ACTORS_ACTOR_H

#include "corral/base/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __cplusplus
typedef uint64_t corral_beacon_word; // of the same layout, for C++ that only passes beacons on
#else
typedef _Atomic uint64_t corral_beacon_word;
#endif

/// Where an actor is, for the message when it crashes or hangs. Lives in the actor's segment and is read by
/// others at any time; words are written with relaxed atomics and cost a store each.
typedef struct corral_beacon {
    char text[192]; // "stepping environments %0 to %1, step %2": %0 .. %3 stand for the words
    corral_beacon_word word[4];
} corral_beacon;

typedef struct corral_actor_context {
    uint32_t index;       // in its group
    uint32_t count;       // of the group
    uint64_t incarnation; // grows with every start
    corral_beacon *beacon;
} corral_actor_context;

/// Functions are called one at a time, in the order in which messages came, on the process's main thread.
typedef struct corral_actor_class {
    const char *name; // "rollout"
    /// `config` is what the driver gave to the group; valid during the call.
    corral_status (*create)(const corral_actor_context *context, const void *config, size_t size,
                            void **out_actor);
    /// New weights; valid during the call.
    corral_status (*set_weights)(void *actor, uint64_t version, const void *bytes, size_t size);
    /// Fills a leased block of `capacity` bytes, 64-byte aligned, as `request` says.
    corral_status (*fill)(void *actor, const void *request, size_t request_size, void *block, size_t capacity,
                          size_t *out_length);
    /// May be NULL. The reply is at most CORRAL_MESSAGE_TAIL_MAX bytes.
    corral_status (*call)(void *actor, uint32_t method, const void *arguments, size_t size, void *reply,
                          size_t reply_capacity, size_t *out_reply_size);
    void (*destroy)(void *actor);
} corral_actor_class;

/// Runs this process as an actor until it is told to stop or its consumer is gone (end-of-file). The agent
/// passes the descriptors: 3 the consumer's socket, 4 the segment (writable), 5 the weights board
/// (read-only). A class function that fails ends the process: the sentence goes to the consumer as ERROR
/// first. Returns the exit status. `classes` ends with NULL.
int corral_actor_main(const corral_actor_class *const *classes);

enum { CORRAL_ACTOR_SOCKET_FD = 3, CORRAL_ACTOR_SEGMENT_FD = 4, CORRAL_ACTOR_BOARD_FD = 5 };

/// The segment of an actor: a page for the beacon, then `block_count` blocks, each rounded up to whole pages.
/// The size is 0 where it would not fit into a size_t.
size_t corral_actor_segment_size(size_t block_bytes, uint32_t block_count);
size_t corral_actor_block_offset(size_t block_bytes, uint32_t block);

#ifdef __cplusplus
}
#endif
#endif
