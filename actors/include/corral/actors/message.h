// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The local road's messages: SOCK_SEQPACKET datagrams of a fixed 64-byte header and an inline tail.
///
/// One socket joins one actor and the one process that uses it (its consumer): the driver, or, for a driver
/// on another host, the actor's agent.
///
///   consumer to actor                               actor to consumer
///   HELLO    index, group's size (code); tail:       READY    created
///            class name, zero byte, configuration
///   WEIGHTS  version, where it lies on the board     SEALED   a lease is filled: length, version used
///   LEASE    a block to fill, the request (tail)     REPLY    to a CALL (tail)
///   CALL     method, arguments (tail)                PONG
///   PING, STOP                                       ERROR    the sentence (tail), then it exits
#ifndef CORRAL_ACTORS_MESSAGE_H
#define CORRAL_ACTORS_MESSAGE_H

#include "corral/base/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CORRAL_MESSAGE_TAIL_MAX = 128 * 1024, CORRAL_MESSAGE_FDS_MAX = 5 };

typedef enum corral_message_kind {
    CORRAL_MESSAGE_HELLO = 1,
    CORRAL_MESSAGE_READY,
    CORRAL_MESSAGE_WEIGHTS,
    CORRAL_MESSAGE_LEASE,
    CORRAL_MESSAGE_SEALED,
    CORRAL_MESSAGE_CALL,
    CORRAL_MESSAGE_REPLY,
    CORRAL_MESSAGE_PING,
    CORRAL_MESSAGE_PONG,
    CORRAL_MESSAGE_ERROR,
    CORRAL_MESSAGE_STOP,
    // between a driver and its host's agent, on the agent's socket
    CORRAL_MESSAGE_ATTACH, // job (tail: token); answered by ATTACHED or ERROR
    CORRAL_MESSAGE_ATTACHED,
    CORRAL_MESSAGE_BOARD,    // group; the weights board's read-only descriptor
    CORRAL_MESSAGE_ACTOR_UP, // group, actor, incarnation; the actor's socket and its segment's read-only
                             // descriptor
    CORRAL_MESSAGE_CLIENT,   // a driver hands over the other end of a client's socket
    // between an agent and its spawner
    CORRAL_MESSAGE_SPAWN,   // a program to start (tail: its words); answered by SPAWNED
    CORRAL_MESSAGE_SPAWNED, // its process id, or the reason (tail)
    CORRAL_MESSAGE_SIGNAL,  // to a child's process group
    CORRAL_MESSAGE_EXITED,  // a child, with its wait status
    // between a client of the runtime and its hub: what the fields mean is in runtime/hub_private.h
    CORRAL_MESSAGE_JOIN,     // a driver begins; answered by ADMITTED
    CORRAL_MESSAGE_ADMITTED, // the first message to each client
    CORRAL_MESSAGE_SUBMIT,   // a task, an actor, or a call of one
    CORRAL_MESSAGE_RUN,      // the same to a worker
    CORRAL_MESSAGE_DONE,     // its result
    CORRAL_MESSAGE_PUT,      // an object of the client's own
    CORRAL_MESSAGE_WANT,     // send these values when they are there
    CORRAL_MESSAGE_VALUE,    // a value, or an error
    CORRAL_MESSAGE_HOLD,     // a reference that came as an argument is kept
    CORRAL_MESSAGE_DROP,     // references that are no longer held
    CORRAL_MESSAGE_RESERVE,  // room for a segment; answered by RESERVED
    CORRAL_MESSAGE_RESERVED,
    CORRAL_MESSAGE_SEGMENT,   // it has been made: its read-only descriptor
    CORRAL_MESSAGE_UNSEGMENT, // it is gone (to the hub), or will not be read again (from it)
    CORRAL_MESSAGE_FREED,     // nobody needs this part of the writer's segment any more
    CORRAL_MESSAGE_TRIM,      // empty segments are wanted back
    CORRAL_MESSAGE_BLOCKED,   // a task waits for others: its CPUs may serve them
    CORRAL_MESSAGE_UNBLOCKED, // it could go on; answered by RESUME
    CORRAL_MESSAGE_RESUME,
    CORRAL_MESSAGE_CANCEL, // to the hub, and from it to the worker that runs it
    CORRAL_MESSAGE_KILL,   // an actor
    CORRAL_MESSAGE_FIND,   // an actor by name; answered by FOUND
    CORRAL_MESSAGE_FOUND,
    CORRAL_MESSAGE_KIND_COUNT
} corral_message_kind;

/// Fields that a kind does not name are zero.
typedef struct corral_message {
    uint32_t kind;        // corral_message_kind
    uint32_t tail_size;   // bytes after the header
    uint64_t incarnation; // of the actor; a foreign one is dropped
    uint64_t tag;         // of a lease or call, chosen by the consumer
    uint64_t offset;      // of the block in the actor's segment, or of the weights on the board
    uint64_t length;      // capacity (LEASE), bytes filled (SEALED), size (WEIGHTS)
    uint64_t generation;  // of the block or of the board's slot
    uint64_t version;     // of the weights
    uint32_t code;        // a corral_status, or a method number
    uint32_t actor;       // ACTOR_UP: index in its group
} corral_message;

#ifndef __cplusplus
_Static_assert(sizeof(corral_message) == 64, "the header is part of the wire format");
#endif

/// A connected pair of sockets for messages: close-on-exec, with room for several of the longest.
CORRAL_MUST_USE corral_status corral_message_pair(int out_sockets[2]);

/// Sends one message. `fds` are duplicated into the other process. CORRAL_ERROR_LOST when the other side is
/// gone; CORRAL_ERROR_FULL when the socket's buffer stays full for `timeout_ns`. Never raises SIGPIPE.
CORRAL_MUST_USE corral_status corral_message_send(int socket, const corral_message *message, const void *tail,
                                                  const int *fds, size_t fd_count, int64_t timeout_ns);

/// Receives one message: at most `tail_capacity` tail bytes (a longer or malformed one is
/// CORRAL_ERROR_CORRUPT), and up to CORRAL_MESSAGE_FDS_MAX descriptors (-1 where there are fewer;
/// close-on-exec; unwanted ones are closed when out_fds is NULL). What was sent before the other side died is
/// still received; CORRAL_ERROR_LOST comes after it. timeout_ns 0 polls (CORRAL_ERROR_EMPTY when nothing is
/// there), -1 waits for ever.
CORRAL_MUST_USE corral_status corral_message_receive(int socket, corral_message *out_message, void *tail,
                                                     size_t tail_capacity, int *out_fds, int64_t timeout_ns);

#ifdef __cplusplus
}
#endif
#endif
