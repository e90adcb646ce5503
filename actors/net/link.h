// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Private to actors/net: reliable, ordered messages over a gRPC stream, and the links of one process.
///
/// Messages are numbered, acknowledged, sent again after a while and delivered once, in order, whatever the
/// fault injection does to them. A stream that breaks is the end of its link: there is no second one that
/// goes on where it stopped.
#ifndef CORRAL_NET_LINK_H
#define CORRAL_NET_LINK_H

#include "faults.h"
#include "mailbox.h"
#include "rpc.h"
#include "wire.h"

// --- all links of a process
// -------------------------------------------------------------------------------------------

typedef struct corral_exchange corral_exchange;

/// Starts gRPC. `listen` NULL: only dials. `tls` NULL: without; else it outlives the exchange. Everything
/// that comes is posted to `mailbox`; a stranger's link has no owner until corral_link_set_owner(), and is
/// closed when it does not say a good Hello soon.
CORRAL_MUST_USE corral_status corral_exchange_start(corral_mailbox *mailbox, const corral_address *listen,
                                                    const corral_tls *tls, corral_exchange **out_exchange);
/// Ends all links at once. Their owners need not close them any more, and must not use them. NULL is fine.
void corral_exchange_stop(corral_exchange *exchange);
uint16_t corral_exchange_port(const corral_exchange *exchange);

// --- one link: all calls by the thread that owns the mailbox, unless it says otherwise
// ----------------------------------

/// Begins to connect: CLOSED comes when nobody answers. `faults` may be NULL.
CORRAL_MUST_USE corral_status corral_link_dial(corral_exchange *exchange, const corral_address *address,
                                               const corral_faults *faults, void *owner,
                                               corral_link **out_link);

/// A stranger has shown that it belongs here: it may send what it likes from now on. Say so before it is
/// answered.
void corral_link_trust(corral_link *link);
/// Whose messages these are; trusted, too.
void corral_link_set_owner(corral_link *link, void *owner);
void *corral_link_owner(const corral_link *link);
void corral_link_set_faults(corral_link *link, const corral_faults *faults);

/// Queues a message. A link that is already broken drops it: CLOSED is on its way. CORRAL_ERROR_FULL for a
/// body that is too large. `payload` may be NULL: else `size` bytes at `offset` of it, at most
/// CORRAL_WIRE_CHUNK_MAX, follow as the chunk.
CORRAL_MUST_USE corral_status corral_link_send(corral_link *link, const corral_envelope *envelope,
                                               corral_payload *payload, size_t offset, size_t size);

/// What was sent still goes out, for a second at most; nothing of this link is delivered any more. The link
/// is no longer the caller's.
void corral_link_close(corral_link *link, const char *reason);

// --- bytes that are sent without a copy
// ---------------------------------------------------------------------------------

/// `mailbox` not NULL: RELEASED with `owner` is posted when neither a link nor gRPC needs the bytes any more.
/// Else `bytes` are freed then. The caller holds one reference.
corral_payload *corral_payload_create(void *bytes, size_t size, corral_mailbox *mailbox, void *owner);
void corral_payload_retain(corral_payload *payload);  // [any thread]
void corral_payload_release(corral_payload *payload); // [any thread]
/// How many others hold it: 0 when only the caller does.
unsigned corral_payload_others(const corral_payload *payload);

// --- for the mailbox
// -----------------------------------------------------------------------------------------------------

void corral_link_retain(corral_link *link);
void corral_link_release(corral_link *link);
bool corral_link_is_closed(const corral_link *link); // by its owner

#endif
