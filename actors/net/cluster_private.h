// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Private to the driver's side: the cluster as a driver sees it. Everything here belongs to the one thread
/// that calls corral_cluster_* and corral_group_*.
///
///     cluster -> sites: conversations with nodes, one of them with the head
///             -> groups -> actors, each at one site
#ifndef CORRAL_NET_CLUSTER_PRIVATE_H
#define CORRAL_NET_CLUSTER_PRIVATE_H

#include "channel.h"
#include "runtime.h"

#include "corral/actors/board.h"
#include "corral/actors/peer.h"
#include "corral/net/cluster.h"

#include <stdatomic.h>
#include <sys/types.h>

enum { TEXT_SIZE = 512, REASON_SIZE = 2048 };

/// One conversation: over a node's socket (its actors are reached through shared memory), or over a link.
typedef struct cluster_site {
    struct cluster_site *next;
    struct corral_cluster *cluster;
    uint32_t node; // 0: not known yet, or a conversation with the head alone
    corral_channel channel;
    bool gone, refused;     // refused: its TLS does not take us, or we do not take it
    char reason[TEXT_SIZE]; // why
} cluster_site;

typedef struct cluster_node {
    uint32_t id;
    char address[128], host[40], socket[128], level[64];
} cluster_node;

/// What was asked of the head last.
typedef struct cluster_request {
    uint32_t id;
    bool answered;
    corral_status status;
    char text[TEXT_SIZE];
} cluster_request;

struct corral_cluster {
    char address[128]; // of the head; an embedded node tells it late
    corral_tls tls;
    char token[CORRAL_TOKEN_SIZE], id[CORRAL_TOKEN_SIZE];
    char *faults_text;
    corral_faults faults;
    int64_t connect_timeout_ns;
    int epoll; // sites' sockets and the mailbox
    corral_mailbox *mailbox;
    corral_exchange *exchange; // NULL: gRPC has not been needed
    cluster_site *sites, *head_site;
    uint64_t job; // 0: not welcomed yet
    cluster_node *nodes;
    size_t node_count;
    pid_t node_pid; // of our own agent; 0: none
    cluster_request request;
    uint32_t last_group;
    corral_group *groups;
    char note[TEXT_SIZE];
    uint8_t *buffer; // [CORRAL_MESSAGE_TAIL_MAX]
};

// cluster.c
/// Handles what has come, waiting for it at most timeout_ns.
void cluster_pump(corral_cluster *cluster, int64_t timeout_ns);
void cluster_site_lost(cluster_site *site, const char *reason);
/// The head's sentence when it is gone, else NULL.
const char *cluster_failure(const corral_cluster *cluster);

// cluster_site.c
CORRAL_MUST_USE corral_status cluster_site_socket(corral_cluster *cluster, int socket,
                                                  cluster_site **out_site);
CORRAL_MUST_USE corral_status cluster_site_dial(corral_cluster *cluster, const corral_address *address,
                                                uint32_t node, cluster_site **out_site);
CORRAL_MUST_USE corral_status cluster_say_hello(cluster_site *site, Corral__V1__Purpose purpose);
/// The site for actors on `node`, opened where there is none yet.
CORRAL_MUST_USE corral_status cluster_site_for(corral_cluster *cluster, uint32_t node,
                                               corral_transport transport, cluster_site **out_site);
void cluster_site_close(cluster_site *site, const char *reason);

// embedded.c
CORRAL_MUST_USE corral_status cluster_embed(corral_cluster *cluster, unsigned slots,
                                            const char *const *node_flags);
void cluster_await_node(corral_cluster *cluster, int64_t timeout_ns); // then kills it

// --- groups
// -------------------------------------------------------------------------------------------------------------

/// One incarnation of an actor on this host, until the caller has released its last block.
typedef struct group_life {
    corral_peer *peer;
    uint32_t held; // blocks in the caller's hands
    bool retired;
} group_life;

typedef enum lease_state {
    LEASE_FREE,
    LEASE_OPEN,
    LEASE_HELD, // relayed: filled, in the caller's hands
} lease_state;

typedef struct group_lease {
    lease_state state;
    bool doomed; // held, and its actor is lost: no lease any more, but its memory is in use
    uint64_t tag;
    int64_t granted_at_ns;
    size_t gathered; // relayed: bytes that have come
} group_lease;

typedef enum group_actor_state {
    ACTOR_ABSENT, // placed, starting, or being restarted
    ACTOR_UP,     // its process runs
    ACTOR_READY,
    ACTOR_ENDING, // its socket is closed; the node will say why
    ACTOR_DOWN,
} group_actor_state;

typedef struct group_actor {
    uint32_t index;
    group_actor_state state;
    cluster_site *site;
    bool relayed;
    uint64_t incarnation; // of the newest process that we have heard of
    uint32_t life;        // local: its index in the group's lives
    group_lease *leases;  // [blocks_per_actor]
    uint32_t open_leases;
    uint8_t *memory; // relayed: [blocks_per_actor] blocks
    int64_t progress_at_ns, ending_until_ns;
    bool told_progress, killed;
    uint32_t crashes_in_row;
    char where[TEXT_SIZE], error[TEXT_SIZE];
    char *first_reason; // of the crashes in a row
} group_actor;

typedef struct group_event {
    corral_group_event event;
    char *reason; // owned
} group_event;

enum { WEIGHTS_IN_FLIGHT = 4 };

struct corral_group {
    corral_cluster *cluster;
    corral_group *next;
    corral_group_config config; // its pointers are copies of ours
    uint32_t id;
    size_t stride; // of relayed blocks
    int epoll, interrupt;
    corral_board board; // for actors on this host
    bool has_board;
    corral_payload *weights[WEIGHTS_IN_FLIGHT]; // relayed: the newest at weights_next - 1
    unsigned weights_next;
    const void *weights_bytes; // of the newest
    size_t weights_size;
    uint64_t weights_version;
    group_actor *actors;
    group_life **lives;
    uint32_t life_count;
    cluster_site **sites; // that know this group
    size_t site_count, halted_count;
    group_event *queue; // ring
    size_t queue_capacity, queue_begin, queue_count;
    char *last_reason;
    char *failure;         // NULL: none
    int64_t next_check_ns; // of the leases' age
    corral_group_stats stats;
};

// group_events.c: the queue, and how an end is told
void group_post(corral_group *group, const corral_group_event *event, char *reason);
bool group_pop(corral_group *group, corral_group_event *out_event);
void group_actor_lost(corral_group *group, group_actor *actor, const char *how, const char *tail);
void group_actor_down(corral_group *group, group_actor *actor, const char *why);
void group_fail(corral_group *group, const char *reason);      // told once per call, the first reason stays
CORRAL_PRINTF(1, 2) char *group_text(const char *format, ...); // NULL without memory, which readers know

// group_place.c: where the actors are
CORRAL_MUST_USE corral_status group_place(corral_group *group, const Corral__V1__Placed *placed);
void group_site_lost(corral_group *group, cluster_site *site);
void group_homeless(corral_group *group, const Corral__V1__Homeless *message);

// group_local.c: actors on this host
void group_local_up(corral_group *group, const corral_message *up, int *fds); // takes the descriptors over
bool group_local_receive(corral_group *group, group_actor *actor);            // false: nothing there
void group_local_retire(corral_group *group, group_actor *actor);
void group_local_release(corral_group *group, uint32_t life, uint32_t block);

// group_relayed.c: actors behind a link
CORRAL_MUST_USE corral_status group_relayed_prepare(corral_group *group, group_actor *actor);
CORRAL_MUST_USE corral_status group_relayed_lease(corral_group *group, group_actor *actor, uint64_t tag,
                                                  const void *request, size_t size);
void group_relayed_ready(corral_group *group, const Corral__V1__Ready *message);
void group_relayed_fragment(corral_group *group, const Corral__V1__Fragment *message,
                            corral_rpc_message *chunk, size_t chunk_size);
void group_relayed_release(corral_group *group, group_actor *actor, uint32_t block);
CORRAL_MUST_USE corral_status group_relayed_publish(corral_group *group, uint64_t version, const void *bytes,
                                                    size_t size);
/// An actor has moved to the other road: the newest weights have to be there before it is.
CORRAL_MUST_USE corral_status group_relayed_catch_up(corral_group *group, cluster_site *site);
CORRAL_MUST_USE corral_status group_relayed_to_board(corral_group *group);

// group.c
void group_gone(corral_group *group, const Corral__V1__Gone *message);
group_actor *group_find_actor(corral_group *group, uint32_t index, uint64_t incarnation);
corral_group *group_find(corral_cluster *cluster, uint32_t id);
group_lease *group_find_open(const corral_group *group, group_actor *actor, uint64_t tag);
void group_progress(corral_group *group, group_actor *actor);

#endif
