// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The memory monitor: before the kernel has to choose whom to kill, which may be this agent or somebody
/// else's database, the agent ends one of its own workers and says why.
///
/// Twice a second, while there are workers, two questions are asked: is less than a twentieth of what this
/// node could have at its start left to it (of the host, or of the tightest control group above it:
/// host_memory.h), and do the workers together hold more than --memory allows. If either is so, the youngest
/// of those that can be begun again goes: it has lost least, and what was first keeps its place. Where none
/// can be begun again, the youngest of all goes. Who holds less than a tenth of what the largest does is left
/// alone: its end would help nobody. Then there is a pause, in which the memory comes back.
///
/// What a worker holds is what would come back with its end: its anonymous pages. Shared memory has other
/// users, and file pages are the kernel's to drop.
#include "node_private.h"

#include "corral/actors/host_memory.h"

#include "corral/base/clock.h"
#include "corral/base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ASK_EVERY (500 * CORRAL_MILLISECOND)
#define PAUSE     (2 * CORRAL_SECOND)

enum { PROCESSES_MAX = 1024 };

#define MIB 1048576.0

typedef struct candidate {
    corral_hub_process process;
    node_actor *actor; // NULL: the hub's
    uint64_t bytes;
} candidate;

static uint64_t anonymous_bytes(pid_t pid)
{
    char path[64], line[128];
    unsigned long long kib = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL) return 0; // it has just ended
    while (fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "RssAnon: %llu kB", &kib) == 1) break;
    fclose(file);
    return (uint64_t)kib * 1024;
}

static size_t list_rollout_workers(node *n, candidate *out, size_t capacity)
{
    size_t count = 0;
    for (node_session *s = n->sessions; s != NULL; s = s->next)
        for (node_group *g = s->groups; g != NULL; g = g->next)
            for (uint32_t i = 0; i < g->count && count < capacity; i++) {
                node_actor *actor = &g->actors[i];
                if (actor->pid == 0) continue;
                candidate *one = &out[count++];
                *one = (candidate){.process = {.pid = actor->pid, .started_ns = actor->started_ns},
                                   .actor = actor};
                one->process.again = actor->crashes_in_row < g->max_restarts;
                snprintf(one->process.what, sizeof one->process.what, "actor %u of group \"%s\"",
                         actor->index, g->class_name);
            }
    return count;
}

static size_t list(node *n, candidate *out)
{
    static const size_t most = PROCESSES_MAX;
    size_t count = list_rollout_workers(n, out, most);
    if (n->hub != NULL) {
        corral_hub_process *processes = calloc(most, sizeof *processes);
        const size_t found = processes != NULL ? corral_hub_processes(n->hub, processes, most - count) : 0;
        for (size_t i = 0; i < found; i++)
            out[count++] = (candidate){.process = processes[i]};
        free(processes);
    }
    for (size_t i = 0; i < count; i++)
        out[i].bytes = anonymous_bytes(out[i].process.pid);
    return count;
}

static const candidate *choose(const candidate *of, size_t count)
{
    const candidate *best = NULL;
    uint64_t most = 0;
    for (size_t i = 0; i < count; i++)
        if (of[i].bytes > most) most = of[i].bytes;
    for (size_t i = 0; i < count; i++) {
        const corral_hub_process *one = &of[i].process;
        if (of[i].bytes < most / 10) continue;
        if (best == NULL || (one->again && !best->process.again) ||
            (one->again == best->process.again && one->started_ns > best->process.started_ns))
            best = &of[i];
    }
    return best;
}

static void end(node *n, const candidate *victim, const char *why)
{
    char how[NODE_HOW_SIZE];
    snprintf(how, sizeof how, "was ended by its node's memory monitor, holding %.0f MiB: %s",
             (double)victim->bytes / MIB, why);
    corral_log(CORRAL_LOG_WARNING, "%s (process %d) %s", victim->process.what, (int)victim->process.pid, how);
    if (victim->actor == NULL) {
        corral_hub_kill(n->hub, victim->process.pid, how);
        return;
    }
    snprintf(victim->actor->how, sizeof victim->actor->how, "%s", how);
    node_actor_kill(victim->actor);
}

// Why one has to go; false when none has.
static bool is_short(const node *n, const candidate *of, size_t count, char *why, size_t size)
{
    uint64_t held = 0;
    for (size_t i = 0; i < count; i++)
        held += of[i].bytes;
    const uint64_t left = corral_host_memory_available();
    if (n->config->memory_bytes > 0 && (double)held > n->config->memory_bytes) {
        snprintf(why, size, "the node's workers hold %.0f MiB, and --memory allows %.0f", (double)held / MIB,
                 n->config->memory_bytes / MIB);
        return true;
    }
    if (left >= n->memory_floor) return false;
    snprintf(why, size, "%.0f MiB are left to this node, and the kernel ends processes when there are none",
             (double)left / MIB);
    return true;
}

void node_memory_check(node *n, int64_t now_ns)
{
    if (now_ns < n->memory_at_ns) return;
    n->memory_at_ns = now_ns + ASK_EVERY;
    const uint64_t left = n->memory_floor == 0 ? corral_host_memory_available() : 0;
    if (n->memory_floor == 0) n->memory_floor = left == UINT64_MAX ? 1 : left / 20 + 1;
    candidate *all = calloc(PROCESSES_MAX, sizeof *all);
    if (all == NULL) return;
    char why[160];
    const size_t count = list(n, all);
    if (count > 0 && is_short(n, all, count, why, sizeof why)) {
        end(n, choose(all, count), why);
        n->memory_at_ns = now_ns + PAUSE;
    }
    free(all);
}

bool node_has_workers(const node *n)
{
    if (n->hub != NULL) return true;
    for (const node_session *s = n->sessions; s != NULL; s = s->next)
        if (s->groups != NULL) return true;
    return false;
}
