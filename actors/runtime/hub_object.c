// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Objects: values, errors, and promises of either.
///
/// One is freed when no client holds it, nothing is pinned to it (an argument of a task that has not ended, a
/// message on its way), and nothing is still making it. All of that happens in the order in which clients
/// speak, and each client speaks through one socket: so there is no moment in which a reference is passed on
/// and not counted.
#include "hub_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

corral_status hub_object_create(corral_hub *hub, uint64_t id, const char *made_by, hub_object **out_object)
{
    hub_object *object = calloc(1, sizeof *object);
    if (object == NULL || id_map_put(&hub->objects, id, object) != CORRAL_OK) {
        free(object);
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for one object more");
    }
    object->hub = hub;
    object->id = id;
    snprintf(object->made_by, sizeof object->made_by, "%s", made_by);
    *out_object = object;
    return CORRAL_OK;
}

hub_object *hub_object_find(const corral_hub *hub, uint64_t id)
{
    return id_map_find(&hub->objects, id);
}

// --- becoming a value --------------------------------------------------------------------------------------

// Whoever waits is told. A task that goes on may end this object: it is pinned meanwhile.
static void tell(corral_hub *hub, hub_object *object)
{
    hub_object_pin(object);
    for (size_t i = 0; i < object->wanting.count; i++)
        hub_client_send_value(hub, object->wanting.things[i], object, false);
    object->wanting.count = 0;
    while (object->waiting.count > 0) { // what one does may take others out of the list
        hub_task *task = object->waiting.things[0];
        object->waiting.count--;
        memmove(object->waiting.things, object->waiting.things + 1,
                object->waiting.count * sizeof *object->waiting.things);
        hub_task_argument_ready(hub, task);
    }
    hub_object_unpin(hub, object);
}

static void become_error(corral_hub *hub, hub_object *object, corral_status status, const void *sentence,
                         size_t size)
{
    object->state = HUB_ERROR;
    object->status = status;
    object->bytes = malloc(size + 1);
    object->size = object->bytes != NULL ? size : 0;
    if (object->size > 0) memcpy(object->bytes, sentence, size);
    tell(hub, object);
}

void hub_object_fail(corral_hub *hub, hub_object *object, corral_status status, const char *sentence)
{
    if (object->state == HUB_PENDING) become_error(hub, object, status, sentence, strlen(sentence));
}

void hub_object_resolve(corral_hub *hub, hub_object *object, hub_client *client,
                        const corral_message *message, const void *tail)
{
    if (object->state != HUB_PENDING) return;
    if (message->code != CORRAL_OK) {
        const bool known = message->code < CORRAL_STATUS_COUNT;
        become_error(hub, object, known ? (corral_status)message->code : CORRAL_ERROR_CORRUPT, tail,
                     message->tail_size);
        return;
    }
    if (message->generation == 0) {
        object->bytes = malloc((size_t)message->tail_size + 1);
        if (object->bytes == NULL) {
            hub_object_fail(hub, object, CORRAL_ERROR_NO_MEMORY, "the agent has no memory for this value");
            return;
        }
        memcpy(object->bytes, tail, message->tail_size);
        object->size = message->tail_size;
        object->state = HUB_INLINE;
    } else {
        hub_segment *segment = id_map_find(&hub->segments, message->generation);
        if (segment == NULL || segment->writer != client || segment->fd < 0 ||
            message->offset > segment->size || message->length > segment->size - message->offset) {
            hub_object_fail(hub, object, CORRAL_ERROR_CORRUPT,
                            "its writer said that it lies where it cannot");
            return;
        }
        segment->objects++;
        object->segment = segment;
        object->offset = message->offset;
        object->size = message->length;
        object->state = HUB_SHARED;
    }
    tell(hub, object);
}

// --- who needs it ------------------------------------------------------------------------------------------

void hub_object_pin(hub_object *object)
{
    object->pins++;
}

void hub_object_unpin(corral_hub *hub, hub_object *object)
{
    CORRAL_ASSERT(object->pins > 0);
    object->pins--;
    hub_object_free_if_unused(hub, object);
}

void hub_object_drop(corral_hub *hub, hub_object *object, hub_client *holder)
{
    hub_list_remove(&object->holders, holder);
    hub_object_free_if_unused(hub, object);
}

void hub_object_free_if_unused(corral_hub *hub, hub_object *object)
{
    if (object->holders.count > 0 || object->pins > 0) return;
    if (object->actor != NULL) { // its end lets go of this object
        hub_actor_unreferenced(hub, object->actor);
        return;
    }
    if (object->task != NULL) return;
    if (object->state == HUB_SHARED) hub_store_freed(hub, object->segment, object->offset, object->size);
    id_map_remove(&hub->objects, object->id);
    free(object->bytes);
    free(object->holders.things);
    free(object->wanting.things);
    free(object->waiting.things);
    free(object);
}
