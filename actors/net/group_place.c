// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Where a group's actors are. A node hears of the group once, then which of its actors it shall start.
#include "cluster_private.h"

#include "corral/base/clock.h"

#include <stdlib.h>
#include <unistd.h>

static bool knows_group(const corral_group *group, const cluster_site *site)
{
    for (size_t i = 0; i < group->site_count; i++)
        if (group->sites[i] == site) return true;
    return false;
}

static corral_status describe_group(corral_group *group, cluster_site *site)
{
    const corral_group_config *config = &group->config;
    Corral__V1__Group message = CORRAL__V1__GROUP__INIT;
    message.group = group->id;
    message.class_name = corral_wire_text(config->class_name);
    message.count = config->count;
    message.block_bytes = config->block_bytes;
    message.blocks_per_actor = config->blocks_per_actor;
    message.weights_bytes = config->weights_bytes;
    message.max_restarts = config->max_restarts;
    message.relayed = site->channel.link != NULL;
    if (message.relayed) {
        message.config.data = (uint8_t *)(uintptr_t)config->config;
        message.config.len = config->config_size;
    }
    return corral_channel_send(&site->channel, CORRAL__V1__ENVELOPE__BODY_GROUP, &message);
}

// The actors on this host read weights from a board that only we write.
static corral_status hand_board(corral_group *group, cluster_site *site)
{
    corral_status status = CORRAL_OK;
    if (!group->has_board) {
        const size_t capacity = group->config.weights_bytes > 0 ? group->config.weights_bytes : 1;
        status = corral_board_create(capacity, &group->board);
        if (status != CORRAL_OK) return status;
        group->has_board = true;
        status = group_relayed_to_board(group);
        if (status != CORRAL_OK) return status;
    }
    int fd = -1;
    status = corral_segment_share(&group->board.segment, &fd);
    if (status != CORRAL_OK) return status;
    const corral_message message = {.kind = CORRAL_MESSAGE_BOARD, .tag = group->id};
    status = corral_message_send(site->channel.socket, &message, NULL, &fd, 1, CORRAL_SECOND);
    close(fd);
    return status;
}

static corral_status introduce(corral_group *group, cluster_site *site)
{
    if (knows_group(group, site)) return CORRAL_OK;
    cluster_site **sites = realloc(group->sites, (group->site_count + 1) * sizeof *sites);
    if (sites == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for one more node");
    group->sites = sites;
    corral_status status = describe_group(group, site);
    if (status == CORRAL_OK && site->channel.link == NULL) status = hand_board(group, site);
    if (status != CORRAL_OK) return status;
    group->sites[group->site_count++] = site;
    return site->channel.link != NULL ? group_relayed_catch_up(group, site) : CORRAL_OK;
}

// The actor's new place is known; what it was at the old one is over.
static corral_status settle(corral_group *group, const Corral__V1__Placement *placement)
{
    if (placement->actor >= group->config.count)
        return corral_fail(CORRAL_ERROR_CORRUPT, "the head places actor %u of %u", placement->actor,
                           group->config.count);
    group_actor *actor = &group->actors[placement->actor];
    if (actor->state == ACTOR_UP || actor->state == ACTOR_READY || actor->state == ACTOR_ENDING) {
        group_local_retire(group, actor);
        group_actor_lost(group, actor, "is placed elsewhere: its node is gone", "");
    }
    cluster_site *site = NULL;
    corral_status status = cluster_site_for(group->cluster, placement->node, group->config.transport, &site);
    if (status != CORRAL_OK) return status;
    actor->site = site;
    actor->relayed = false;
    actor->state = ACTOR_ABSENT;
    if (site->channel.link != NULL) status = group_relayed_prepare(group, actor);
    return status == CORRAL_OK ? introduce(group, site) : status;
}

static corral_status start_at(corral_group *group, cluster_site *site, const Corral__V1__Placed *placed)
{
    Corral__V1__Start message = CORRAL__V1__START__INIT;
    message.group = group->id;
    message.actors = calloc(placed->n_placements, sizeof *message.actors);
    if (message.actors == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory to start actors");
    for (size_t i = 0; i < placed->n_placements; i++) {
        const uint32_t actor = placed->placements[i]->actor;
        if (group->actors[actor].site == site) message.actors[message.n_actors++] = actor;
    }
    const corral_status status =
        message.n_actors > 0 ? corral_channel_send(&site->channel, CORRAL__V1__ENVELOPE__BODY_START, &message)
                             : CORRAL_OK;
    free(message.actors);
    return status;
}

corral_status group_place(corral_group *group, const Corral__V1__Placed *placed)
{
    corral_status status = CORRAL_OK;
    for (size_t i = 0; i < placed->n_placements && status == CORRAL_OK; i++)
        status = settle(group, placed->placements[i]);
    for (size_t i = 0; i < group->site_count && status == CORRAL_OK; i++)
        if (!group->sites[i]->gone) status = start_at(group, group->sites[i], placed);
    return status;
}

void group_site_lost(corral_group *group, cluster_site *site)
{
    for (uint32_t i = 0; i < group->config.count; i++) {
        group_actor *actor = &group->actors[i];
        if (actor->site != site || actor->state == ACTOR_ABSENT || actor->state == ACTOR_DOWN) continue;
        group_local_retire(group, actor);
        char *how = group_text("is lost: %s", site->reason);
        group_actor_lost(group, actor, how != NULL ? how : "is lost", "");
        free(how);
    }
}

void group_homeless(corral_group *group, const Corral__V1__Homeless *message)
{
    if (message->actor >= group->config.count) return;
    group_actor *actor = &group->actors[message->actor];
    if (actor->state != ACTOR_ABSENT && actor->state != ACTOR_DOWN) {
        group_local_retire(group, actor);
        group_actor_lost(group, actor, "is lost: its node is gone", "");
    }
    const bool lost = actor->site != NULL && actor->site->gone;
    char *why =
        lost ? group_text("%s; and there is no other place: %s", actor->site->reason, message->text) : NULL;
    group_actor_down(group, actor, why != NULL ? why : message->text);
    free(why);
}
