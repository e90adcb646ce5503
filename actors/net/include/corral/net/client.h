// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Opening a client of the runtime: with an agent of its own, or with the agent of this host.
#ifndef CORRAL_NET_CLIENT_H
#define CORRAL_NET_CLIENT_H

#include "corral/actors/client.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Local where the configuration says so. Without an address it starts an agent, which ends with the client;
/// with the address of a head it uses the agent of the same user on this host. Call before the process has
/// other threads, or from one that lives as long as the client. End it with corral_client_close().
CORRAL_MUST_USE corral_status corral_client_connect(const corral_client_config *config,
                                                    corral_client **out_client);

#ifdef __cplusplus
}
#endif
#endif
