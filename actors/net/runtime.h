// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Private to actors/net: the user's runtime folder, where nodes leave what clients of the same user need to
/// find them.
///
///     $XDG_RUNTIME_DIR/corral-UID/       (else below TMPDIR or /tmp), 0700 and ours, or it is not used
///         ID.lock                        flock()ed while the node lives
///         ID.sock                        where drivers attach
///         head-PORT, node-PORT           0600: how to reach it, and its token
///
/// Everything of a node goes when it ends; what a killed one left goes when its driver or the
/// next node sees it.
#ifndef CORRAL_NET_RUNTIME_H
#define CORRAL_NET_RUNTIME_H

#include "corral/base/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { CORRAL_TOKEN_SIZE = 33 }; // 32 hex digits

typedef struct corral_runtime corral_runtime;

CORRAL_MUST_USE corral_status corral_runtime_open(corral_runtime **out_runtime);
/// Removes what this node put there, and the folder when it was the last. NULL is fine.
void corral_runtime_close(corral_runtime *runtime);

/// Removes what killed nodes left. For whoever has just seen one end.
void corral_runtime_sweep(void);

/// A listening socket that corral_runtime_attach() finds. The caller closes it.
CORRAL_MUST_USE corral_status corral_runtime_listen(corral_runtime *runtime, int *out_socket);
/// "" before corral_runtime_listen().
const char *corral_runtime_socket_path(const corral_runtime *runtime);
CORRAL_MUST_USE corral_status corral_runtime_announce(corral_runtime *runtime, bool head, const char *address,
                                                      uint16_t port, const char *token);

typedef struct corral_runtime_entry {
    char address[128], socket[128], token[CORRAL_TOKEN_SIZE];
    pid_t pid;
} corral_runtime_entry;

/// The node of this user that listens at `port`; port 0: the one head. CORRAL_ERROR_NOT_FOUND when there is
/// none.
CORRAL_MUST_USE corral_status corral_runtime_find(uint16_t port, corral_runtime_entry *out_entry);

/// Connects to a node's socket, and makes sure that it belongs to this user.
CORRAL_MUST_USE corral_status corral_runtime_attach(const char *socket_path, int *out_socket);
/// Whether the other end of a unix socket is a process of this user.
bool corral_runtime_peer_is_ours(int socket);

/// Fresh from the kernel, as hex digits: `size` - 1 of them.
CORRAL_MUST_USE corral_status corral_runtime_random(char *out_hex, size_t size);

#endif
