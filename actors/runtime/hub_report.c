// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What `corral status` and `corral objects` show of a node's hub. At most a few thousand objects and actors
/// are listed one by one, the rest is counted.
#include "hub_private.h"

#include <cjson/cJSON.h>
#include <stdio.h>

enum { LISTED_MAX = 2000, HOLDERS_MAX = 8 };

static double units(int64_t amount)
{
    return (double)amount / RESOURCE_UNIT;
}

static cJSON *add_object(cJSON *array)
{
    cJSON *item = cJSON_CreateObject();
    cJSON_AddItemToArray(array, item);
    return item;
}

static void add_id(cJSON *item, const char *key, uint64_t id)
{
    char text[32];
    snprintf(text, sizeof text, "%u-%llu", (unsigned)(id >> HUB_ID_SHIFT),
             (unsigned long long)(id & ((UINT64_C(1) << HUB_ID_SHIFT) - 1)));
    cJSON_AddStringToObject(item, key, text);
}

static void report_resources(const corral_hub *hub, cJSON *root)
{
    cJSON *array = cJSON_AddArrayToObject(root, "resources");
    for (size_t i = 0; i < hub->pool.kinds; i++) {
        cJSON *item = add_object(array);
        cJSON_AddStringToObject(item, "name", hub->pool.name[i]);
        cJSON_AddNumberToObject(item, "total", units(hub->pool.total[i]));
        cJSON_AddNumberToObject(item, "used", units(hub->pool.used[i]));
    }
    cJSON *store = cJSON_AddObjectToObject(root, "store");
    cJSON_AddNumberToObject(store, "limit", (double)hub->store_limit);
    cJSON_AddNumberToObject(store, "used", (double)hub->store_used);
}

// Who has some of what this demand waits for.
static void report_holders(const corral_hub *hub, const resource_demand *demand, cJSON *item)
{
    cJSON *array = cJSON_AddArrayToObject(item, "held_by");
    for (const hub_worker *worker = hub->workers; worker != NULL; worker = worker->next) {
        if (!worker->has_grant || !resource_demands_meet(demand, &worker->grant.demand)) continue;
        if (cJSON_GetArraySize(array) >= HOLDERS_MAX) return;
        char what[512], amount[128];
        resource_demand_describe(&hub->pool, &worker->grant.demand, amount, sizeof amount);
        const char *made = worker->task != NULL ? worker->task->result->made_by : "";
        if (worker->actor != NULL)
            snprintf(what, sizeof what, "actor \"%s\" (process %d): %s", worker->actor->class_name,
                     (int)worker->pid, amount);
        else
            snprintf(what, sizeof what, "%s (process %d): %s", made, (int)worker->pid, amount);
        cJSON_AddItemToArray(array, cJSON_CreateString(what));
    }
}

static void report_demands(const corral_hub *hub, cJSON *root)
{
    cJSON *array = cJSON_AddArrayToObject(root, "demands");
    for (const hub_shape *shape = hub->shapes; shape != NULL; shape = shape->next) {
        if (shape->ready.count == 0) continue;
        cJSON *item = add_object(array);
        char text[256];
        resource_demand_describe(&hub->pool, &shape->demand, text, sizeof text);
        cJSON_AddStringToObject(item, "demand", text);
        cJSON_AddNumberToObject(item, "count", (double)shape->ready.count);
        cJSON_AddStringToObject(item, "first", shape->ready.first->result->made_by);
        report_holders(hub, &shape->demand, item);
    }
}

static void report_workers(const corral_hub *hub, cJSON *root)
{
    cJSON *array = cJSON_AddArrayToObject(root, "workers");
    for (const hub_worker *worker = hub->workers; worker != NULL; worker = worker->next) {
        if (cJSON_GetArraySize(array) >= LISTED_MAX) return;
        cJSON *item = add_object(array);
        cJSON_AddNumberToObject(item, "pid", worker->pid);
        cJSON_AddNumberToObject(item, "job", (double)worker->job->id);
        const char *runs = worker->task != NULL ? worker->task->result->made_by : "";
        cJSON_AddStringToObject(item, "runs", worker->actor != NULL ? worker->actor->class_name : runs);
        cJSON_AddStringToObject(item, "state",
                                worker->ending    ? "ending"
                                : worker->blocked ? "waiting"
                                : worker->actor   ? "actor"
                                : worker->task    ? "running"
                                                  : "idle");
    }
}

static void report_actors(const corral_hub *hub, cJSON *root)
{
    static const char *const states[] = {"waiting", "starting", "alive", "restarting", "dead"};
    cJSON *array = cJSON_AddArrayToObject(root, "actors");
    for (size_t i = 0; i < hub->actors.capacity && cJSON_GetArraySize(array) < LISTED_MAX; i++) {
        const hub_actor *actor = hub->actors.slots[i].thing;
        if (actor == NULL) continue;
        cJSON *item = add_object(array);
        add_id(item, "id", actor->id);
        cJSON_AddStringToObject(item, "class", actor->class_name);
        cJSON_AddStringToObject(item, "name", actor->name);
        cJSON_AddStringToObject(item, "state", states[actor->state]);
        cJSON_AddNumberToObject(item, "pid", actor->worker != NULL ? actor->worker->pid : 0);
        cJSON_AddNumberToObject(item, "restarts", actor->restarts);
        cJSON_AddNumberToObject(item, "calls", (double)(actor->waiting + actor->running.count));
        cJSON_AddBoolToObject(item, "detached", actor->detached);
    }
}

static void report_object(const hub_object *object, cJSON *item)
{
    static const char *const states[] = {"pending", "inline", "shared", "error"};
    add_id(item, "id", object->id);
    cJSON_AddStringToObject(item, "state", states[object->state]);
    cJSON_AddNumberToObject(item, "size", (double)object->size);
    cJSON_AddStringToObject(item, "made_by", object->made_by);
    cJSON_AddNumberToObject(item, "pins", object->pins);
    cJSON *holders = cJSON_AddArrayToObject(item, "holders");
    for (size_t i = 0; i < object->holders.count && i < HOLDERS_MAX; i++) {
        const hub_client *client = object->holders.things[i];
        cJSON_AddItemToArray(holders, cJSON_CreateNumber((double)client->pid));
    }
}

static void report_objects(const corral_hub *hub, cJSON *root)
{
    cJSON *array = cJSON_AddArrayToObject(root, "objects");
    double bytes = 0;
    for (size_t i = 0; i < hub->objects.capacity; i++) {
        const hub_object *object = hub->objects.slots[i].thing;
        if (object == NULL) continue;
        bytes += (double)object->size;
        if (cJSON_GetArraySize(array) < LISTED_MAX) report_object(object, add_object(array));
    }
    cJSON_AddNumberToObject(root, "object_count", (double)hub->objects.count);
    cJSON_AddNumberToObject(root, "object_bytes", bytes);
}

char *corral_hub_report(const corral_hub *hub)
{
    cJSON *root = cJSON_CreateObject();
    if (root == NULL) return NULL;
    report_resources(hub, root);
    cJSON_AddNumberToObject(root, "ended", (double)hub->tasks_ended);
    report_demands(hub, root);
    report_workers(hub, root);
    report_actors(hub, root);
    report_objects(hub, root);
    char *text = cJSON_PrintUnformatted(root);
    cJSON_Delete(root);
    return text;
}
