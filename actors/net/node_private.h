// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Private to the node: its state, all of it owned by the one thread that runs the loop in node.c.
///
///     node -> sessions (drivers) -> groups -> actors (processes)
///          -> the head, or the link to it
#ifndef CORRAL_NET_NODE_PRIVATE_H
#define CORRAL_NET_NODE_PRIVATE_H

#include "channel.h"
#include "head.h"
#include "runtime.h"

#include "corral/actors/board.h"
#include "corral/actors/hub.h"
#include "corral/actors/peer.h"
#include "corral/actors/spawner.h"
#include "corral/net/node.h"

#include <stdbool.h>
#include <stdint.h>

/// What an epoll event is about. The loop takes one event at a time, so that none refers to what an earlier
/// one has freed.
typedef enum node_watch_kind {
    WATCH_LISTENER,
    WATCH_SIGNALS,
    WATCH_EXITS,
    WATCH_MAIL,
    WATCH_SESSION, // a driver's socket
    WATCH_PEER,    // a relayed actor's socket
    WATCH_STDERR,
    WATCH_HUB,
} node_watch_kind;

typedef struct node_watch {
    node_watch_kind kind;
    int fd; // -1: not watched
    void *thing;
} node_watch;

typedef struct node node;
typedef struct node_session node_session;
typedef struct node_group node_group;

/// One incarnation of a relayed actor, until gRPC has let go of its blocks.
typedef struct node_life {
    corral_peer *peer;
    uint32_t sending;               // blocks on their way
    bool ended;                     // no process, or one that is being ended
    struct node_deferred *deferred; // leases that wait for a block
} node_life;

enum { NODE_TAIL_SIZE = 2048, NODE_TEXT_SIZE = 1024, NODE_HOW_SIZE = 320 };

typedef struct node_actor {
    node_group *group;
    uint32_t index;
    bool mine;            // placed here; the rest is zero where it is not
    pid_t pid;            // 0: no process
    uint64_t incarnation; // of the newest process
    uint32_t restarts, crashes_in_row;
    int64_t wake_at_ns; // when it restarts or goes down; 0: neither
    bool down;
    node_life *life; // relayed and running
    node_watch peer_watch, stderr_watch;
    int64_t started_ns;
    char how[NODE_HOW_SIZE];    // why its node killed it; ""
    char error[NODE_TEXT_SIZE]; // what it said itself
    char tail[NODE_TAIL_SIZE];  // the end of its standard error
    size_t tail_size;
} node_actor;

struct node_group {
    node_session *session;
    node_group *next;
    uint32_t id, count, blocks_per_actor, max_restarts;
    size_t block_bytes, weights_bytes;
    bool relayed, halting;
    int64_t kill_at_ns; // halting: when patience ends; 0: it has ended
    char class_name[64];
    void *config;
    size_t config_size;
    int board_fd;       // read-only; -1: not yet
    corral_board board; // relayed
    uint8_t *staging;   // relayed: weights of which not all pieces are there
    size_t staged;
    node_actor *actors; // [count]
};

struct node_session {
    node *node;
    node_session *next;
    corral_channel channel;
    node_watch watch; // of the socket
    bool known;       // has said a good Hello
    bool ended;       // waits for its groups' processes to go
    bool embedding;   // the driver that started this node
    bool member;      // another node, and we are its head
    bool with_job;    // the head in this node answers it
    uint64_t job;
    uint32_t member_node;
    node_group *groups;
};

struct node {
    const corral_node_config *config;
    char *worker;
    int epoll;
    bool stopping;
    corral_status stop_status;
    char stop_reason[NODE_TEXT_SIZE];
    corral_spawner *spawner;
    corral_mailbox *mailbox;
    corral_exchange *exchange; // NULL: gRPC has not been started
    corral_runtime *runtime;
    node_watch listener, signals, exits, mail;
    corral_address listen;
    char address[128]; // advertised
    char host[40];
    double slots, gpus;
    uint64_t memory_floor; // less than this may not be left; 0: not known yet
    int64_t memory_at_ns;  // when the monitor asks again
    corral_tls tls;
    char token[CORRAL_TOKEN_SIZE], cluster[CORRAL_TOKEN_SIZE];
    uint32_t id;
    uint64_t last_incarnation;
    corral_head *head;      // NULL: a member
    corral_channel to_head; // of a member
    bool joined;
    node_session *sessions;
    corral_hub *hub; // NULL: nobody has needed it
    node_watch hub_watch;
    uint64_t fragments_remote, fragments_told;
    int64_t beat_at_ns;
    int64_t network_at_ns; // when gRPC shall start, if it has not
    uint8_t *buffer;       // [CORRAL_MESSAGE_TAIL_MAX]
};

// node.c
CORRAL_MUST_USE corral_status node_watch_start(node *n, node_watch *watch, node_watch_kind kind, int fd,
                                               void *thing);
void node_watch_stop(node *n, node_watch *watch);                  // leaves the descriptor open
void node_stop(node *n, corral_status status, const char *reason); // the loop ends after this event

// node_member.c: a member and its head
CORRAL_MUST_USE corral_status node_join(node *n);
void node_hear_head(node *n, const corral_envelope *envelope);
void node_tell_head(node *n, Corral__V1__Envelope__BodyCase body_case, void *body);
void node_describe(node *n, Corral__V1__NodeInfo *out_info); // texts belong to the node
void node_beat(node *n);

// node_hub.c: tasks, objects and actors of the runtime
void node_hub_add(node *n, int socket); // takes the descriptor over
void node_hub_turn(node *n);
bool node_hub_exited(node *n, const corral_spawner_exit *exit_info);
int64_t node_hub_next_wake(const node *n);
void node_hub_finish(node *n);
/// The words after --resources. Texts go into `text`.
CORRAL_MUST_USE corral_status node_parse_resources(char *text, corral_resource *out_resources,
                                                   size_t *out_count);

// node_session.c: drivers, and members of a head
CORRAL_MUST_USE corral_status node_session_open(node *n, int socket, bool embedding);
void node_session_receive(node_session *session);
void node_take_mail(node *n, corral_mail *mail);
void node_session_end(node_session *session, const char *reason); // its actors are killed
void node_sessions_sweep(node *n);                                // frees what has ended

// node_group.c: groups of actors
void node_group_open(node_session *session, const Corral__V1__Group *message);
void node_group_board(node_session *session, uint32_t id, int board_fd); // takes the descriptor over
void node_group_start(node_session *session, const Corral__V1__Start *message);
void node_group_halt(node_group *group, int64_t patience_ns);
void node_group_free(node_group *group);
bool node_group_is_empty(const node_group *group); // no process any more
node_group *node_group_find(node_session *session, uint32_t id);
node_actor *node_actor_find(node_session *session, uint32_t group, uint32_t actor, uint64_t incarnation);
void node_groups_wake(node *n, int64_t now_ns); // restarts and kills whose time has come
int64_t node_groups_next_wake(const node *n);   // INT64_MAX: none

// node_actor.c: one actor's process
void node_actor_start(node_actor *actor);
void node_actor_kill(node_actor *actor);
void node_actor_exited(node *n, const corral_spawner_exit *exit_info);
void node_actor_read_stderr(node_actor *actor);
void node_actor_wake(node_actor *actor);
void node_actor_progress(node_actor *actor); // it has given a fragment

// node_memory.c: ends a worker before the kernel ends somebody
void node_memory_check(node *n, int64_t now_ns);
bool node_has_workers(const node *n);

// node_relay.c: actors whose consumer is this node
CORRAL_MUST_USE corral_status node_relay_open(node_actor *actor, int socket, int segment_fd);
void node_relay_receive(node_actor *actor);
void node_relay_retire(node_actor *actor);
void node_relay_released(void *owner); // RELEASED mail
void node_relay_lease(node_session *session, const Corral__V1__Lease *message);
void node_relay_weights(node_session *session, const Corral__V1__Weights *message, corral_rpc_message *chunk,
                        size_t chunk_size);

#endif
