// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Shared memory. A writer asks for room before it makes a segment, so the sum of all segments stays below
/// the node's limit; the memory is the writer's own (segment.h), the hub keeps a descriptor for readers. So
/// what lies in a segment outlives its writer, and the room counts until the last object in it is gone.
///
/// When there is no room, writers are asked for their empty segments, and the reservation waits, for as long
/// as its client said. Then it fails, and the sentence says who holds what.
#include "hub_private.h"

#include "corral/base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HOLDERS_SHOWN = 4 };

static bool has_room(const corral_hub *hub, size_t size)
{
    return size <= hub->store_limit && hub->store_used <= hub->store_limit - size;
}

static void answer(corral_hub *hub, hub_client *client, uint64_t tag, uint64_t segment, corral_status status,
                   const char *why)
{
    const corral_message message = {.kind = CORRAL_MESSAGE_RESERVED,
                                    .tag = tag,
                                    .generation = segment,
                                    .code = status,
                                    .tail_size = (uint32_t)strlen(why)};
    hub_client_send(hub, client, &message, why);
}

static void grant(corral_hub *hub, hub_client *client, uint64_t tag, size_t size)
{
    hub_segment *segment = calloc(1, sizeof *segment);
    const uint64_t id = hub->last_segment + 1;
    if (segment == NULL || id_map_put(&hub->segments, id, segment) != CORRAL_OK) {
        free(segment);
        answer(hub, client, tag, 0, CORRAL_ERROR_NO_MEMORY, "the agent has no memory for one segment more");
        return;
    }
    hub->last_segment = id;
    *segment = (hub_segment){.id = id, .writer = client, .fd = -1, .size = size, .next = client->segments};
    client->segments = segment;
    client->store_bytes += size;
    hub->store_used += size;
    answer(hub, client, tag, id, CORRAL_OK, "");
}

// --- full --------------------------------------------------------------------------------------------------

static size_t held_by(const corral_hub *hub, const hub_client *client)
{
    size_t bytes = 0;
    for (size_t i = 0; i < hub->objects.capacity; i++) {
        const hub_object *object = hub->objects.slots[i].thing;
        if (object != NULL && object->state == HUB_SHARED && hub_list_has(&object->holders, client))
            bytes += object->size;
    }
    return bytes;
}

// "process 17 holds 48.0 MiB, worker process 21 holds 8.0 MiB": the largest few.
static void describe_holders(const corral_hub *hub, char *text, size_t size)
{
    const hub_client *shown[HOLDERS_SHOWN] = {0};
    size_t used = (size_t)snprintf(text, size, "nobody holds any of it; what waits to be read does");
    for (size_t n = 0; n < HOLDERS_SHOWN && used < size; n++) {
        const hub_client *most = NULL;
        size_t bytes = 0;
        for (const hub_client *client = hub->clients; client != NULL; client = client->next) {
            bool seen = client->ended;
            for (size_t i = 0; i < n; i++)
                seen = seen || shown[i] == client;
            const size_t held = seen ? 0 : held_by(hub, client);
            if (held > bytes) {
                bytes = held;
                most = client;
            }
        }
        if (most == NULL) return;
        if (n == 0) used = 0;
        shown[n] = most;
        used += (size_t)snprintf(text + used, size - used, "%s%s %lld holds %.1f MiB", n > 0 ? ", " : "",
                                 most->worker != NULL ? "worker process" : "process", (long long)most->pid,
                                 (double)bytes / (1 << 20));
    }
}

static void refuse(corral_hub *hub, hub_client *client, uint64_t tag, size_t size)
{
    char holders[512], why[HUB_TEXT_SIZE];
    describe_holders(hub, holders, sizeof holders);
    snprintf(why, sizeof why,
             "the object store has no room for %.1f MiB: %.1f of %.1f MiB are in use: %s; release references "
             "or give "
             "the node a larger store",
             (double)size / (1 << 20), (double)hub->store_used / (1 << 20),
             (double)hub->store_limit / (1 << 20), holders);
    answer(hub, client, tag, 0, CORRAL_ERROR_FULL, why);
}

static void ask_for_empty_segments(corral_hub *hub)
{
    const corral_message trim = {.kind = CORRAL_MESSAGE_TRIM};
    for (hub_client *client = hub->clients; client != NULL; client = client->next) {
        bool any = false;
        for (const hub_segment *segment = client->segments; segment != NULL; segment = segment->next)
            any = any || (segment->fd >= 0 && segment->objects == 0);
        if (any) hub_client_send(hub, client, &trim, NULL);
    }
}

void hub_store_reserve(corral_hub *hub, hub_client *client, const corral_message *message)
{
    const size_t size = message->length;
    if (hub->reserves == NULL && has_room(hub, size)) {
        grant(hub, client, message->tag, size);
        return;
    }
    hub_reserve *waits = size <= hub->store_limit ? calloc(1, sizeof *waits) : NULL;
    if (waits == NULL) { // for ever, or without memory to wait
        refuse(hub, client, message->tag, size);
        return;
    }
    const int64_t patience = (int64_t)message->version;
    *waits = (hub_reserve){.client = client, .tag = message->tag, .size = size};
    waits->until_ns = corral_now_ns() + (patience > 0 ? patience : 0);
    hub_reserve **link = &hub->reserves;
    while (*link != NULL)
        link = &(*link)->next;
    *link = waits;
    ask_for_empty_segments(hub);
}

// In the order in which they came: a large one is not passed over for ever.
void hub_store_turn(corral_hub *hub, int64_t now_ns)
{
    for (hub_reserve **link = &hub->reserves; *link != NULL;) {
        hub_reserve *waits = *link;
        const bool first = link == &hub->reserves, room = first && has_room(hub, waits->size);
        if (!room && now_ns < waits->until_ns) {
            link = &waits->next;
            continue;
        }
        *link = waits->next;
        if (room)
            grant(hub, waits->client, waits->tag, waits->size);
        else
            refuse(hub, waits->client, waits->tag, waits->size);
        free(waits);
    }
}

int64_t hub_store_next_wake(const corral_hub *hub)
{
    int64_t next = INT64_MAX;
    for (const hub_reserve *waits = hub->reserves; waits != NULL; waits = waits->next)
        if (waits->until_ns < next) next = waits->until_ns;
    return next;
}

// --- segments ----------------------------------------------------------------------------------------------

// Nobody will read it again: readers may unmap it.
static void free_segment(corral_hub *hub, hub_segment *segment)
{
    const corral_message gone = {.kind = CORRAL_MESSAGE_UNSEGMENT, .tag = segment->id};
    for (hub_client *client = hub->clients; client != NULL; client = client->next)
        if (!client->ended && hub_list_remove(&client->mapped, segment))
            hub_client_send(hub, client, &gone, NULL);
    if (segment->fd >= 0) close(segment->fd);
    hub->store_used -= segment->size;
    id_map_remove(&hub->segments, segment->id);
    free(segment);
}

static bool unlink_segment(hub_client *client, const hub_segment *segment)
{
    for (hub_segment **link = &client->segments; *link != NULL; link = &(*link)->next) {
        if (*link != segment) continue;
        *link = segment->next;
        client->store_bytes -= segment->size;
        return true;
    }
    return false;
}

corral_status hub_store_segment(corral_hub *hub, hub_client *client, uint64_t id, int fd)
{
    hub_segment *segment = id_map_find(&hub->segments, id);
    if (segment == NULL || segment->writer != client || segment->fd >= 0 || fd < 0 ||
        lseek(fd, 0, SEEK_END) < (off_t)segment->size) {
        if (fd >= 0) close(fd);
        return corral_fail(CORRAL_ERROR_INVALID, "a segment that it has not reserved");
    }
    segment->fd = fd;
    return CORRAL_OK;
}

void hub_store_unsegment(corral_hub *hub, hub_client *client, uint64_t id)
{
    hub_segment *segment = id_map_find(&hub->segments, id);
    if (segment == NULL || segment->writer != client) return;
    unlink_segment(client, segment);
    segment->writer = NULL; // nothing is written to it any more
    if (segment->objects == 0) free_segment(hub, segment);
}

void hub_store_freed(corral_hub *hub, hub_segment *segment, uint64_t offset, size_t size)
{
    segment->objects--;
    if (segment->writer == NULL) {
        if (segment->objects == 0) free_segment(hub, segment);
        return;
    }
    const corral_message freed = {
        .kind = CORRAL_MESSAGE_FREED, .generation = segment->id, .offset = offset, .length = size};
    hub_client_send(hub, segment->writer, &freed, NULL);
    if (segment->objects == 0 && hub->reserves != NULL) {
        const corral_message trim = {.kind = CORRAL_MESSAGE_TRIM};
        hub_client_send(hub, segment->writer, &trim, NULL);
    }
}

void hub_store_writer_gone(corral_hub *hub, hub_client *client)
{
    for (hub_reserve **link = &hub->reserves; *link != NULL;) {
        hub_reserve *waits = *link;
        if (waits->client != client) {
            link = &waits->next;
            continue;
        }
        *link = waits->next;
        free(waits);
    }
    while (client->segments != NULL)
        hub_store_unsegment(hub, client, client->segments->id);
}
