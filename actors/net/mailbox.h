// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Private to actors/net: where gRPC's threads leave things for the one thread that owns the state.
#ifndef CORRAL_NET_MAILBOX_H
#define CORRAL_NET_MAILBOX_H

#include "rpc.h"
#include "wire.h"

typedef struct corral_link corral_link;
typedef struct corral_payload corral_payload;

typedef enum corral_mail_kind {
    CORRAL_MAIL_MESSAGE,  // of a link, in order, each once
    CORRAL_MAIL_CLOSED,   // of a link: its last
    CORRAL_MAIL_RELEASED, // a payload's bytes are no longer needed
    CORRAL_MAIL_QUESTION, // a unary call to answer with corral_rpc_answer()
} corral_mail_kind;

typedef struct corral_mail {
    corral_mail_kind kind;
    corral_link *link;         // MESSAGE, CLOSED
    corral_envelope *envelope; // MESSAGE
    corral_rpc_message *chunk; // MESSAGE: reads on with the chunk's first byte; NULL without one
    size_t chunk_size;
    void *owner; // RELEASED: as given to corral_payload_create()
    corral_rpc_question *question;
    char text[256]; // CLOSED: why
    struct corral_mail *next;
} corral_mail;

typedef struct corral_mailbox corral_mailbox;

CORRAL_MUST_USE corral_status corral_mailbox_create(corral_mailbox **out_mailbox);
/// Drops what is in it. After everything that posts has ended.
void corral_mailbox_destroy(corral_mailbox *mailbox);

/// Readable when mail may be there.
int corral_mailbox_fd(const corral_mailbox *mailbox);

/// Takes over `mail`, which malloc() made. [any thread]
void corral_mailbox_post(corral_mailbox *mailbox, corral_mail *mail);

/// The oldest, or NULL. Mail of links that their owner has closed is dropped here. [the owner]
corral_mail *corral_mailbox_take(corral_mailbox *mailbox);
void corral_mail_free(corral_mail *mail);
/// Questions are answered with "no such method"; everything else stays.
void corral_mailbox_drop_questions(corral_mailbox *mailbox);

#endif
