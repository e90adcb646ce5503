// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The driver's side of a cluster: connect, start a group of actors, publish weights, lease blocks, take
/// fragments.
///
/// The same calls serve one host and many. The head places the actors; those on the driver's own host are
/// reached through shared memory, the others through one gRPC stream per node (with CORRAL_TRANSPORT_GRPC all
/// of them). Fragments from other nodes are gathered into blocks that were reserved for them at start.
///
/// [One thread at a time per cluster; the library's own threads stay inside.]
#ifndef CORRAL_NET_CLUSTER_H
#define CORRAL_NET_CLUSTER_H

#include "corral/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum corral_transport {
    CORRAL_TRANSPORT_SHARED_MEMORY, // inside a host; gRPC between hosts
    CORRAL_TRANSPORT_GRPC,          // gRPC everywhere
} corral_transport;

typedef struct corral_cluster corral_cluster;

typedef struct corral_cluster_config {
    const char *address;           // "HOST:PORT" of the head, or NULL: an agent of our own, gone with us
    unsigned slots;                // of our own agent: what this run asks for
    const char *const *node_flags; // of our own agent: more of its command line, ends with NULL; NULL: none
    const char *token; // NULL: CORRAL_TOKEN, else the file that a head of this user on this host wrote
    const char
        *tls; // a folder of `corral certs`; NULL: CORRAL_TLS, without it no TLS. Our own agent needs none
    const char *faults; // fault injection on gRPC messages, "" or NULL for none: see net/faults.h
    int64_t connect_timeout_ns;
} corral_cluster_config;

/// No address, 0 slots, 10 s.
corral_cluster_config corral_cluster_config_default(void);

/// Starts or finds the agent, and says hello to the head. Messages say what to do: "no head answers at
/// 127.0.0.1:7000 within 10 s; start one with `corral node --head --listen 127.0.0.1:7000`".
CORRAL_MUST_USE corral_status corral_cluster_connect(const corral_cluster_config *config,
                                                     corral_cluster **out_cluster);
/// Ends the job: its actors stop, an agent of our own ends. Returns when that is done, at the latest after 3
/// s. NULL is fine.
void corral_cluster_disconnect(corral_cluster *cluster);

/// The cluster's instruction-set levels agree (see core/backend.h); when not, `*out_note` says which nodes
/// differ.
bool corral_cluster_levels_agree(const corral_cluster *cluster, const char **out_note);

typedef struct corral_group_config {
    const char *class_name; // of the actors
    uint32_t count;         // of actors, at least 1
    double cpus;            // slots that each takes
    double gpus;
    const void *config; // handed to each actor's create()
    size_t config_size;
    size_t block_bytes; // of one lease
    uint32_t blocks_per_actor;
    size_t weights_bytes; // the largest publish
    corral_transport transport;
    int64_t lease_timeout_ns; // an open lease older than this: the actor is killed and restarted; 0: never
    uint32_t max_restarts;    // restarts in a row without a fragment before the actor stays down
} corral_group_config;

typedef struct corral_group corral_group;

typedef enum corral_group_event_kind {
    CORRAL_GROUP_ACTOR_READY, // started (again), has the newest weights: may be leased to
    CORRAL_GROUP_FRAGMENT,    // a filled block: give back with corral_group_release()
    CORRAL_GROUP_ACTOR_LOST,  // gone with its open leases; it is being restarted
    CORRAL_GROUP_ACTOR_DOWN,  // gone for good; follows its last LOST
    CORRAL_GROUP_FAILED,      // no actor can come any more: the only agent or the head is gone
} corral_group_event_kind;

typedef struct corral_group_event {
    corral_group_event_kind kind;
    uint32_t actor;
    uint64_t tag;     // FRAGMENT: of its lease
    const void *data; // FRAGMENT: 64-byte aligned, read-only, until released
    size_t length;
    bool remote;        // FRAGMENT: came over gRPC
    uint64_t handle;    // FRAGMENT: for release
    bool timed_out;     // LOST: it was killed since a lease was older than lease_timeout_ns
    bool explained;     // LOST: the actor or its node said itself what is wrong; it will be the same again
    const char *reason; // LOST, DOWN, FAILED: a sentence with the cause; until the next call
} corral_group_event;

/// Asks the head for places and starts the actors; returns when they are placed, not when they are ready.
/// What can never be satisfied is CORRAL_ERROR_INFEASIBLE, by name: "99 GPUs asked for, the cluster has 0".
CORRAL_MUST_USE corral_status corral_group_create(corral_cluster *cluster, const corral_group_config *config,
                                                  corral_group **out_group);
/// Stops the actors and waits until they are gone, at the latest 3 s. NULL is fine.
void corral_group_destroy(corral_group *group);

/// Makes `bytes` the newest weights: leases granted after this are filled after the actor has them.
CORRAL_MUST_USE corral_status corral_group_publish(corral_group *group, uint64_t version, const void *bytes,
                                                   size_t size);
/// CORRAL_ERROR_FULL when the actor has no free block, CORRAL_ERROR_LOST when it is not up. `request` is at
/// most 64 KiB.
CORRAL_MUST_USE corral_status corral_group_lease(corral_group *group, uint32_t actor, uint64_t tag,
                                                 const void *request, size_t size);
/// The next event, waiting at most timeout_ns (-1: for ever; 0: not at all): CORRAL_ERROR_EMPTY when there is
/// none. Returns CORRAL_ERROR_CANCELLED when corral_group_interrupt() was called.
CORRAL_MUST_USE corral_status corral_group_next(corral_group *group, int64_t timeout_ns,
                                                corral_group_event *out_event);
void corral_group_release(corral_group *group, const corral_group_event *fragment);

/// Makes a waiting corral_group_next() return. [any thread; safe in a signal handler]
void corral_group_interrupt(corral_group *group);

typedef struct corral_group_stats {
    uint64_t actors_started; // processes, restarts counted
    uint64_t actors_lost;
    uint64_t fragments_remote;
    uint64_t bytes_remote;
    uint32_t actors_alive;
} corral_group_stats;

corral_group_stats corral_group_get_stats(const corral_group *group);

// --- looking at a cluster
// --------------------------------------------------------------------------------------------

/// What tasks, objects and actors are in the hub of one node (the head's by default), as JSON: see
/// hub_report.c.
CORRAL_MUST_USE corral_status corral_cluster_runtime_status(const char *address, const char *token,
                                                            char **out_json);

/// What `corral status --json` prints: {"cluster": ..., "nodes": [...], "actors": [...], "fragments_remote":
/// n}. `address` NULL: the one running head of this user on this host. The caller frees `*out_json`.
CORRAL_MUST_USE corral_status corral_cluster_status(const char *address, const char *token, char **out_json);

#ifdef __cplusplus
}
#endif
#endif
