// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Private to actors/net: everything of gRPC that Corral uses, behind one file: a server, bidirectional
/// streams of byte messages, and unary calls. The C core is internal to gRPC by its maintainers' word, so
/// nothing else includes it.
#ifndef CORRAL_NET_RPC_H
#define CORRAL_NET_RPC_H

#include "address.h"
#include "corral/base/status.h"
#include "tls.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct corral_rpc corral_rpc;
typedef struct corral_rpc_stream corral_rpc_stream;
typedef struct corral_rpc_message corral_rpc_message;
typedef struct corral_rpc_question corral_rpc_question;

/// What happens to a stream. Called on the rpc's own thread, one at a time, without any lock held.
typedef struct corral_rpc_events {
    void (*received)(void *context, corral_rpc_message *message); // the message is the callee's
    void (*written)(void *context);                               // the next write may begin
    void (*closed)(void *context, const char *reason);            // the last call, once
} corral_rpc_events;

typedef struct corral_rpc_config {
    const corral_address *listen; // NULL: no server
    const corral_tls *tls;        // for the server and for whom it dials; NULL: no TLS. Outlives the rpc
    /// A peer has opened a stream. Sets `*out_events` and returns their context.
    void *(*accepted)(void *context, corral_rpc_stream *stream, const corral_rpc_events **out_events);
    /// A unary call; answered at any time with corral_rpc_answer().
    void (*asked)(void *context, corral_rpc_question *question);
    /// Called when its time has come; returns how many ns from now it shall be called again.
    int64_t (*tick)(void *context);
    void *context;
} corral_rpc_config;

/// Starts gRPC, one completion queue and its thread. Fails with CORRAL_ERROR_EXISTS, the address in the
/// sentence, where the port is taken. Signals are blocked in all threads that come of it.
CORRAL_MUST_USE corral_status corral_rpc_start(const corral_rpc_config *config, corral_rpc **out_rpc);
/// Ends all streams (each is told), the server, the thread and gRPC. NULL is fine.
void corral_rpc_stop(corral_rpc *rpc);
/// The port that listens, 0 without a server.
uint16_t corral_rpc_port(const corral_rpc *rpc);

// --- streams: corral.v1.Node/Talk
// --------------------------------------------------------------------------------------

/// Begins to connect. `closed` is called also when there is nobody.
CORRAL_MUST_USE corral_status corral_rpc_open(corral_rpc *rpc, const corral_address *address,
                                              const corral_rpc_events *events, void *context,
                                              corral_rpc_stream **out_stream);

/// Bytes to send without a copy; `release` is called on any thread when gRPC no longer needs them.
typedef struct corral_rpc_piece {
    const void *bytes;
    size_t size;
    void (*release)(void *context);
    void *context;
} corral_rpc_piece;

/// Sends `head` (copied) and then `piece` (may be NULL) as one message. One write at a time: the next may
/// begin when `written` has been called. Returns false when the stream is closed or closing. [any thread]
bool corral_rpc_write(corral_rpc_stream *stream, const void *head, size_t head_size,
                      const corral_rpc_piece *piece);

/// Ends the stream; `closed` follows. `reason` goes to the other side where we are its server. [any thread]
void corral_rpc_close(corral_rpc_stream *stream, const char *reason);
/// The stream's holder is done with it. After `closed`.
void corral_rpc_release(corral_rpc_stream *stream);

// --- messages
// ---------------------------------------------------------------------------------------------------------

size_t corral_rpc_message_size(const corral_rpc_message *message); // what has not been read yet
/// Copies the next `size` bytes out; false when there are fewer.
bool corral_rpc_message_read(corral_rpc_message *message, void *out_bytes, size_t size);
void corral_rpc_message_free(corral_rpc_message *message);

// --- unary calls
// ------------------------------------------------------------------------------------------------------

/// "corral.v1.Node/Status". Valid until answered.
const char *corral_rpc_question_method(const corral_rpc_question *question);
corral_rpc_message *corral_rpc_question_message(corral_rpc_question *question);
/// `bytes` NULL: there is no such method. [any thread]
void corral_rpc_answer(corral_rpc_question *question, const void *bytes, size_t size);

/// Asks and waits, with a gRPC of its own for the time of the call. `tls` as in the
/// configuration. The caller frees `*out_reply`.
CORRAL_MUST_USE corral_status corral_rpc_ask(const corral_address *address, const corral_tls *tls,
                                             const char *method, const void *bytes, size_t size,
                                             int64_t timeout_ns, uint8_t **out_reply, size_t *out_size);

#endif
