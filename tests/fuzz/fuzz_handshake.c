// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What gRPC says of a handshake that failed, in which a peer has a part: one sentence, that fits. (The PEM
/// files beside it are read by OpenSSL, which is fuzzed where it is made.)
#include "fuzz.h"

#include "tls.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char *details = malloc(size + 1), sentence[64];
    if (details == NULL) abort();
    memcpy(details, bytes, size);
    details[size] = '\0';
    if (corral_tls_explain(details, sentence, sizeof sentence) &&
        (!corral_tls_is_at_fault(sentence) || memchr(sentence, '\0', sizeof sentence) == NULL))
        abort();
    free(details);
    return 0;
}
