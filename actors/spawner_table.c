// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Who is ended when a child dies.
///
/// Its process group, by one kill(-group) while the child is still a zombie, so that the number cannot have
/// been given to anybody else. And what has left the group (setsid): when its parent dies, it becomes a child
/// of the spawner, which is a subreaper, and stands in /proc/self/task/.../children without being in the
/// table. Its own children come the same way when it dies. Only the spawner takes anything off that list (by
/// reaping), so one look sees them all.
///
/// An orphan in the group of a living child is let live: that child dies some day. One with a session of its
/// own could be anybody's, also a living child's, and is ended: an actor must not leave daemons behind.
#include "spawner_table.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

corral_status corral_spawner_table_reserve(corral_spawner_table *table)
{
    if (table->count < table->capacity) return CORRAL_OK;
    const size_t capacity = table->capacity > 0 ? 2 * table->capacity : 16;
    corral_spawner_entry *entries = realloc(table->entries, capacity * sizeof *entries);
    if (entries == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for another child");
    table->entries = entries;
    table->capacity = capacity;
    return CORRAL_OK;
}

void corral_spawner_table_add(corral_spawner_table *table, pid_t pid)
{
    CORRAL_ASSERT(table->count < table->capacity);
    table->entries[table->count++] = (corral_spawner_entry){.pid = pid};
}

void corral_spawner_table_remove(corral_spawner_table *table, size_t index)
{
    table->entries[index] = table->entries[--table->count];
}

static corral_spawner_entry *find_running(const corral_spawner_table *table, pid_t pid)
{
    for (size_t i = 0; i < table->count; i++)
        if (table->entries[i].pid == pid && !table->entries[i].exited) return &table->entries[i];
    return NULL;
}

void corral_spawner_table_signal(const corral_spawner_table *table, pid_t pid, int number)
{
    if (find_running(table, pid) != NULL) kill(-pid, number);
}

void corral_spawner_table_signal_all(const corral_spawner_table *table, int number)
{
    for (size_t i = 0; i < table->count; i++)
        if (!table->entries[i].exited) kill(-table->entries[i].pid, number);
}

void corral_spawner_table_reap(corral_spawner_table *table)
{
    siginfo_t ended = {0};
    while (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid != 0) {
        const pid_t pid = ended.si_pid;
        corral_spawner_entry *entry = find_running(table, pid);
        if (entry != NULL) {
            kill(-pid, SIGKILL);
            entry->exited = true;
        }
        waitpid(pid, entry != NULL ? &entry->status : NULL, 0);
        ended.si_pid = 0;
    }
}

size_t corral_spawner_table_end_orphans(const corral_spawner_table *table)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *file = fopen(path, "re");
    if (file == NULL) return 0; // a kernel without this list: the groups have been ended at least
    size_t orphans = 0;
    int pid = 0;
    while (fscanf(file, "%d", &pid) == 1) {
        if (find_running(table, pid) != NULL || find_running(table, getpgid(pid)) != NULL) continue;
        kill(pid, SIGKILL);
        orphans++;
    }
    fclose(file);
    return orphans;
}

bool corral_spawner_table_is_childless(void)
{
    siginfo_t ended;
    return waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD;
}
