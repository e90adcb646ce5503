// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Who runs next. Of the queues whose demand fits, the one whose first task is the oldest. When the oldest of
/// all does not fit for a second, nothing that uses the same kinds begins before it, so a large demand is not
/// passed over for ever by small ones; but only where it would fit if all tasks ended: what an actor holds
/// may never come back.
#include "hub_private.h"

#include "corral/base/clock.h"

#include <stdio.h>
#include <stdlib.h>

#define STARVING_AFTER CORRAL_SECOND

enum { TASK_WORKERS_LEAST = 64, TASK_WORKERS_PER_CPU = 4 };

// Tasks that ask for no CPU are bounded as well, since each takes a process.
static size_t task_workers_limit(const corral_hub *hub)
{
    const size_t by_cpus = (size_t)(hub->pool.total[RESOURCE_CPUS] / RESOURCE_UNIT) * TASK_WORKERS_PER_CPU;
    return by_cpus > TASK_WORKERS_LEAST ? by_cpus : TASK_WORKERS_LEAST;
}

// Workers that waited for others go on first. False: one of them still waits for its CPUs.
static bool resume_workers(corral_hub *hub)
{
    bool all = true;
    const corral_message resume = {.kind = CORRAL_MESSAGE_RESUME};
    for (hub_worker *worker = hub->workers; worker != NULL; worker = worker->next) {
        if (!worker->resuming) continue;
        if (worker->blocked && !resource_take_back_cpus(&hub->pool, &worker->grant)) {
            all = false;
            continue;
        }
        hub_worker_count(hub, worker, worker->task != NULL && worker->actor == NULL);
        worker->resuming = worker->blocked = false;
        hub_client_send(hub, worker->client, &resume, NULL);
    }
    return all;
}

static bool fits_beside_actors(const corral_hub *hub, const resource_demand *demand)
{
    resource_pool pool = hub->pool;
    for (size_t i = 0; i < pool.kinds; i++)
        pool.used[i] = 0;
    for (size_t i = 0; i < RESOURCE_GPUS_MAX; i++)
        pool.gpu_used[i] = 0;
    resource_grant ignored;
    for (const hub_worker *worker = hub->workers; worker != NULL; worker = worker->next)
        if (worker->actor != NULL && worker->has_grant &&
            !resource_take(&pool, &worker->grant.demand, &ignored))
            return false;
    return resource_fits(&pool, demand);
}

static const hub_shape *oldest_shape(const corral_hub *hub)
{
    const hub_shape *oldest = NULL;
    for (const hub_shape *shape = hub->shapes; shape != NULL; shape = shape->next)
        if (shape->ready.count > 0 &&
            (oldest == NULL || shape->ready.first->sequence < oldest->ready.first->sequence))
            oldest = shape;
    return oldest;
}

// The demand that nobody may overtake; NULL: none.
static const hub_shape *starving_shape(const corral_hub *hub)
{
    const hub_shape *oldest = oldest_shape(hub);
    if (oldest == NULL || resource_fits(&hub->pool, &oldest->demand) ||
        corral_now_ns() - oldest->ready.first->ready_at_ns < STARVING_AFTER ||
        !fits_beside_actors(hub, &oldest->demand))
        return NULL;
    return oldest;
}

static hub_shape *choose(corral_hub *hub, bool with_cpus, const hub_shape *starving)
{
    hub_shape *best = NULL;
    const bool crowded = hub->task_workers >= task_workers_limit(hub);
    for (hub_shape *shape = hub->shapes; shape != NULL; shape = shape->next) {
        if (shape->ready.count == 0 || !resource_fits(&hub->pool, &shape->demand)) continue;
        if (!with_cpus && shape->demand.amount[RESOURCE_CPUS] > 0) continue;
        if (starving != NULL && shape != starving && resource_demands_meet(&shape->demand, &starving->demand))
            continue;
        if (crowded && shape->ready.first->spec.head.kind == SPEC_TASK) continue;
        if (best == NULL || shape->ready.first->sequence < best->ready.first->sequence) best = shape;
    }
    return best;
}

static void begin(corral_hub *hub, hub_shape *shape)
{
    hub_task *task = hub_queue_pop(&shape->ready);
    hub_worker *worker = NULL;
    const corral_status status = hub_worker_for(hub, task->job, &worker);
    if (status != CORRAL_OK) {
        char why[HUB_TEXT_SIZE];
        snprintf(why, sizeof why, "%s: %s", task->result->made_by, corral_last_error());
        task->state = TASK_WAITING; // in no queue
        hub_task_fail(hub, task, status, why);
        return;
    }
    worker->has_grant = resource_take(&hub->pool, &shape->demand, &worker->grant);
    CORRAL_ASSERT(worker->has_grant);
    worker->task = task;
    if (task->spec.head.kind == SPEC_SPAWN)
        hub_actor_started(task->actor, worker);
    else
        hub_worker_count(hub, worker, true);
    hub_task_send(hub, task, worker);
}

void hub_dispatch(corral_hub *hub)
{
    hub->dispatching = false;
    const bool with_cpus = resume_workers(hub);
    const hub_shape *starving = starving_shape(hub);
    hub_shape *shape;
    while ((shape = choose(hub, with_cpus, starving)) != NULL)
        begin(hub, shape);
}
