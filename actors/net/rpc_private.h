// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What the three files of rpc share: messages as they come, and how a peer is dialled. Not for others.
#ifndef CORRAL_NET_RPC_PRIVATE_H
#define CORRAL_NET_RPC_PRIVATE_H

#include "rpc.h"

#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/slice.h>
#include <grpc/support/time.h>

enum {
    KEEPALIVE_MS = 5000,
    MESSAGE_LIMIT = (1 << 20) + (512 << 10), // a chunk of 1 MiB and an envelope of 256 KiB
};

/// grpc_init(), with gRPC's own log sent to ours. A server with TLS warns of
/// handshakes that fail: nobody else will.
void corral_rpc_init(bool serving);

/// Takes over the buffer, also on failure (NULL: no memory).
corral_rpc_message *corral_rpc_wrap(grpc_byte_buffer *buffer);

grpc_arg corral_rpc_integer(const char *key, int value);
/// A connection of its own to a peer.
grpc_channel *corral_rpc_dial(const corral_address *address, const corral_tls *tls);
/// NULL: OpenSSL does not take them.
grpc_server_credentials *corral_rpc_server_credentials(const corral_tls *tls);
grpc_call *corral_rpc_call(grpc_channel *channel, grpc_completion_queue *queue, const char *method,
                           gpr_timespec deadline);
/// A point of time `wait_ns` from now.
gpr_timespec corral_rpc_in_ns(int64_t wait_ns);

#endif
