// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Private to actors/net: the head of a cluster: who is in it, what runs for whom, and where. One node's loop
/// owns it; it answers through the channels that it is given.
#ifndef CORRAL_NET_HEAD_H
#define CORRAL_NET_HEAD_H

#include "channel.h"

typedef struct corral_head corral_head;

/// `self` is the node that it lives in, with id 1. `cluster` is the cluster's uuid.
CORRAL_MUST_USE corral_status corral_head_create(const char *cluster, const Corral__V1__NodeInfo *self,
                                                 corral_head **out_head);
void corral_head_destroy(corral_head *head);
/// The head's own node can be reached from now on.
void corral_head_set_address(corral_head *head, const char *address);

/// Sends Welcome with all nodes. `channel` stays the caller's and must outlive the membership.
CORRAL_MUST_USE corral_status corral_head_join(corral_head *head, const Corral__V1__NodeInfo *node,
                                               const corral_channel *channel, uint32_t *out_node);
/// Its actors are placed elsewhere; their drivers are told.
void corral_head_leave(corral_head *head, uint32_t node);
/// ActorState and Beat of a member; of the head's own node, too.
void corral_head_note(corral_head *head, uint32_t node, const corral_envelope *envelope);

/// A driver has come. Sends Welcome. `channel` stays the caller's and must outlive the job.
CORRAL_MUST_USE corral_status corral_head_begin_job(corral_head *head, const Corral__V1__Hello *hello,
                                                    const corral_channel *channel, uint64_t *out_job);
void corral_head_end_job(corral_head *head, uint64_t job);
/// Place, Unplace and Unreachable of a driver; false for anything else.
bool corral_head_hear(corral_head *head, uint64_t job, const corral_envelope *envelope);

/// The cluster as JSON; NULL without memory.
char *corral_head_status(const corral_head *head);

typedef enum corral_actor_state {
    CORRAL_ACTOR_PLACED, // not yet started
    CORRAL_ACTOR_RUNNING,
    CORRAL_ACTOR_RESTARTING,
    CORRAL_ACTOR_DOWN,
    CORRAL_ACTOR_STATE_COUNT
} corral_actor_state;

#endif
