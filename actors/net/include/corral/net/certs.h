// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A small certificate authority for one cluster: what `corral certs` makes, and `--tls` reads.
///
///     FOLDER/ca/ca.crt, ca.key                       stays with whoever makes certificates
///     FOLDER/HOST/ca.crt, node.crt, node.key         goes to that host, as a folder
#ifndef CORRAL_NET_CERTS_H
#define CORRAL_NET_CERTS_H

#include "corral/base/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Makes the authority where `folder` has none yet (it holds for ten years), and a folder for each of
/// `hosts`: names and addresses that others dial it by, with commas between ("gpu1,10.0.0.7"); the first
/// names the folder. A host's certificate holds for `valid_seconds` from now. Folders appear whole or not at
/// all; one that is there already is CORRAL_ERROR_EXISTS, and nothing of it changes.
CORRAL_MUST_USE corral_status corral_certs_create(const char *folder, const char *const *hosts, size_t count,
                                                  int64_t valid_seconds);

#ifdef __cplusplus
}
#endif
#endif
