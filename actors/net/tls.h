// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Private to actors/net: who we are in front of other hosts, and what a handshake that failed means.
#ifndef CORRAL_NET_TLS_H
#define CORRAL_NET_TLS_H

#include "corral/base/status.h"

#include <stdbool.h>
#include <stddef.h>

/// PEM texts. All NULL: no TLS.
typedef struct corral_tls {
    char *authority, *certificate, *key;
} corral_tls;

/// Reads ca.crt, node.crt and node.key of `folder` and checks that they belong together and hold today, so
/// that what is wrong with them is said here and not by a stranger. `folder` NULL or "": no TLS.
CORRAL_MUST_USE corral_status corral_tls_load(const char *folder, corral_tls *out_tls);
/// The checks alone; `name` is for the sentence.
CORRAL_MUST_USE corral_status corral_tls_check(const corral_tls *tls, const char *name);
void corral_tls_finish(corral_tls *tls); // wipes the key

/// What gRPC or OpenSSL says of a failed handshake, as a sentence that begins with "TLS: "; false where
/// `details` are about something else.
bool corral_tls_explain(const char *details, char *out_sentence, size_t size);
/// The sentence is one of those: trying again does not help.
bool corral_tls_is_at_fault(const char *sentence);

#endif
