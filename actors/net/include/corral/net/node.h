// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A node: the agent of one host, which may also be the head of its cluster. What corral-node runs.
#ifndef CORRAL_NET_NODE_H
#define CORRAL_NET_NODE_H

#include "corral/base/status.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct corral_node_config {
    const char *listen;    // "HOST:PORT"; port 0 picks a free one
    const char *advertise; // what others dial, when it differs from `listen`; or NULL
    const char *join;      // the head's "HOST:PORT", or NULL: this node is the head
    double slots;          // CPU slots offered; < 0: the cores of this cgroup
    double gpus;           // GPUs offered; < 0: those that the driver shows this process
    const char *resources; // more of what is offered: "licence=2,camera=1"; NULL: none
    double store_bytes;    // shared memory for objects; 0: 30 % of what is free
    double memory_bytes;   // that its workers may hold together; 0: what host and control groups leave
    const char *worker;    // the worker program; NULL: corral-worker beside this program
    const char *token;     // NULL: as in corral_cluster_config; a head makes one
    const char *faults;    // see net/faults.h
    const char *tls;       // a folder of `corral certs`; NULL: CORRAL_TLS, and an embedded node goes without
    bool insecure;         // allow an address that is not loopback without TLS
    int embedded_fd; // >= 0: one end of a corral_message_pair() whose other end our driver holds: it is our
                     // first session, and the node ends when it closes; -1: a node started by hand
} corral_node_config;

corral_node_config corral_node_config_default(void);

/// Runs until SIGTERM or SIGINT (drains: its actors stop, its jobs are told), or until the head or the
/// embedding driver is gone. `announce` gets one line when the node is up ("head at 127.0.0.1:7000, 2
/// slots"); may be NULL. Call on the main thread of a process without other threads.
CORRAL_MUST_USE corral_status corral_node_run(const corral_node_config *config,
                                              void (*announce)(void *context, const char *line),
                                              void *context);

#ifdef __cplusplus
}
#endif
#endif
