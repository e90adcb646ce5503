// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "node_private.h"

#include "corral/base/clock.h"
#include "corral/base/log.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SIZE_LIMIT (UINT64_C(1) << 40)

enum { ACTORS_LIMIT = 65536, BLOCKS_LIMIT = 4096 };

node_group *node_group_find(node_session *session, uint32_t id)
{
    for (node_group *group = session->groups; group != NULL; group = group->next)
        if (group->id == id && !group->halting) return group;
    return NULL;
}

node_actor *node_actor_find(node_session *session, uint32_t id, uint32_t index, uint64_t incarnation)
{
    node_group *group = node_group_find(session, id);
    if (group == NULL || index >= group->count) return NULL;
    node_actor *actor = &group->actors[index];
    return actor->mine && actor->incarnation == incarnation ? actor : NULL;
}

static bool is_sane(const Corral__V1__Group *message)
{
    const size_t name_length = strlen(message->class_name);
    return message->count >= 1 && message->count <= ACTORS_LIMIT && message->blocks_per_actor >= 1 &&
           message->blocks_per_actor <= BLOCKS_LIMIT && message->block_bytes >= 1 &&
           message->block_bytes <= SIZE_LIMIT && message->weights_bytes <= SIZE_LIMIT && name_length > 0 &&
           name_length < sizeof((node_group *)0)->class_name;
}

// A relayed group's weights lie on a board of ours.
static corral_status open_board(node_group *group)
{
    const size_t capacity = group->weights_bytes > 0 ? group->weights_bytes : 1;
    group->staging = malloc(capacity);
    if (group->staging == NULL)
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for %zu bytes of weights", capacity);
    corral_status status = corral_board_create(capacity, &group->board);
    if (status == CORRAL_OK) status = corral_segment_share(&group->board.segment, &group->board_fd);
    return status;
}

static corral_status create_group(node_session *session, const Corral__V1__Group *message,
                                  node_group **out_group)
{
    if (!is_sane(message) || node_group_find(session, message->group) != NULL)
        return corral_fail(CORRAL_ERROR_INVALID, "group %u: its description makes no sense", message->group);
    node_group *group = calloc(1, sizeof *group);
    if (group == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for group %u", message->group);
    group->session = session;
    group->id = message->group;
    group->count = message->count;
    group->blocks_per_actor = message->blocks_per_actor;
    group->max_restarts = message->max_restarts;
    group->block_bytes = message->block_bytes;
    group->weights_bytes = message->weights_bytes;
    group->relayed = message->relayed;
    group->board_fd = -1;
    group->board.segment.fd = -1;
    memcpy(group->class_name, message->class_name, strlen(message->class_name) + 1);
    group->actors = calloc(group->count, sizeof *group->actors);
    group->config_size = message->config.len;
    group->config = malloc(group->config_size + 1);
    *out_group = group;
    if (group->actors == NULL || group->config == NULL)
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for group %u", group->id);
    if (group->config_size > 0) memcpy(group->config, message->config.data, group->config_size);
    for (uint32_t i = 0; i < group->count; i++) {
        node_actor *actor = &group->actors[i];
        actor->group = group;
        actor->index = i;
        actor->peer_watch.fd = actor->stderr_watch.fd = -1;
    }
    return group->relayed ? open_board(group) : CORRAL_OK;
}

void node_group_open(node_session *session, const Corral__V1__Group *message)
{
    node_group *group = NULL;
    // Relayed actors speak over the link, the others over the socket: one does not go with the other.
    corral_status status =
        message->relayed != (session->channel.link != NULL)
            ? corral_fail(CORRAL_ERROR_INVALID, "group %u came over the wrong road", message->group)
            : create_group(session, message, &group);
    if (status != CORRAL_OK) {
        if (group != NULL) node_group_free(group);
        node_session_end(session, corral_last_error());
        return;
    }
    group->next = session->groups;
    session->groups = group;
}

void node_group_free(node_group *group)
{
    for (uint32_t i = 0; group->actors != NULL && i < group->count; i++)
        node_relay_retire(&group->actors[i]);
    if (group->board_fd >= 0) close(group->board_fd);
    corral_board_finish(&group->board);
    free(group->staging);
    free(group->actors);
    free(group->config);
    free(group);
}

void node_group_board(node_session *session, uint32_t id, int board_fd)
{
    node_group *group = node_group_find(session, id);
    if (group == NULL || group->relayed || group->board_fd >= 0)
        close(board_fd);
    else
        group->board_fd = board_fd;
}

void node_group_start(node_session *session, const Corral__V1__Start *message)
{
    node_group *group = node_group_find(session, message->group);
    if (group == NULL || group->board_fd < 0) return;
    for (size_t i = 0; i < message->n_actors; i++) {
        if (message->actors[i] >= group->count) continue;
        node_actor *actor = &group->actors[message->actors[i]];
        if (actor->mine && !actor->down) continue; // it runs, or is being restarted
        actor->mine = true;
        actor->down = false;
        actor->crashes_in_row = 0;
        node_actor_start(actor);
    }
}

void node_group_halt(node_group *group, int64_t patience_ns)
{
    group->halting = true;
    group->kill_at_ns = corral_now_ns() + patience_ns;
    for (uint32_t i = 0; i < group->count; i++) {
        node_actor *actor = &group->actors[i];
        actor->wake_at_ns = 0;
        node_relay_retire(actor); // says STOP; for a local driver's actors, the driver has said it
        if (patience_ns == 0) node_actor_kill(actor);
    }
    if (patience_ns == 0) group->kill_at_ns = 0;
}

bool node_group_is_empty(const node_group *group)
{
    for (uint32_t i = 0; i < group->count; i++)
        if (group->actors[i].pid != 0) return false;
    return true;
}

void node_groups_wake(node *n, int64_t now_ns)
{
    for (node_session *s = n->sessions; s != NULL; s = s->next)
        for (node_group *g = s->groups; g != NULL; g = g->next) {
            const bool kill = g->halting && g->kill_at_ns != 0 && g->kill_at_ns <= now_ns;
            if (kill) g->kill_at_ns = 0;
            for (uint32_t i = 0; i < g->count; i++) {
                node_actor *actor = &g->actors[i];
                if (kill) node_actor_kill(actor);
                if (actor->wake_at_ns != 0 && actor->wake_at_ns <= now_ns) node_actor_wake(actor);
            }
        }
}

int64_t node_groups_next_wake(const node *n)
{
    int64_t next = INT64_MAX;
    for (const node_session *s = n->sessions; s != NULL; s = s->next)
        for (const node_group *g = s->groups; g != NULL; g = g->next) {
            if (g->kill_at_ns != 0 && g->kill_at_ns < next) next = g->kill_at_ns;
            for (uint32_t i = 0; i < g->count; i++)
                if (g->actors[i].wake_at_ns != 0 && g->actors[i].wake_at_ns < next)
                    next = g->actors[i].wake_at_ns;
        }
    return next;
}
