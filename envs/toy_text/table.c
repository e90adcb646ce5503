// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "table.h"

#include <stdlib.h>

int32_t corral_table_create(const corral_env_host *host, uint32_t count, const double *values,
                            uint32_t value_count, int32_t states, int32_t actions, void **out_table)
{
    corral_table *table = calloc(1, sizeof *table);
    if (table == NULL) return 1;
    table->host = host;
    table->count = count;
    table->states = states;
    table->actions = actions;
    table->entry = calloc((size_t)states * (size_t)actions, sizeof *table->entry);
    table->start = calloc((size_t)states, sizeof *table->start);
    table->instance = calloc(count, sizeof *table->instance);
    if (value_count > 0) memcpy(table->settings, values, value_count * sizeof *values);
    if (table->entry == NULL || table->start == NULL || table->instance == NULL) {
        host->error("no memory for its table");
        corral_table_destroy(table);
        return 1;
    }
    *out_table = table;
    return 0;
}

void corral_table_destroy(void *handle)
{
    corral_table *table = handle;
    if (table == NULL) return;
    free(table->entry);
    free(table->start);
    free(table->instance);
    free(table);
}

void corral_table_add(corral_table *table, int32_t state, int32_t action, double probability, int32_t next,
                      double reward, int terminated)
{
    corral_table_entry *entry = &table->entry[state * table->actions + action];
    const double before = entry->count > 0 ? entry->outcome[entry->count - 1].until : 0;
    entry->outcome[entry->count++] =
        (corral_table_outcome){before + probability, reward, next, terminated != 0};
}

void corral_table_set_start(corral_table *table, const double *chance)
{
    double sum = 0;
    for (int32_t s = 0; s < table->states; s++)
        table->start[s] = sum += chance[s];
}

/// The first one whose sum exceeds u; the first of all where none does, which rounding can bring about.
static int32_t draw_start(const corral_table *table, corral_env_rng *rng)
{
    const double u = table->host->rng_double(rng);
    for (int32_t s = 0; s < table->states; s++)
        if (table->start[s] > u) return s;
    return 0;
}

const corral_table_outcome *corral_table_move(corral_table *table, uint32_t index, int32_t action)
{
    corral_table_instance *one = &table->instance[index];
    const corral_table_entry *entry = &table->entry[one->state * table->actions + action];
    const double u = table->host->rng_double(&one->rng);
    const corral_table_outcome *taken = &entry->outcome[0];
    for (uint32_t k = 0; k < entry->count; k++) {
        if (!(entry->outcome[k].until > u)) continue;
        taken = &entry->outcome[k];
        break;
    }
    one->state = taken->next;
    one->action = (uint8_t)action;
    return taken;
}

void corral_table_observe(const corral_table *table, uint32_t index, const corral_env_step *io)
{
    memcpy((char *)io->observation->data + index * io->observation->stride, &table->instance[index].state,
           sizeof table->instance[index].state);
}

int32_t corral_table_step(void *handle, const corral_env_step *io)
{
    corral_table *table = handle;
    for (uint32_t i = 0; i < table->count; i++) {
        const corral_table_outcome *taken = corral_table_move(table, i, corral_table_action(io, i));
        io->reward[i] = taken->reward;
        io->terminated[i] = taken->terminated;
        corral_table_observe(table, i, io);
    }
    return 0;
}

int32_t corral_table_reset(void *handle, const uint8_t *mask, const uint64_t *seed,
                           const corral_env_step *out)
{
    corral_table *table = handle;
    for (uint32_t i = 0; i < table->count; i++) {
        if (mask != NULL && !mask[i]) continue;
        corral_table_instance *one = &table->instance[i];
        memset(one, 0, sizeof *one);
        table->host->rng_seed(&one->rng, seed[i]);
        one->state = draw_start(table, &one->rng);
        corral_table_observe(table, i, out);
    }
    return 0;
}

void corral_table_save(const void *handle, uint32_t index, void *out_state)
{
    const corral_table *table = handle;
    memcpy(out_state, &table->instance[index], sizeof *table->instance);
}

int32_t corral_table_load(void *handle, uint32_t index, const void *state)
{
    corral_table *table = handle;
    corral_table_instance one;
    memcpy(&one, state, sizeof one);
    if (one.state < 0 || one.state >= table->states || one.action >= table->actions) {
        table->host->error("a state outside its table");
        return 1;
    }
    table->instance[index] = one;
    return 0;
}
