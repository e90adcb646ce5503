// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What the caller of corral_group_next() is told, and in which words.
#include "cluster_private.h"

#include "corral/base/clock.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAIL_SHOWN = 400 };

char *group_text(const char *format, ...)
{
    char text[REASON_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return strdup(text);
}

static bool grow(corral_group *group)
{
    const size_t capacity = group->queue_capacity > 0 ? 2 * group->queue_capacity : 64;
    group_event *queue = malloc(capacity * sizeof *queue);
    if (queue == NULL) return false;
    for (size_t i = 0; i < group->queue_count; i++)
        queue[i] = group->queue[(group->queue_begin + i) % group->queue_capacity];
    free(group->queue);
    group->queue = queue;
    group->queue_capacity = capacity;
    group->queue_begin = 0;
    return true;
}

void group_post(corral_group *group, const corral_group_event *event, char *reason)
{
    if (group->queue_count == group->queue_capacity && !grow(group)) {
        free(reason); // a dozen bytes could not be had: the run is about to end anyhow
        return;
    }
    const size_t end = (group->queue_begin + group->queue_count++) % group->queue_capacity;
    group->queue[end] = (group_event){*event, reason};
    group->queue[end].event.reason = reason != NULL ? reason : "";
}

bool group_pop(corral_group *group, corral_group_event *out_event)
{
    if (group->queue_count == 0) return false;
    group_event *first = &group->queue[group->queue_begin];
    group->queue_begin = (group->queue_begin + 1) % group->queue_capacity;
    group->queue_count--;
    free(group->last_reason);
    group->last_reason = first->reason;
    *out_event = first->event;
    return true;
}

// "actor 1 of group "rollout" on node 2"
static void name_actor(const corral_group *group, const group_actor *actor, char *text, size_t size)
{
    const unsigned node = actor->site != NULL ? actor->site->node : 0;
    snprintf(text, size, "actor %u of group \"%s\"%s", actor->index, group->config.class_name, "");
    const size_t used = strlen(text);
    if (node > 1) snprintf(text + used, size - used, " on node %u", node);
}

// The last lines of what it wrote, at most TAIL_SHOWN bytes.
static const char *shown_tail(const char *tail)
{
    const size_t length = strlen(tail);
    if (length <= TAIL_SHOWN) return tail;
    const char *begin = tail + length - TAIL_SHOWN, *line = strchr(begin, '\n');
    return line != NULL && line[1] != '\0' ? line + 1 : begin;
}

static void drop_leases(const corral_group *group, group_actor *actor)
{
    for (uint32_t i = 0; i < group->config.blocks_per_actor; i++) {
        group_lease *lease = &actor->leases[i];
        if (lease->state == LEASE_OPEN) *lease = (group_lease){0};
    }
    actor->open_leases = 0;
}

void group_actor_lost(corral_group *group, group_actor *actor, const char *how, const char *tail)
{
    char name[256];
    name_actor(group, actor, name, sizeof name);
    const char *lines = shown_tail(tail);
    char *reason = group_text("%s %s%s%s%s%s%s%s", name, how, actor->where[0] != '\0' ? " while " : "",
                              actor->where, actor->error[0] != '\0' ? ": " : "", actor->error,
                              lines[0] != '\0' ? "; its last words: " : "", lines);
    if (actor->state == ACTOR_READY || actor->state == ACTOR_ENDING || actor->state == ACTOR_UP)
        group->stats.actors_alive--;
    const bool timed_out = actor->killed;
    actor->state = ACTOR_ABSENT;
    actor->killed = false;
    actor->crashes_in_row++;
    if (actor->first_reason == NULL && reason != NULL) actor->first_reason = strdup(reason);
    drop_leases(group, actor);
    group->stats.actors_lost++;
    const corral_group_event event = {.kind = CORRAL_GROUP_ACTOR_LOST,
                                      .actor = actor->index,
                                      .timed_out = timed_out,
                                      .explained = actor->error[0] != '\0'};
    group_post(group, &event, reason);
}

void group_actor_down(corral_group *group, group_actor *actor, const char *why)
{
    if (actor->state == ACTOR_DOWN) return;
    char name[256];
    name_actor(group, actor, name, sizeof name);
    char *reason =
        why != NULL
            ? group_text("%s stays down: %s", name, why)
            : group_text("%s stays down after %u ends in a row without a fragment; the first: %s", name,
                         actor->crashes_in_row, actor->first_reason != NULL ? actor->first_reason : "");
    actor->state = ACTOR_DOWN;
    group_post(group, &(corral_group_event){.kind = CORRAL_GROUP_ACTOR_DOWN, .actor = actor->index}, reason);
}

void group_fail(corral_group *group, const char *reason)
{
    if (group->failure == NULL) group->failure = strdup(reason);
    const bool known = group->failure != NULL;
    group_post(
        group, &(corral_group_event){.kind = CORRAL_GROUP_FAILED},
        group_text("group \"%s\" has failed: %s", group->config.class_name, known ? group->failure : ""));
}
