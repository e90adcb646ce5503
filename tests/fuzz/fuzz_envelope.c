// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Reads the bytes as the body of an envelope, as it comes from a stranger over gRPC. What is let through has
/// a body, and packs again into an envelope that is let through.
#include "fuzz.h"

#include "wire.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    corral_envelope *envelope = NULL, *again = NULL;
    corral_wire_prefix prefix;
    if (size >= CORRAL_WIRE_PREFIX && corral_wire_prefix_read(bytes, &prefix) == CORRAL_OK)
        CORRAL_ASSERT(prefix.chunk_size <= CORRAL_WIRE_CHUNK_MAX);
    if (corral_wire_unpack(bytes, size, &envelope) != CORRAL_OK) return 0;
    CORRAL_ASSERT(envelope->body_case != CORRAL__V1__ENVELOPE__BODY__NOT_SET && envelope->hello != NULL);
    uint8_t *packed = NULL;
    size_t packed_size = 0;
    CORRAL_ASSERT(corral_wire_pack(envelope, &packed, &packed_size) == CORRAL_OK);
    CORRAL_ASSERT(corral_wire_unpack(packed, packed_size, &again) == CORRAL_OK);
    CORRAL_ASSERT(again->body_case == envelope->body_case);
    free(packed);
    corral_wire_free(again);
    corral_wire_free(envelope);
    return 0;
}
