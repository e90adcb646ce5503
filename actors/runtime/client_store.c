// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Shared memory, from a client's side: segments of its own, cut into ranges, and those of others, mapped
/// read-only.
///
/// Fresh pages cost ten times what warm ones do, so a segment that has become empty is kept for the next
/// object, up to a share of the node's store, until the hub wants it back. Objects here are large (more than
/// CORRAL_OBJECT_INLINE_MAX), so a segment has few ranges, and the first that fits is found at once.
#include "client_private.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    SEGMENT_LEAST = 8 << 20, // several small ones share one
    KEEP_SHARE = 8,          // of the store may be kept empty
};

typedef struct store_range {
    size_t offset, size;
    bool used;
} store_range;

struct client_segment {
    client_segment *next;
    uint64_t id;
    corral_segment memory;
    store_range *ranges; // of our own: in order, without gaps
    size_t count, capacity, used;
};

uint64_t client_segment_id(const client_segment *segment)
{
    return segment->id;
}

static size_t rounded(size_t size, size_t unit)
{
    return (size + unit - 1) / unit * unit;
}

// --- ranges ------------------------------------------------------------------------------------------------

static bool reserve_range(client_segment *segment)
{
    if (segment->count < segment->capacity) return true;
    const size_t capacity = segment->capacity == 0 ? 8 : segment->capacity * 2;
    store_range *ranges = realloc(segment->ranges, capacity * sizeof *ranges);
    if (ranges == NULL) return false;
    segment->ranges = ranges;
    segment->capacity = capacity;
    return true;
}

// The rest of a range that is larger stays as a free one behind it.
static bool take_range(client_segment *segment, size_t size, size_t *out_offset)
{
    for (size_t i = 0; i < segment->count; i++) {
        if (segment->ranges[i].used || segment->ranges[i].size < size || !reserve_range(segment)) continue;
        store_range *range = &segment->ranges[i];
        if (range->size > size) {
            memmove(range + 2, range + 1, (segment->count - i - 1) * sizeof *range);
            range[1] = (store_range){.offset = range->offset + size, .size = range->size - size};
            segment->count++;
        }
        range->size = size;
        range->used = true;
        segment->used += size;
        *out_offset = range->offset;
        return true;
    }
    return false;
}

static void join_with_next(client_segment *segment, size_t i)
{
    if (i + 1 >= segment->count || segment->ranges[i].used || segment->ranges[i + 1].used) return;
    segment->ranges[i].size += segment->ranges[i + 1].size;
    memmove(&segment->ranges[i + 1], &segment->ranges[i + 2],
            (segment->count - i - 2) * sizeof *segment->ranges);
    segment->count--;
}

static void give_range(client_segment *segment, size_t offset)
{
    for (size_t i = 0; i < segment->count; i++) {
        if (segment->ranges[i].offset != offset || !segment->ranges[i].used) continue;
        segment->ranges[i].used = false;
        segment->used -= segment->ranges[i].size;
        join_with_next(segment, i);
        if (i > 0) join_with_next(segment, i - 1);
        return;
    }
}

// --- segments of our own -----------------------------------------------------------------------------------

static void free_segment(client_segment *segment)
{
    corral_segment_finish(&segment->memory);
    free(segment->ranges);
    free(segment);
}

static void give_back(corral_client *client, uint64_t id)
{
    const corral_message gone = {.kind = CORRAL_MESSAGE_UNSEGMENT, .tag = id};
    const corral_status status = client_send(client, &gone, NULL, -1);
    (void)status; // a hub that is gone needs nothing back
}

static corral_status make_segment(corral_client *client, uint64_t id, size_t size,
                                  client_segment **out_segment)
{
    client_segment *segment = calloc(1, sizeof *segment);
    if (segment == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for one segment more");
    segment->id = id;
    int fd = -1;
    corral_status status = corral_segment_create("corral-objects", size, &segment->memory);
    if (status == CORRAL_OK && !reserve_range(segment))
        status = corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for one segment more");
    if (status == CORRAL_OK) status = corral_segment_share(&segment->memory, &fd);
    const corral_message made = {.kind = CORRAL_MESSAGE_SEGMENT, .tag = id};
    if (status == CORRAL_OK) status = client_send(client, &made, NULL, fd);
    if (fd >= 0) close(fd);
    if (status != CORRAL_OK) {
        free_segment(segment);
        return status;
    }
    segment->ranges[0] = (store_range){.size = segment->memory.size};
    segment->count = 1;
    segment->next = client->store.own;
    client->store.own = segment;
    *out_segment = segment;
    return CORRAL_OK;
}

static corral_status add_segment(corral_client *client, size_t least, client_segment **out_segment)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t size = rounded(least, page);
    if (size < SEGMENT_LEAST && client->store.limit / KEEP_SHARE >= SEGMENT_LEAST) size = SEGMENT_LEAST;
    corral_message reserve = {
        .kind = CORRAL_MESSAGE_RESERVE, .length = size, .version = (uint64_t)client->store.timeout_ns};
    client_question question;
    corral_status status = client_ask(client, &reserve, NULL, &question);
    if (status != CORRAL_OK) return status;
    status = make_segment(client, question.answer.generation, size, out_segment);
    if (status != CORRAL_OK) give_back(client, question.answer.generation);
    return status;
}

corral_status client_store_allocate(corral_client *client, size_t size, client_segment **out_segment,
                                    uint64_t *out_offset, void **out_data)
{
    client_poll(client); // what has been freed meanwhile
    const size_t wanted = rounded(size, SPEC_ALIGNMENT);
    if (wanted < size) return corral_fail(CORRAL_ERROR_INVALID, "an object of %zu bytes", size);
    client_segment *segment = client->store.own;
    size_t offset = 0;
    while (segment != NULL && !take_range(segment, wanted, &offset))
        segment = segment->next;
    if (segment == NULL) {
        const corral_status status = add_segment(client, wanted, &segment);
        if (status != CORRAL_OK) return status;
        if (!take_range(segment, wanted, &offset))
            return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for one range more");
    }
    *out_segment = segment;
    *out_offset = offset;
    *out_data = (uint8_t *)segment->memory.data + offset;
    return CORRAL_OK;
}

void client_store_trim(corral_client *client, size_t keep)
{
    for (client_segment **link = &client->store.own; *link != NULL;) {
        client_segment *segment = *link;
        if (segment->used > 0 || segment->memory.size <= keep) {
            if (segment->used == 0) keep -= segment->memory.size;
            link = &segment->next;
            continue;
        }
        *link = segment->next;
        give_back(client, segment->id);
        free_segment(segment);
    }
}

void client_store_freed(corral_client *client, uint64_t id, uint64_t offset, size_t size)
{
    (void)size; // it is the range's, up to its alignment
    for (client_segment *segment = client->store.own; segment != NULL; segment = segment->next) {
        if (segment->id != id) continue;
        give_range(segment, offset);
        if (segment->used == 0) client_store_trim(client, client->store.limit / KEEP_SHARE);
        return;
    }
}

// --- those of others ---------------------------------------------------------------------------------------

static client_segment *find(client_segment *list, uint64_t id)
{
    while (list != NULL && list->id != id)
        list = list->next;
    return list;
}

static corral_status map_segment(corral_client *client, uint64_t id, int fd, client_segment **out_segment)
{
    client_segment *segment = calloc(1, sizeof *segment);
    if (segment == NULL) {
        close(fd);
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory to map a segment");
    }
    segment->id = id;
    const corral_status status = corral_segment_map(fd, false, &segment->memory);
    if (status != CORRAL_OK) {
        free(segment);
        return status;
    }
    segment->next = client->store.mapped;
    client->store.mapped = segment;
    *out_segment = segment;
    return CORRAL_OK;
}

corral_status client_store_locate(corral_client *client, uint64_t id, int fd, uint64_t offset, size_t size,
                                  const void **out_data)
{
    client_segment *segment = find(client->store.own, id);
    if (segment == NULL) segment = find(client->store.mapped, id);
    if (segment != NULL && fd >= 0) close(fd);
    corral_status status = CORRAL_OK;
    if (segment == NULL && fd >= 0) status = map_segment(client, id, fd, &segment);
    if (status != CORRAL_OK) return status;
    if (segment == NULL || offset > segment->memory.size || size > segment->memory.size - offset)
        return corral_fail(CORRAL_ERROR_CORRUPT, "an object lies in memory that is not there");
    *out_data = (const uint8_t *)segment->memory.data + offset;
    return CORRAL_OK;
}

void client_store_unmap(corral_client *client, uint64_t id)
{
    for (client_segment **link = &client->store.mapped; *link != NULL; link = &(*link)->next) {
        client_segment *segment = *link;
        if (segment->id != id) continue;
        *link = segment->next;
        free_segment(segment);
        return;
    }
}

void client_store_finish(corral_client *client)
{
    client_segment **lists[] = {&client->store.own, &client->store.mapped};
    for (size_t i = 0; i < 2; i++)
        while (*lists[i] != NULL) {
            client_segment *segment = *lists[i];
            *lists[i] = segment->next;
            free_segment(segment);
        }
}
