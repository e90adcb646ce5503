// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Private to actors: the spawner's children, and how what they leave behind is ended.
#ifndef CORRAL_ACTORS_SPAWNER_TABLE_H
#define CORRAL_ACTORS_SPAWNER_TABLE_H

#include "corral/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct corral_spawner_entry {
    pid_t pid;
    bool exited; // and reaped
    int status;  // as from waitpid()
} corral_spawner_entry;

/// Begins zeroed.
typedef struct corral_spawner_table {
    corral_spawner_entry *entries;
    size_t count, capacity;
} corral_spawner_table;

/// Makes room for one more, so that corral_spawner_table_add() cannot fail.
CORRAL_MUST_USE corral_status corral_spawner_table_reserve(corral_spawner_table *table);
void corral_spawner_table_add(corral_spawner_table *table, pid_t pid);
void corral_spawner_table_remove(corral_spawner_table *table, size_t index);

/// Sends a signal to the group of one running child, or of all of them.
void corral_spawner_table_signal(const corral_spawner_table *table, pid_t pid, int number);
void corral_spawner_table_signal_all(const corral_spawner_table *table, int number);

/// Reaps what has ended; of a child in the table, the whole group is ended too.
void corral_spawner_table_reap(corral_spawner_table *table);
/// Sends KILL to what has been left behind, and says how many of those there (still) are.
size_t corral_spawner_table_end_orphans(const corral_spawner_table *table);
/// No process is left, known or not.
bool corral_spawner_table_is_childless(void);

#endif
