// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "client_private.h"

#include "corral/base/clock.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ID_SHIFT = 40 };

uint64_t client_new_id(corral_client *client)
{
    return (uint64_t)client->number << ID_SHIFT | ++client->last_id;
}

corral_status client_ref_create(corral_client *client, uint64_t id, corral_ref **out_ref)
{
    corral_ref *ref = calloc(1, sizeof *ref);
    if (ref == NULL || id_map_put(&client->refs, id, ref) != CORRAL_OK) {
        free(ref);
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for one reference more");
    }
    ref->client = client;
    ref->id = id;
    *out_ref = ref;
    return CORRAL_OK;
}

corral_ref *client_ref_find(const corral_client *client, uint64_t id)
{
    return id_map_find(&client->refs, id);
}

uint64_t corral_ref_id(const corral_ref *ref)
{
    return ref->id;
}

// --- values ------------------------------------------------------------------------------------------------

void client_ref_resolved(corral_ref *ref)
{
    corral_ref *actor = ref->actor;
    if (actor == NULL) return;
    ref->actor = NULL;
    actor->pending--;
    client_ref_unuse(actor);
}

void client_ref_set_error(corral_ref *ref, corral_status status, const char *text, size_t size)
{
    ref->state = REF_ERROR;
    ref->status = status;
    ref->text = strndup(text, size);
    client_ref_resolved(ref);
}

static corral_status set_value(corral_ref *ref, const corral_message *message, const uint8_t *tail, int fd)
{
    if (message->generation != 0) {
        const corral_status status = client_store_locate(ref->client, message->generation, fd,
                                                         message->offset, message->length, &ref->data);
        ref->size = message->length;
        return status;
    }
    if (fd >= 0) close(fd);
    ref->owned = client_aligned(message->tail_size);
    if (ref->owned == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a value");
    memcpy(ref->owned, tail, message->tail_size);
    ref->data = ref->owned;
    ref->size = message->tail_size;
    return CORRAL_OK;
}

// The hub counts on it that we have the segment from now on, also when nobody wants the value any more.
static void only_map(corral_client *client, const corral_message *message, int fd)
{
    const void *ignored;
    if (message->generation != 0)
        (void)!client_store_locate(client, message->generation, fd, message->offset, message->length,
                                   &ignored);
    else if (fd >= 0)
        close(fd);
}

void client_ref_take_value(corral_client *client, const corral_message *message, const uint8_t *tail, int fd)
{
    corral_ref *ref = client_ref_find(client, message->tag);
    const bool argument = message->version == 1;
    if (ref == NULL && argument) (void)!client_ref_create(client, message->tag, &ref);
    if (ref != NULL && argument) ref->uses++;
    if (ref == NULL || ref->state != REF_PENDING) {
        only_map(client, message, fd);
        return;
    }
    if (message->code != CORRAL_OK) {
        if (fd >= 0) close(fd);
        const bool known = message->code < CORRAL_STATUS_COUNT;
        client_ref_set_error(ref, known ? (corral_status)message->code : CORRAL_ERROR_CORRUPT,
                             (const char *)tail, message->tail_size);
        return;
    }
    const corral_status status = set_value(ref, message, tail, fd);
    if (status != CORRAL_OK) {
        client_ref_set_error(ref, status, corral_last_error(), strlen(corral_last_error()));
        return;
    }
    ref->state = REF_VALUE;
    client_ref_resolved(ref);
}

// --- counting ----------------------------------------------------------------------------------------------

static void drop(corral_client *client, const corral_ref *ref)
{
    client->dropped[client->drop_count++] = ref->id;
    // What holds memory or a process is let go at once; of the rest, what comes within a moment in one
    // message.
    const int64_t now = corral_now_ns();
    if (!ref->is_actor && ref->size <= CORRAL_OBJECT_INLINE_MAX && client->drop_count < CLIENT_DROPS_MAX &&
        now < client->dropped_at_ns + CORRAL_MILLISECOND)
        return;
    client->dropped_at_ns = now;
    client_flush_drops(client);
}

void client_ref_free_if_unused(corral_ref *ref)
{
    if (ref->handles > 0 || ref->uses > 0) return;
    corral_client *client = ref->client;
    if (ref->local != NULL) local_actor_end(ref, "nobody refers to it any more");
    client_ref_resolved(ref);
    id_map_remove(&client->refs, ref->id);
    if (ref->held && !client->local) drop(client, ref);
    free(ref->owned);
    free(ref->text);
    free(ref);
}

// A reference that came as an argument and is kept by the function becomes our own before its call is told
// of.
void client_ref_unuse(corral_ref *ref)
{
    corral_client *client = ref->client;
    if (--ref->uses == 0 && ref->handles > 0 && !ref->held) {
        const corral_message hold = {.kind = CORRAL_MESSAGE_HOLD, .tag = ref->id};
        ref->held = client->local || client_send(client, &hold, NULL, -1) == CORRAL_OK;
    }
    client_ref_free_if_unused(ref);
}

corral_ref *corral_retain(corral_ref *ref)
{
    pthread_mutex_lock(&ref->client->lock);
    ref->handles++;
    pthread_mutex_unlock(&ref->client->lock);
    return ref;
}

void corral_release(corral_ref *ref)
{
    if (ref == NULL) return;
    corral_client *client = ref->client;
    pthread_mutex_lock(&client->lock);
    if (--ref->handles == 0) client_ref_free_if_unused(ref);
    pthread_mutex_unlock(&client->lock);
}

// --- put ---------------------------------------------------------------------------------------------------

static corral_status put_inline(corral_ref *ref, const void *data, size_t size)
{
    ref->owned = client_aligned(size);
    if (ref->owned == NULL)
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for an object of %zu bytes", size);
    if (size > 0) memcpy(ref->owned, data, size);
    ref->data = ref->owned;
    if (ref->client->local) return CORRAL_OK;
    const corral_message put = {.kind = CORRAL_MESSAGE_PUT, .tag = ref->id, .tail_size = (uint32_t)size};
    return client_send(ref->client, &put, data, -1);
}

static corral_status put_shared(corral_ref *ref, const void *data, size_t size)
{
    corral_client *client = ref->client;
    client_segment *segment;
    corral_message put = {.kind = CORRAL_MESSAGE_PUT, .tag = ref->id, .length = size};
    void *to;
    corral_status status = client_store_allocate(client, size, &segment, &put.offset, &to);
    if (status != CORRAL_OK) return status;
    pthread_mutex_unlock(&client->lock); // the range is ours; others need not wait for a long copy
    memcpy(to, data, size);
    pthread_mutex_lock(&client->lock);
    put.generation = client_segment_id(segment);
    ref->data = to;
    return client_send(client, &put, NULL, -1);
}

corral_status corral_put(corral_client *client, const void *data, size_t size, corral_ref **out_ref)
{
    pthread_mutex_lock(&client->lock);
    corral_ref *ref = NULL;
    corral_status status = client_ref_create(client, client_new_id(client), &ref);
    if (status == CORRAL_OK) {
        ref->handles = 1;
        const bool small = size <= CORRAL_OBJECT_INLINE_MAX || client->local;
        status = small ? put_inline(ref, data, size) : put_shared(ref, data, size);
        ref->size = size;
        ref->state = REF_VALUE;
        ref->held = status == CORRAL_OK;
        if (status == CORRAL_OK) *out_ref = ref;
    }
    if (status != CORRAL_OK && ref != NULL) {
        ref->handles = 0;
        client_ref_free_if_unused(ref);
    }
    pthread_mutex_unlock(&client->lock);
    return status;
}

// --- get and wait ------------------------------------------------------------------------------------------

typedef struct ref_set {
    corral_ref *const *refs;
    size_t count, first, wanted; // all before `first` are there
} ref_set;

static bool all_there(void *context)
{
    ref_set *set = context;
    while (set->first < set->count && set->refs[set->first]->state != REF_PENDING)
        set->first++;
    return set->first == set->count;
}

static bool enough_there(void *context)
{
    ref_set *set = context;
    size_t there = 0;
    for (size_t i = 0; i < set->count && there < set->wanted; i++)
        there += set->refs[i]->state != REF_PENDING;
    return there >= set->wanted;
}

// References that came from others are asked for.
static corral_status ask_for(corral_client *client, corral_ref *const *refs, size_t count)
{
    uint64_t *ids = (uint64_t *)(void *)client->send_buffer;
    corral_status status = CORRAL_OK;
    corral_message want = {.kind = CORRAL_MESSAGE_WANT};
    for (size_t i = 0; i < count && status == CORRAL_OK; i++) {
        if (refs[i]->state != REF_PENDING || refs[i]->asked) continue;
        refs[i]->asked = true;
        ids[want.tail_size / sizeof *ids] = refs[i]->id;
        want.tail_size += sizeof *ids;
        if (want.tail_size < CORRAL_MESSAGE_TAIL_MAX) continue;
        status = client_send(client, &want, ids, -1);
        want.tail_size = 0;
    }
    if (status == CORRAL_OK && want.tail_size > 0) status = client_send(client, &want, ids, -1);
    return status;
}

static corral_status check_set(corral_ref *const *refs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (refs[i] == NULL || refs[i]->client != refs[0]->client)
            return corral_fail(CORRAL_ERROR_INVALID, "reference %zu of %zu is none, or of another client", i,
                               count);
    return CORRAL_OK;
}

static corral_status read_values(corral_ref *const *refs, size_t count, corral_bytes *out_bytes)
{
    for (size_t i = 0; i < count; i++) {
        if (refs[i]->state == REF_ERROR)
            return corral_fail(refs[i]->status, "%s", refs[i]->text != NULL ? refs[i]->text : "");
        if (out_bytes != NULL) out_bytes[i] = (corral_bytes){refs[i]->data, refs[i]->size};
    }
    return CORRAL_OK;
}

corral_status corral_get_many(corral_ref *const *refs, size_t count, int64_t timeout_ns,
                              corral_bytes *out_bytes)
{
    corral_status status = check_set(refs, count);
    if (status != CORRAL_OK || count == 0) return status;
    corral_client *client = refs[0]->client;
    const int64_t deadline = client_deadline(timeout_ns);
    ref_set set = {refs, count, 0, count};
    pthread_mutex_lock(&client->lock);
    if (!all_there(&set)) {
        status = ask_for(client, refs, count);
        if (timeout_ns == 0) client_poll(client);
        if (status == CORRAL_OK) status = client_wait(client, all_there, &set, deadline);
        if (status == CORRAL_ERROR_TIMEOUT)
            status = corral_fail(status, "of %zu objects at least one is not there after %g s", count,
                                 (double)timeout_ns / 1e9);
    }
    if (status == CORRAL_OK) status = read_values(refs, count, out_bytes);
    pthread_mutex_unlock(&client->lock);
    return status;
}

corral_status corral_get(corral_ref *ref, int64_t timeout_ns, corral_bytes *out_bytes)
{
    return corral_get_many(&ref, 1, timeout_ns, out_bytes);
}

corral_status corral_wait(corral_ref *const *refs, size_t count, size_t wanted, int64_t timeout_ns,
                          bool *out_ready, size_t *out_count)
{
    *out_count = 0;
    corral_status status = check_set(refs, count);
    if (status == CORRAL_OK && wanted > count)
        status = corral_fail(CORRAL_ERROR_INVALID, "%zu of %zu objects cannot be waited for", wanted, count);
    if (status != CORRAL_OK || count == 0) return status;
    corral_client *client = refs[0]->client;
    const int64_t deadline = client_deadline(timeout_ns);
    ref_set set = {refs, count, 0, wanted};
    pthread_mutex_lock(&client->lock);
    status = ask_for(client, refs, count);
    if (status == CORRAL_OK) client_poll(client);
    if (status == CORRAL_OK) status = client_wait(client, enough_there, &set, deadline);
    if (status == CORRAL_ERROR_TIMEOUT) status = CORRAL_OK;
    for (size_t i = 0; i < count; i++) {
        out_ready[i] = refs[i]->state != REF_PENDING;
        *out_count += out_ready[i];
    }
    pthread_mutex_unlock(&client->lock);
    return status;
}
