// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Environments that are a table: numbered states, and for each state and action a few outcomes with their
/// probabilities. The table is written once per batch; an instance is a state and a generator.
///
/// As in Gymnasium every reset and every step draws one number u, even where nothing is left to chance, and
/// the first outcome whose running sum of probabilities exceeds u happens.
#ifndef CORRAL_ENVS_TOY_TEXT_TABLE_H
#define CORRAL_ENVS_TOY_TEXT_TABLE_H

#include "corral/env.h"

#include <string.h>

enum { CORRAL_TABLE_OUTCOMES = 3, CORRAL_TABLE_SETTINGS_MAX = 8 };

typedef struct corral_table_outcome {
    double until; // running sum of probabilities
    double reward;
    int32_t next;
    uint8_t terminated;
} corral_table_outcome;

/// Outcomes of one action in one state. Those not used have `until` 0.
typedef struct corral_table_entry {
    corral_table_outcome outcome[CORRAL_TABLE_OUTCOMES];
    uint32_t count;
} corral_table_entry;

/// What an instance is between two steps, and what is saved.
typedef struct corral_table_instance {
    corral_env_rng rng;
    int32_t state;
    uint8_t action; // the last one, for pictures
    uint8_t mark;   // of the rules
    uint8_t padding[2];
} corral_table_instance;

typedef struct corral_table {
    const corral_env_host *host;
    uint32_t count; // instances
    int32_t states, actions;
    corral_table_entry *entry;                  // [states][actions]
    double *start;                              // [states] running sum of the chances to begin there
    corral_table_instance *instance;            // [count]
    double settings[CORRAL_TABLE_SETTINGS_MAX]; // the parameters' values, in their order
} corral_table;

/// Every entry is empty, every start 0. Non-zero without memory.
int32_t corral_table_create(const corral_env_host *host, uint32_t count, const double *values,
                            uint32_t value_count, int32_t states, int32_t actions, void **out_table);
void corral_table_destroy(void *table);

/// Adds an outcome to an entry.
void corral_table_add(corral_table *table, int32_t state, int32_t action, double probability, int32_t next,
                      double reward, int terminated);
/// Turns chances, which have to sum up to 1, into running sums.
void corral_table_set_start(corral_table *table, const double *chance);

/// For batch.reset and batch.step. The observation is the state.
int32_t corral_table_reset(void *table, const uint8_t *mask, const uint64_t *seed,
                           const corral_env_step *out);
int32_t corral_table_step(void *table, const corral_env_step *io);

/// The two halves of a step, for rules that have more to say: takes an outcome for instance `index` and moves
/// it; writes the observation.
const corral_table_outcome *corral_table_move(corral_table *table, uint32_t index, int32_t action);
void corral_table_observe(const corral_table *table, uint32_t index, const corral_env_step *io);

/// For the state extension: a corral_table_instance. A state outside the table is refused.
void corral_table_save(const void *table, uint32_t index, void *out_state);
int32_t corral_table_load(void *table, uint32_t index, const void *state);

static inline int32_t corral_table_action(const corral_env_step *io, uint32_t index)
{
    int32_t action;
    memcpy(&action, (const char *)io->action->data + index * io->action->stride, sizeof action);
    return action;
}

#endif
