// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Private to actors/net: one conversation in envelopes, over either carrier: a link between hosts, or,
/// inside a host, a node's own SOCK_SEQPACKET socket, where an envelope is the tail of a datagram.
#ifndef CORRAL_NET_CHANNEL_H
#define CORRAL_NET_CHANNEL_H

#include "link.h"

#include "corral/actors/message.h"

typedef struct corral_channel {
    int socket;        // -1: none
    corral_link *link; // NULL: none
} corral_channel;

static const corral_channel CORRAL_CHANNEL_NONE = {.socket = -1};

/// Does not wait, except for a reader that lets its socket fill up: a second at most. CORRAL_ERROR_LOST when
/// the other side is gone; a link tells that by CLOSED instead.
CORRAL_MUST_USE corral_status corral_channel_send(const corral_channel *channel,
                                                  Corral__V1__Envelope__BodyCase body_case, void *body);
/// The same, where the loss of the other side is noticed anyhow, by an end-of-file or CLOSED.
void corral_channel_tell(const corral_channel *channel, Corral__V1__Envelope__BodyCase body_case, void *body);

/// Ends it and leaves the channel empty. An empty one is fine.
void corral_channel_close(corral_channel *channel, const char *reason);

/// What has come on a socket: a datagram, and its envelope where its kind carries one.
typedef struct corral_channel_news {
    corral_message message;
    int fds[CORRAL_MESSAGE_FDS_MAX]; // the caller closes them
    corral_envelope *envelope;       // corral_wire_free(), or NULL
} corral_channel_news;

/// Without waiting: CORRAL_ERROR_EMPTY, CORRAL_ERROR_LOST. `buffer` has CORRAL_MESSAGE_TAIL_MAX bytes.
CORRAL_MUST_USE corral_status corral_channel_receive(int socket, uint8_t *buffer,
                                                     corral_channel_news *out_news);
void corral_channel_news_finish(corral_channel_news *news);

#endif
