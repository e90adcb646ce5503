// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Private to actors/net: envelopes to bytes and back. What comes from outside is limited in size and in the
/// memory that it may take, and its texts are checked, before anybody sees it.
#ifndef CORRAL_NET_WIRE_H
#define CORRAL_NET_WIRE_H

#include "corral.pb-c.h"
#include "corral/base/status.h"

#include <stddef.h>
#include <stdint.h>

enum {
    CORRAL_WIRE_PROTOCOL = 1,
    CORRAL_WIRE_CHUNK_MAX =
        1 << 20, // larger messages made gRPC slower, and a small quota fails instead of waiting
    CORRAL_WIRE_BODY_MAX = 256 << 10, // an envelope without its chunk
    CORRAL_WIRE_PREFIX = 23,          // chunk_size, seq and ack with their tags
    CORRAL_WIRE_CHUNK_HEAD_MAX = 7,   // tag and length before the chunk
};

typedef Corral__V1__Envelope corral_envelope;

/// An envelope around a body that stays the caller's: corral_envelope_of(CORRAL__V1__ENVELOPE__BODY_START,
/// &start).
corral_envelope corral_envelope_of(Corral__V1__Envelope__BodyCase body_case, void *body);

/// A text for a field of a message: protobuf-c wants `char *`, and packing only reads it.
static inline char *corral_wire_text(const char *text)
{
    return (char *)(uintptr_t)text;
}

/// The body alone, as both roads carry it. The caller frees `*out_bytes`.
CORRAL_MUST_USE corral_status corral_wire_pack(const corral_envelope *envelope, uint8_t **out_bytes,
                                               size_t *out_size);

/// CORRAL_ERROR_CORRUPT for what is no envelope, has no body, or holds a text that is not clean UTF-8.
/// Ended with corral_wire_free().
CORRAL_MUST_USE corral_status corral_wire_unpack(const uint8_t *bytes, size_t size,
                                                 corral_envelope **out_envelope);
void corral_wire_free(corral_envelope *envelope);

/// Makes a text of unknown origin fit to send: what is not clean UTF-8 becomes '?'.
void corral_wire_clean(char *text);

/// What a stream's message begins with.
typedef struct corral_wire_prefix {
    uint32_t chunk_size;
    uint64_t seq, ack;
} corral_wire_prefix;

void corral_wire_prefix_write(const corral_wire_prefix *prefix, uint8_t out_bytes[CORRAL_WIRE_PREFIX]);
CORRAL_MUST_USE corral_status corral_wire_prefix_read(const uint8_t bytes[CORRAL_WIRE_PREFIX],
                                                      corral_wire_prefix *out_prefix);
/// Tag and length of the chunk field; returns how many bytes they take, 0 without a chunk.
size_t corral_wire_chunk_head(uint32_t chunk_size, uint8_t out_bytes[CORRAL_WIRE_CHUNK_HEAD_MAX]);

#endif
