// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// What the agent's memory monitor sees of the hub's processes, and how it ends one.
#include "hub_private.h"

#include <stdio.h>

static void describe(const hub_worker *worker, corral_hub_process *out)
{
    const hub_actor *actor = worker->actor;
    const hub_task *task = worker->task;
    *out = (corral_hub_process){.pid = worker->pid, .started_ns = worker->started_ns};
    if (actor != NULL) {
        out->again = actor->restarts_left > 0;
        snprintf(out->what, sizeof out->what, "actor \"%s\"", actor->class_name);
    } else if (task != NULL) {
        out->again = task->retries_left > 0;
        snprintf(out->what, sizeof out->what, "%s", task->result->made_by);
    } else {
        out->again = true; // an idle one costs nobody anything
        snprintf(out->what, sizeof out->what, "a worker without a task");
    }
}

size_t corral_hub_processes(const corral_hub *hub, corral_hub_process *out_processes, size_t capacity)
{
    size_t count = 0;
    for (const hub_worker *worker = hub->workers; worker != NULL && count < capacity; worker = worker->next)
        if (worker->pid != 0) describe(worker, &out_processes[count++]);
    return count;
}

void corral_hub_kill(corral_hub *hub, pid_t pid, const char *how)
{
    for (hub_worker *worker = hub->workers; worker != NULL; worker = worker->next) {
        if (worker->pid != pid) continue;
        snprintf(worker->doom, sizeof worker->doom, "%s", how);
        hub_worker_kill(hub, worker);
        return;
    }
}
