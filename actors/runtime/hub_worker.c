// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Worker processes. One is started when a task is ready to run and none of its job is idle; its socket takes
/// the task before the process is up. It runs one task at a time, or becomes an actor's for the rest of its
/// life. Idle ones are kept, as many as there are CPUs.
#include "hub_private.h"

#include "corral/base/clock.h"
#include "corral/base/log.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define STOP_PATIENCE CORRAL_SECOND // for an actor's destroy()

enum { WORKERS_MAX = 4096 };

// --- starting ----------------------------------------------------------------------------------------------

static corral_status start_process(corral_hub *hub, const hub_job *job, int socket, pid_t *out_pid)
{
    const char *program = job->program[0] != '\0' ? job->program : hub->worker_program;
    const char *const arguments[] = {program, NULL};
    // Several workers share the cores: none of them may start threads of its own for arithmetic.
    static const char *const environment[] = {"CORRAL_RUNTIME_WORKER=1", "OMP_NUM_THREADS=1",
                                              "OPENBLAS_NUM_THREADS=1", "MKL_NUM_THREADS=1", NULL};
    const corral_spawn spawn = {
        .program = program,
        .arguments = arguments,
        .environment = environment,
        .fds = {socket, -1, -1, -1},
        .stderr_fd = -1,
    };
    return corral_spawner_spawn(hub->spawner, &spawn, out_pid);
}

static corral_status start_worker(corral_hub *hub, hub_job *job, hub_worker **out_worker)
{
    int sockets[2];
    hub_worker *worker = calloc(1, sizeof *worker);
    if (worker == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for one worker more");
    corral_status status = corral_message_pair(sockets);
    if (status != CORRAL_OK) {
        free(worker);
        return status;
    }
    status = start_process(hub, job, sockets[1], &worker->pid);
    close(sockets[1]);
    if (status == CORRAL_OK)
        status = hub_client_open(hub, sockets[0], &worker->client);
    else
        close(sockets[0]);
    if (status != CORRAL_OK) {
        free(worker);
        return status;
    }
    worker->started_ns = corral_now_ns();
    worker->job = job;
    worker->client->job = job;
    worker->client->worker = worker;
    worker->client->pid = worker->pid;
    worker->next = hub->workers;
    hub->workers = worker;
    job->workers++;
    hub_client_admit(hub, worker->client);
    *out_worker = worker;
    return CORRAL_OK;
}

static bool is_idle(const hub_worker *worker)
{
    return worker->task == NULL && worker->actor == NULL && worker->client != NULL && !worker->ending;
}

corral_status hub_worker_for(corral_hub *hub, hub_job *job, hub_worker **out_worker)
{
    size_t count = 0;
    for (hub_worker *worker = hub->workers; worker != NULL; worker = worker->next, count++)
        if (worker->job == job && is_idle(worker)) {
            *out_worker = worker;
            return CORRAL_OK;
        }
    if (count >= WORKERS_MAX)
        return corral_fail(CORRAL_ERROR_FULL,
                           "%d processes run on this node already; end some or nest tasks less deep",
                           WORKERS_MAX);
    return start_worker(hub, job, out_worker);
}

// --- ending ------------------------------------------------------------------------------------------------

void hub_worker_kill(corral_hub *hub, hub_worker *worker)
{
    worker->ending = true;
    worker->kill_at_ns = 0;
    const corral_status status = corral_spawner_signal(hub->spawner, worker->pid, SIGKILL);
    (void)status; // a spawner that is gone has taken its children along
}

void hub_worker_stop(corral_hub *hub, hub_worker *worker)
{
    const corral_message stop = {.kind = CORRAL_MESSAGE_STOP};
    worker->ending = true;
    worker->kill_at_ns = corral_now_ns() + STOP_PATIENCE;
    hub_client_send(hub, worker->client, &stop, NULL);
}

void hub_worker_idle(corral_hub *hub, hub_worker *worker)
{
    hub->dispatching = true;
    const int64_t cpus = hub->pool.total[RESOURCE_CPUS] / RESOURCE_UNIT;
    int64_t idle = 0;
    for (const hub_worker *other = hub->workers; other != NULL; other = other->next)
        idle += other->job == worker->job && is_idle(other);
    if (idle > (cpus > 1 ? cpus : 1)) hub_worker_stop(hub, worker);
}

void hub_workers_turn(corral_hub *hub, int64_t now_ns)
{
    for (hub_worker *worker = hub->workers; worker != NULL; worker = worker->next)
        if (worker->kill_at_ns != 0 && worker->kill_at_ns <= now_ns) hub_worker_kill(hub, worker);
}

int64_t hub_workers_next_wake(const corral_hub *hub)
{
    int64_t next = INT64_MAX;
    for (const hub_worker *worker = hub->workers; worker != NULL; worker = worker->next)
        if (worker->kill_at_ns != 0 && worker->kill_at_ns < next) next = worker->kill_at_ns;
    return next;
}

static void describe_exit(const hub_worker *worker, int status, char *text, size_t size)
{
    if (worker->doom[0] != '\0')
        snprintf(text, size, "%d %s", (int)worker->pid, worker->doom);
    else if (WIFSIGNALED(status))
        snprintf(text, size, "%d was killed by signal %d (%s)", (int)worker->pid, WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(text, size, "%d exited with %d", (int)worker->pid, WEXITSTATUS(status));
}

static void task_lost(corral_hub *hub, hub_task *task, corral_status status, const char *how)
{
    char why[HUB_TEXT_SIZE];
    if (task->cancelled) {
        snprintf(why, sizeof why, "%s was cancelled while it ran", task->result->made_by);
        hub_task_fail(hub, task, CORRAL_ERROR_CANCELLED, why);
    } else if (task->retries_left > 0 && task->owner != NULL) {
        task->retries_left--;
        task->attempt++;
        task->worker = NULL;
        hub_task_requeue(hub, task);
    } else {
        snprintf(why, sizeof why, "%s: its process %s", task->result->made_by, how);
        hub_task_fail(hub, task, status, why);
    }
}

void hub_worker_count(corral_hub *hub, hub_worker *worker, bool counts)
{
    if (worker->counted == counts) return;
    worker->counted = counts;
    hub->task_workers += counts ? 1 : SIZE_MAX; // that is minus one
}

void hub_worker_take_back(corral_hub *hub, hub_worker *worker)
{
    if (!worker->has_grant) return;
    if (worker->blocked) // what it had lent is not in use by it
        hub->pool.used[RESOURCE_CPUS] += worker->grant.demand.amount[RESOURCE_CPUS];
    hub_worker_count(hub, worker, false);
    resource_give(&hub->pool, &worker->grant);
    worker->has_grant = worker->blocked = worker->resuming = false;
    hub->dispatching = true;
}

bool corral_hub_exited(corral_hub *hub, const corral_spawner_exit *exit_info)
{
    hub_worker **link = &hub->workers;
    while (*link != NULL && (*link)->pid != exit_info->pid)
        link = &(*link)->next;
    hub_worker *worker = *link;
    if (worker == NULL) return false;
    char how[400];
    const corral_status status = worker->doom[0] != '\0' ? CORRAL_ERROR_NO_MEMORY : CORRAL_ERROR_LOST;
    describe_exit(worker, exit_info->status, how, sizeof how);
    if (worker->client != NULL) hub_client_receive(hub, worker->client, SIZE_MAX); // what it said before
    for (link = &hub->workers; *link != worker; link = &(*link)->next) {
    }
    *link = worker->next;
    hub_worker_take_back(hub, worker);
    if (worker->client != NULL) {
        hub_client *client = worker->client;
        client->worker = NULL;
        hub_client_end(hub, client, how);
    }
    hub_actor *actor = worker->actor;
    hub_task *task = worker->task;
    hub_job *job = worker->job;
    free(worker);
    if (actor != NULL)
        hub_actor_process_gone(hub, actor, how);
    else if (task != NULL)
        task_lost(hub, task, status, how);
    job->workers--;
    hub_job_free_if_over(hub, job);
    if (hub->dispatching) hub_dispatch(hub);
    return true;
}

// --- waiting for others ------------------------------------------------------------------------------------

void hub_worker_blocked(corral_hub *hub, hub_worker *worker)
{
    if (!worker->has_grant || worker->blocked) return;
    worker->blocked = true;
    resource_lend_cpus(&hub->pool, &worker->grant);
    hub_worker_count(hub, worker, false);
    hub->dispatching = true;
}

void hub_worker_unblocked(corral_hub *hub, hub_worker *worker)
{
    worker->resuming = true; // hub_dispatch() lets it go on before anything new begins
    hub->dispatching = true;
}

// --- jobs --------------------------------------------------------------------------------------------------

static void kill_actors(corral_hub *hub, const hub_job *job)
{
    uint64_t *ids = calloc(hub->actors.count + 1, sizeof *ids);
    size_t count = 0;
    for (size_t i = 0; ids != NULL && i < hub->actors.capacity; i++) {
        const hub_actor *actor = hub->actors.slots[i].thing;
        if (actor != NULL && actor->state != ACTOR_DEAD && actor->job == job && !actor->detached)
            ids[count++] = actor->id;
    }
    for (size_t i = 0; i < count; i++) {
        hub_actor *actor = id_map_find(&hub->actors, ids[i]);
        if (actor != NULL) hub_actor_kill(hub, actor, false);
    }
    free(ids);
}

void hub_job_end(corral_hub *hub, hub_job *job)
{
    job->driver = NULL;
    job->tasks++; // it is not freed while we walk
    kill_actors(hub, job);
    for (hub_worker *worker = hub->workers; worker != NULL; worker = worker->next)
        if (worker->job == job && worker->actor == NULL) hub_worker_kill(hub, worker);
    job->tasks--;
}

void hub_job_free_if_over(corral_hub *hub, hub_job *job)
{
    if (job->driver != NULL || job->workers > 0 || job->tasks > 0) return;
    for (hub_job **link = &hub->jobs; *link != NULL; link = &(*link)->next)
        if (*link == job) {
            *link = job->next;
            break;
        }
    free(job->program);
    free(job->library);
    free(job);
}
