// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Groups of actors: the calls that a training loop makes.
///
/// corral_group_next() is called at the pace of training. It looks first, spins for a moment, since waking up
/// costs more than most fragments take to come, and only then sleeps.
#include "cluster_private.h"

#include "corral/base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#define SPIN           (20 * INT64_C(1000))
#define HALT_LIMIT     (3 * CORRAL_SECOND)
#define CHECK_EVERY    (10 * CORRAL_MILLISECOND)
#define PLACE_LIMIT    (10 * CORRAL_SECOND)
#define RELAYED_HANDLE (UINT64_C(1) << 63)

enum { EVENTS_AT_ONCE = 16, REQUEST_MAX = 120 << 10, CONFIG_MAX = 120 << 10 };

static const uint64_t CLUSTER_EVENT = UINT64_MAX, INTERRUPT_EVENT = UINT64_MAX - 1;

corral_group *group_find(corral_cluster *cluster, uint32_t id)
{
    for (corral_group *group = cluster->groups; group != NULL; group = group->next)
        if (group->id == id) return group;
    return NULL;
}

group_actor *group_find_actor(corral_group *group, uint32_t index, uint64_t incarnation)
{
    if (index >= group->config.count) return NULL;
    group_actor *actor = &group->actors[index];
    return actor->incarnation == incarnation ? actor : NULL;
}

group_lease *group_find_open(const corral_group *group, group_actor *actor, uint64_t tag)
{
    for (uint32_t i = 0; i < group->config.blocks_per_actor; i++)
        if (actor->leases[i].state == LEASE_OPEN && actor->leases[i].tag == tag) return &actor->leases[i];
    return NULL;
}

void group_progress(corral_group *group, group_actor *actor)
{
    actor->progress_at_ns = corral_now_ns();
    actor->crashes_in_row = 0;
    free(actor->first_reason);
    actor->first_reason = NULL;
    if (actor->told_progress) return;
    actor->told_progress = true;
    if (actor->relayed) return; // its node has seen the fragment
    Corral__V1__Progress message = CORRAL__V1__PROGRESS__INIT;
    message.group = group->id;
    message.actor = actor->index;
    message.incarnation = actor->incarnation;
    corral_channel_tell(&actor->site->channel, CORRAL__V1__ENVELOPE__BODY_PROGRESS, &message);
}

// --- creating
// -----------------------------------------------------------------------------------------------------------

static bool name_is_plain(const char *name)
{
    const size_t length = strlen(name);
    return length >= 1 && length < 64 &&
           strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == length;
}

static corral_status check_config(const corral_group_config *config)
{
    if (config->class_name == NULL || !name_is_plain(config->class_name))
        return corral_fail(CORRAL_ERROR_INVALID,
                           "a group's class name has 1 to 63 letters, digits, '.', '_' and '-'");
    if (config->count == 0 || config->blocks_per_actor == 0 || config->block_bytes == 0)
        return corral_fail(CORRAL_ERROR_INVALID,
                           "group \"%s\": %u actors with %u blocks of %zu bytes make no group",
                           config->class_name, config->count, config->blocks_per_actor, config->block_bytes);
    if (config->config_size > CONFIG_MAX)
        return corral_fail(CORRAL_ERROR_INVALID,
                           "group \"%s\": a configuration of %zu bytes is too large, at most %d",
                           config->class_name, config->config_size, CONFIG_MAX);
    return CORRAL_OK;
}

static corral_status copy_config(corral_group *group, const corral_group_config *config)
{
    group->config = *config;
    char *name = strdup(config->class_name);
    void *bytes = malloc(config->config_size + 1);
    group->config.class_name = name;
    group->config.config = bytes;
    if (name == NULL || bytes == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a group");
    if (config->config_size > 0) memcpy(bytes, config->config, config->config_size);
    return CORRAL_OK;
}

static corral_status create_actors(corral_group *group)
{
    const corral_group_config *config = &group->config;
    group->actors = calloc(config->count, sizeof *group->actors);
    for (uint32_t i = 0; group->actors != NULL && i < config->count; i++) {
        group->actors[i].index = i;
        group->actors[i].leases = calloc(config->blocks_per_actor, sizeof(group_lease));
        if (group->actors[i].leases == NULL)
            return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a group");
    }
    return group->actors != NULL ? CORRAL_OK : corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a group");
}

static corral_status open_waiting(corral_group *group)
{
    group->epoll = epoll_create1(EPOLL_CLOEXEC);
    group->interrupt = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event cluster = {.events = EPOLLIN, .data.u64 = CLUSTER_EVENT};
    struct epoll_event interrupt = {.events = EPOLLIN, .data.u64 = INTERRUPT_EVENT};
    if (group->epoll < 0 || group->interrupt < 0 ||
        epoll_ctl(group->epoll, EPOLL_CTL_ADD, group->cluster->epoll, &cluster) != 0 ||
        epoll_ctl(group->epoll, EPOLL_CTL_ADD, group->interrupt, &interrupt) != 0)
        return corral_fail_errno(CORRAL_ERROR_IO, errno, "cannot wait for a group's events");
    return CORRAL_OK;
}

static corral_status ask_for_places(corral_group *group)
{
    corral_cluster *cluster = group->cluster;
    cluster->request = (cluster_request){.id = group->id};
    Corral__V1__Place place = CORRAL__V1__PLACE__INIT;
    place.request = place.group = group->id;
    place.class_name = corral_wire_text(group->config.class_name);
    place.count = group->config.count;
    place.cpus = group->config.cpus;
    place.gpus = group->config.gpus;
    corral_status status =
        corral_channel_send(&cluster->head_site->channel, CORRAL__V1__ENVELOPE__BODY_PLACE, &place);
    if (status != CORRAL_OK) return status;
    const int64_t deadline = corral_now_ns() + PLACE_LIMIT;
    while (!cluster->request.answered && cluster_failure(cluster) == NULL && corral_now_ns() < deadline)
        cluster_pump(cluster, 100 * CORRAL_MILLISECOND);
    if (!cluster->request.answered && cluster_failure(cluster) != NULL)
        return corral_fail(CORRAL_ERROR_LOST, "group \"%s\": %s", group->config.class_name,
                           cluster_failure(cluster));
    if (!cluster->request.answered)
        return corral_fail(CORRAL_ERROR_TIMEOUT, "group \"%s\": the head does not answer",
                           group->config.class_name);
    return cluster->request.status == CORRAL_OK
               ? CORRAL_OK
               : corral_fail(cluster->request.status, "%s", cluster->request.text);
}

corral_status corral_group_create(corral_cluster *cluster, const corral_group_config *config,
                                  corral_group **out_group)
{
    corral_status status = check_config(config);
    if (status != CORRAL_OK) return status;
    corral_group *group = calloc(1, sizeof *group);
    if (group == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a group");
    group->cluster = cluster;
    group->id = ++cluster->last_group;
    group->epoll = group->interrupt = -1;
    group->board.segment.fd = -1;
    group->stride = (config->block_bytes + 4095) / 4096 * 4096;
    group->next = cluster->groups;
    cluster->groups = group;
    status = copy_config(group, config);
    if (status == CORRAL_OK) status = create_actors(group);
    if (status == CORRAL_OK) status = open_waiting(group);
    if (status == CORRAL_OK) status = ask_for_places(group);
    if (status != CORRAL_OK) {
        char sentence[REASON_SIZE]; // the clean-up may fail, too
        snprintf(sentence, sizeof sentence, "%s", corral_last_error());
        corral_group_destroy(group);
        return corral_fail(status, "%s", sentence);
    }
    *out_group = group;
    return CORRAL_OK;
}

// --- destroying
// ---------------------------------------------------------------------------------------------------------

static size_t halt_sites(corral_group *group)
{
    size_t asked = 0;
    for (size_t i = 0; i < group->site_count; i++) {
        if (group->sites[i]->gone) continue;
        Corral__V1__Halt message = CORRAL__V1__HALT__INIT;
        message.group = group->id;
        corral_channel_tell(&group->sites[i]->channel, CORRAL__V1__ENVELOPE__BODY_HALT, &message);
        asked++;
    }
    return asked;
}

static size_t living_sites(const corral_group *group)
{
    size_t count = 0;
    for (size_t i = 0; i < group->site_count; i++)
        count += !group->sites[i]->gone;
    return count;
}

static void close_lives(corral_group *group)
{
    for (uint32_t i = 0; i < group->life_count; i++) {
        if (group->lives[i] == NULL) continue;
        corral_peer_close(group->lives[i]->peer);
        free(group->lives[i]);
        group->lives[i] = NULL;
    }
}

static void end_actors(corral_group *group)
{
    corral_cluster *cluster = group->cluster;
    const bool with_head = cluster->head_site != NULL && !cluster->head_site->gone;
    Corral__V1__Unplace unplace = CORRAL__V1__UNPLACE__INIT;
    unplace.group = group->id;
    if (with_head)
        corral_channel_tell(&cluster->head_site->channel, CORRAL__V1__ENVELOPE__BODY_UNPLACE, &unplace);
    close_lives(group); // says STOP
    for (uint32_t i = 0; group->actors != NULL && i < group->config.count; i++)
        group->actors[i].state = ACTOR_DOWN;
    const int64_t deadline = corral_now_ns() + HALT_LIMIT;
    if (halt_sites(group) == 0) return;
    while (group->halted_count < living_sites(group) && corral_now_ns() < deadline)
        cluster_pump(cluster, 100 * CORRAL_MILLISECOND);
}

static void free_actors(corral_group *group)
{
    for (uint32_t i = 0; group->actors != NULL && i < group->config.count; i++) {
        group_actor *actor = &group->actors[i];
        if (actor->memory != NULL) munmap(actor->memory, group->stride * group->config.blocks_per_actor);
        free(actor->leases);
        free(actor->first_reason);
    }
    free(group->actors);
}

static void unlink_group(corral_group *group)
{
    corral_group **link = &group->cluster->groups;
    while (*link != group)
        link = &(*link)->next;
    *link = group->next;
}

void corral_group_destroy(corral_group *group)
{
    if (group == NULL) return;
    end_actors(group);
    unlink_group(group);
    corral_group_event event;
    while (group_pop(group, &event)) {
    }
    free(group->last_reason);
    free(group->failure);
    for (int i = 0; i < WEIGHTS_IN_FLIGHT; i++)
        if (group->weights[i] != NULL) corral_payload_release(group->weights[i]);
    free_actors(group);
    corral_board_finish(&group->board);
    if (group->epoll >= 0) close(group->epoll);
    if (group->interrupt >= 0) close(group->interrupt);
    free(group->lives);
    free(group->sites);
    free(group->queue);
    free((void *)(uintptr_t)group->config.class_name);
    free((void *)(uintptr_t)group->config.config);
    free(group);
}

// --- giving work
// --------------------------------------------------------------------------------------------------------

static bool has_links(const corral_group *group)
{
    for (size_t i = 0; i < group->site_count; i++)
        if (group->sites[i]->channel.link != NULL) return true;
    return false;
}

corral_status corral_group_publish(corral_group *group, uint64_t version, const void *bytes, size_t size)
{
    if (size > group->config.weights_bytes)
        return corral_fail(CORRAL_ERROR_FULL,
                           "group \"%s\": weights of %zu bytes, at most %zu were announced",
                           group->config.class_name, size, group->config.weights_bytes);
    corral_status status = CORRAL_OK;
    if (has_links(group)) status = group_relayed_publish(group, version, bytes, size);
    if (status != CORRAL_OK || !group->has_board) return status;
    status = corral_board_publish(&group->board, version, bytes, size);
    if (status != CORRAL_OK) return status;
    for (uint32_t i = 0; i < group->config.count; i++) {
        group_actor *actor = &group->actors[i];
        if (actor->relayed || actor->state != ACTOR_READY) continue;
        const corral_status told = corral_peer_weights(group->lives[actor->life]->peer, &group->board);
        (void)told; // a loss is seen by the next receive
    }
    return CORRAL_OK;
}

corral_status corral_group_lease(corral_group *group, uint32_t index, uint64_t tag, const void *request,
                                 size_t size)
{
    if (index >= group->config.count || size > REQUEST_MAX)
        return corral_fail(CORRAL_ERROR_INVALID,
                           "group \"%s\": a lease to actor %u of %u with a request of %zu bytes",
                           group->config.class_name, index, group->config.count, size);
    group_actor *actor = &group->actors[index];
    if (actor->state != ACTOR_READY)
        return corral_fail(CORRAL_ERROR_LOST, "actor %u of group \"%s\" is not up", index,
                           group->config.class_name);
    if (actor->relayed) return group_relayed_lease(group, actor, tag, request, size);
    const corral_status status = corral_peer_lease(group->lives[actor->life]->peer, tag, request, size);
    if (status != CORRAL_OK) return status;
    uint32_t slot = 0; // the peer had a free block, so there is one
    while (actor->leases[slot].state != LEASE_FREE)
        slot++;
    actor->leases[slot] = (group_lease){.state = LEASE_OPEN, .tag = tag, .granted_at_ns = corral_now_ns()};
    actor->open_leases++;
    return CORRAL_OK;
}

void corral_group_release(corral_group *group, const corral_group_event *fragment)
{
    const uint32_t block = (uint32_t)fragment->handle;
    const uint32_t high = (uint32_t)((fragment->handle & ~RELAYED_HANDLE) >> 32);
    if ((fragment->handle & RELAYED_HANDLE) != 0)
        group_relayed_release(group, &group->actors[high], block);
    else
        group_local_release(group, high, block);
}

// --- ends of actors
// -----------------------------------------------------------------------------------------------------

// That it was killed because it hung says more than the signal that did it.
static void end_actor(corral_group *group, group_actor *actor, const char *how, const char *tail)
{
    char *hung = actor->killed ? group_text("gave nothing for %g s, its limit, and was killed",
                                            (double)group->config.lease_timeout_ns / 1e9)
                               : NULL;
    group_actor_lost(group, actor, hung != NULL ? hung : how, tail);
    free(hung);
}

void group_gone(corral_group *group, const Corral__V1__Gone *message)
{
    if (message->actor >= group->config.count) return;
    group_actor *actor = &group->actors[message->actor];
    if (actor->site == NULL || actor->state == ACTOR_DOWN || actor->site->node != message->incarnation >> 40)
        return;
    if (message->down) {
        group_actor_down(group, actor, NULL);
        return;
    }
    const bool running = actor->state != ACTOR_ABSENT;
    if (message->incarnation < actor->incarnation || (message->incarnation == actor->incarnation && !running))
        return;
    if (!actor->relayed) {
        while (group_local_receive(group, actor)) {
        } // what it had sent before
        group_local_retire(group, actor);
    }
    if (actor->relayed || message->incarnation != actor->incarnation) {
        snprintf(actor->where, sizeof actor->where, "%s", message->where);
        snprintf(actor->error, sizeof actor->error, "%s", message->error);
    }
    actor->incarnation = message->incarnation;
    end_actor(group, actor, message->how, message->tail);
}

// The oldest of its leases waits since then: what it was given while it worked on another waits for its turn.
static int64_t waiting_since(const corral_group *group, const group_actor *actor)
{
    int64_t oldest = INT64_MAX;
    for (uint32_t i = 0; i < group->config.blocks_per_actor; i++)
        if (actor->leases[i].state == LEASE_OPEN && actor->leases[i].granted_at_ns < oldest)
            oldest = actor->leases[i].granted_at_ns;
    return oldest > actor->progress_at_ns ? oldest : actor->progress_at_ns;
}

static void kill_actor(corral_group *group, group_actor *actor)
{
    actor->killed = true;
    Corral__V1__Kill message = CORRAL__V1__KILL__INIT;
    message.group = group->id;
    message.actor = actor->index;
    message.incarnation = actor->incarnation;
    corral_channel_tell(&actor->site->channel, CORRAL__V1__ENVELOPE__BODY_KILL, &message);
}

static void check_actors(corral_group *group, int64_t now)
{
    if (now < group->next_check_ns) return;
    group->next_check_ns = now + CHECK_EVERY;
    for (uint32_t i = 0; i < group->config.count; i++) {
        group_actor *actor = &group->actors[i];
        if (actor->state == ACTOR_ENDING && now >= actor->ending_until_ns)
            end_actor(group, actor, "has closed its connection", "");
        const bool late = actor->state == ACTOR_READY && actor->open_leases > 0 && !actor->killed &&
                          group->config.lease_timeout_ns > 0 &&
                          now - waiting_since(group, actor) > group->config.lease_timeout_ns;
        if (late) kill_actor(group, actor);
    }
}

// --- waiting
// ------------------------------------------------------------------------------------------------------------

static bool needs_checks(const corral_group *group)
{
    for (uint32_t i = 0; i < group->config.count; i++) {
        const group_actor *actor = &group->actors[i];
        if (actor->state == ACTOR_ENDING || (actor->open_leases > 0 && group->config.lease_timeout_ns > 0))
            return true;
    }
    return false;
}

static bool was_interrupted(corral_group *group)
{
    uint64_t count;
    return read(group->interrupt, &count, sizeof count) == (ssize_t)sizeof count;
}

// Looks once, waiting at most wait_ms; returns whether there was anything. *out_interrupted is only ever set.
static bool look(corral_group *group, int wait_ms, bool *out_interrupted)
{
    struct epoll_event events[EVENTS_AT_ONCE];
    const int count = epoll_wait(group->epoll, events, EVENTS_AT_ONCE, wait_ms);
    for (int i = 0; i < count; i++) {
        const uint64_t what = events[i].data.u64;
        if (what == CLUSTER_EVENT)
            cluster_pump(group->cluster, 0);
        else if (what == INTERRUPT_EVENT)
            *out_interrupted = was_interrupted(group);
        else
            group_local_receive(group, &group->actors[what]);
    }
    return count > 0;
}

static bool spin(corral_group *group, int64_t until, bool *out_interrupted)
{
    do {
        if (look(group, 0, out_interrupted)) return true;
    } while (corral_now_ns() < until);
    return false;
}

static int sleep_ms(const corral_group *group, int64_t left_ns)
{
    const int64_t limit = needs_checks(group) ? CHECK_EVERY : CORRAL_SECOND;
    const int64_t wait = left_ns < 0 || left_ns > limit ? limit : left_ns;
    return (int)((wait + CORRAL_MILLISECOND - 1) / CORRAL_MILLISECOND);
}

corral_status corral_group_next(corral_group *group, int64_t timeout_ns, corral_group_event *out_event)
{
    const int64_t begin = corral_now_ns();
    bool interrupted = false;
    look(group, 0, &interrupted);
    for (int64_t now = begin;;) {
        if (interrupted)
            return corral_fail(CORRAL_ERROR_CANCELLED, "group \"%s\" was interrupted",
                               group->config.class_name);
        check_actors(group, now);
        if (group->queue_count == 0 && group->failure != NULL)
            group_fail(group, group->failure); // however often asked
        if (group_pop(group, out_event)) return CORRAL_OK;
        const int64_t left = timeout_ns < 0 ? -1 : begin + timeout_ns - now;
        if (timeout_ns >= 0 && left <= 0) return CORRAL_ERROR_EMPTY;
        if (now != begin || !spin(group, begin + SPIN, &interrupted))
            look(group, sleep_ms(group, left), &interrupted);
        now = corral_now_ns();
    }
}

void corral_group_interrupt(corral_group *group)
{
    const int saved = errno;
    const uint64_t one = 1;
    const ssize_t written = write(group->interrupt, &one, sizeof one);
    (void)written; // full: it is already raised
    errno = saved;
}

corral_group_stats corral_group_get_stats(const corral_group *group)
{
    return group->stats;
}
