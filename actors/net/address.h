// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Private to actors/net: "HOST:PORT" as people write it.
#ifndef CORRAL_NET_ADDRESS_H
#define CORRAL_NET_ADDRESS_H

#include "corral/base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct corral_address {
    char text[280];  // "localhost:7000", as given
    char host[256];  // "localhost": what a certificate has to name
    char target[96]; // "ipv4:127.0.0.1:7000": a number, so that no name service and no proxy stands between
    char bare[80];   // "127.0.0.1:7000"
    uint16_t port;
    bool loopback;
} corral_address;

/// Looks the host up where it is a name. The sentence names `what` ("--listen", "the head's address").
CORRAL_MUST_USE corral_status corral_address_parse(const char *text, const char *what,
                                                   corral_address *out_address);

/// The same address with another port.
void corral_address_set_port(corral_address *address, uint16_t port);

#endif
