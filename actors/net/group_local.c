// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Actors on this host: the driver itself is their consumer. An actor that dies may have blocks in the
/// caller's hands; its segment stays mapped until they are given back.
#include "cluster_private.h"

#include "corral/base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define WAIT_FOR_CAUSE (50 * CORRAL_MILLISECOND)

static void free_when_done(corral_group *group, uint32_t index)
{
    group_life *life = group->lives[index];
    if (!life->retired || life->held > 0) return;
    corral_peer_close(life->peer);
    free(life);
    group->lives[index] = NULL;
}

static corral_status keep_life(corral_group *group, corral_peer *peer, uint32_t *out_index)
{
    uint32_t index = 0;
    while (index < group->life_count && group->lives[index] != NULL)
        index++;
    if (index == group->life_count) {
        group_life **lives = realloc(group->lives, (group->life_count + 1) * sizeof *lives);
        if (lives == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for an actor");
        group->lives = lives;
        group->lives[group->life_count++] = NULL;
    }
    group_life *life = calloc(1, sizeof *life);
    if (life == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for an actor");
    life->peer = peer;
    group->lives[index] = life;
    *out_index = index;
    return CORRAL_OK;
}

static corral_status open_peer(corral_group *group, group_actor *actor, int socket, int segment_fd)
{
    const corral_group_config *config = &group->config;
    const corral_peer_config peer_config = {
        .socket = socket,
        .segment_fd = segment_fd,
        .incarnation = actor->incarnation,
        .block_bytes = config->block_bytes,
        .block_count = config->blocks_per_actor,
        .actor = actor->index,
        .actor_count = config->count,
        .class_name = config->class_name,
        .class_config = config->config,
        .class_config_size = config->config_size,
    };
    corral_peer *peer = NULL;
    corral_status status = corral_peer_open(&peer_config, &peer);
    if (status != CORRAL_OK) return status;
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = actor->index};
    if (epoll_ctl(group->epoll, EPOLL_CTL_ADD, corral_peer_fd(peer), &event) != 0)
        status = corral_fail_errno(CORRAL_ERROR_IO, errno, "cannot watch an actor");
    if (status == CORRAL_OK) status = keep_life(group, peer, &actor->life);
    if (status != CORRAL_OK) corral_peer_close(peer);
    return status;
}

void group_local_up(corral_group *group, const corral_message *up, int *fds)
{
    if (up->actor >= group->config.count || fds[0] < 0 || fds[1] < 0) return;
    group_actor *actor = &group->actors[up->actor];
    if (actor->site == NULL || actor->site->node != up->incarnation >> 40 || actor->state == ACTOR_DOWN)
        return;
    if (up->incarnation <= actor->incarnation && actor->incarnation >> 40 == up->incarnation >> 40)
        return;                         // stale
    if (actor->state != ACTOR_ABSENT) { // its end has not been told yet
        group_local_retire(group, actor);
        group_actor_lost(group, actor, "has ended", "");
    }
    actor->incarnation = up->incarnation;
    actor->told_progress = false;
    actor->where[0] = actor->error[0] = '\0';
    const int socket = fds[0], segment_fd = fds[1];
    fds[0] = fds[1] = -1;
    if (open_peer(group, actor, socket, segment_fd) != CORRAL_OK)
        return; // it sees an end, and its node tells
    actor->state = ACTOR_UP;
    group->stats.actors_started++;
    group->stats.actors_alive++;
}

void group_local_retire(corral_group *group, group_actor *actor)
{
    if (actor->relayed || (actor->state != ACTOR_UP && actor->state != ACTOR_READY)) return;
    group_life *life = group->lives[actor->life];
    corral_peer_beacon(life->peer, actor->where, sizeof actor->where);
    epoll_ctl(group->epoll, EPOLL_CTL_DEL, corral_peer_fd(life->peer), NULL);
    life->retired = true;
    free_when_done(group, actor->life);
}

static void on_ready(corral_group *group, group_actor *actor)
{
    actor->state = ACTOR_READY;
    actor->progress_at_ns = corral_now_ns();
    if (group->board.published > 0) {
        const corral_status status = corral_peer_weights(group->lives[actor->life]->peer, &group->board);
        (void)status; // a loss is seen by the next receive
    }
    group_post(group, &(corral_group_event){.kind = CORRAL_GROUP_ACTOR_READY, .actor = actor->index}, NULL);
}

static void on_sealed(corral_group *group, group_actor *actor, const corral_peer_event *event)
{
    group_life *life = group->lives[actor->life];
    group_lease *lease = group_find_open(group, actor, event->tag);
    if (lease == NULL) { // cannot be: the peer knows its open leases
        corral_peer_release(life->peer, event->block);
        return;
    }
    lease->state = LEASE_FREE;
    actor->open_leases--;
    life->held++;
    group_progress(group, actor);
    const corral_group_event fragment = {
        .kind = CORRAL_GROUP_FRAGMENT,
        .actor = actor->index,
        .tag = event->tag,
        .data = event->data,
        .length = event->length,
        .handle = (uint64_t)actor->life << 32 | event->block,
    };
    group_post(group, &fragment, NULL);
}

static void keep_error(group_actor *actor, const corral_peer_event *event)
{
    const size_t length = event->length < sizeof actor->error ? event->length : sizeof actor->error - 1;
    memcpy(actor->error, event->data, length);
    actor->error[length] = '\0';
}

// Its node is about to say how the process ended; the reason is better for it. Should it not end, it is made
// to.
static void on_lost(corral_group *group, group_actor *actor)
{
    group_local_retire(group, actor);
    actor->state = ACTOR_ENDING;
    actor->ending_until_ns = corral_now_ns() + WAIT_FOR_CAUSE;
    group->next_check_ns = 0;
    Corral__V1__Kill message = CORRAL__V1__KILL__INIT;
    message.group = group->id;
    message.actor = actor->index;
    message.incarnation = actor->incarnation;
    if (!actor->site->gone)
        corral_channel_tell(&actor->site->channel, CORRAL__V1__ENVELOPE__BODY_KILL, &message);
}

bool group_local_receive(corral_group *group, group_actor *actor)
{
    if (actor->relayed || (actor->state != ACTOR_UP && actor->state != ACTOR_READY)) return false;
    corral_peer_event event;
    if (corral_peer_receive(group->lives[actor->life]->peer, &event) != CORRAL_OK) return false;
    switch (event.kind) {
    case CORRAL_PEER_READY:
        on_ready(group, actor);
        break;
    case CORRAL_PEER_SEALED:
        on_sealed(group, actor, &event);
        break;
    case CORRAL_PEER_ERROR:
        keep_error(actor, &event);
        break;
    case CORRAL_PEER_LOST:
        on_lost(group, actor);
        break;
    case CORRAL_PEER_REPLY:
        break; // no call is made here
    }
    return true;
}

void group_local_release(corral_group *group, uint32_t index, uint32_t block)
{
    CORRAL_ASSERT(index < group->life_count && group->lives[index] != NULL && group->lives[index]->held > 0);
    group_life *life = group->lives[index];
    life->held--;
    if (!life->retired) corral_peer_release(life->peer, block);
    free_when_done(group, index);
}
