// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "single.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { INSTANCE_ALIGNMENT = 64 };

struct corral_single_batch {
    const corral_env_type *type;
    uint32_t count, ready; // `ready` instances are initialised
    size_t stride;         // bytes from one instance to the next
    char *instances;
    void **action_leaf;      // [action leaf], refilled for each instance
    void **observation_leaf; // [observation leaf]
};

void *corral_single_instance(const corral_single_batch *batch, uint32_t index)
{
    return batch->instances + index * batch->stride;
}

static bool allocate(corral_single_batch *batch)
{
    const size_t size = batch->type->single->instance_size;
    batch->stride = (size + INSTANCE_ALIGNMENT - 1) / INSTANCE_ALIGNMENT * INSTANCE_ALIGNMENT;
    if (batch->count > SIZE_MAX / batch->stride) return false;
    batch->instances = aligned_alloc(INSTANCE_ALIGNMENT, batch->count * batch->stride);
    batch->action_leaf = calloc(batch->type->spaces.action_count, sizeof *batch->action_leaf);
    batch->observation_leaf = calloc(batch->type->spaces.observation_count, sizeof *batch->observation_leaf);
    if (batch->instances == NULL || batch->action_leaf == NULL || batch->observation_leaf == NULL)
        return false;
    memset(batch->instances, 0, batch->count * batch->stride);
    return true;
}

int32_t corral_single_create(const corral_env_type *type, const corral_env_host *host, uint32_t count,
                             const double *values, corral_single_batch **out_batch)
{
    corral_single_batch *batch = calloc(1, sizeof *batch);
    if (batch == NULL) return 1;
    batch->type = type;
    batch->count = count;

    int32_t result = 0;
    if (!allocate(batch)) {
        host->error("no memory for its instances");
        result = 1;
    }
    const corral_env_single *single = type->single;
    while (result == 0 && batch->ready < count) {
        if (single->init != NULL)
            result = single->init(corral_single_instance(batch, batch->ready), host, values);
        if (result == 0) batch->ready++;
    }
    if (result != 0) {
        corral_single_destroy(batch);
        return result;
    }
    *out_batch = batch;
    return 0;
}

void corral_single_destroy(corral_single_batch *batch)
{
    if (batch == NULL) return;
    if (batch->type->single->finish != NULL)
        for (uint32_t i = 0; i < batch->ready; i++)
            batch->type->single->finish(corral_single_instance(batch, i));
    free(batch->instances);
    free(batch->action_leaf);
    free(batch->observation_leaf);
    free(batch);
}

/// Row `index` as an instance expects it: the data of a lone leaf, else an array of pointers.
static void *row_of(const corral_env_rows *rows, uint32_t leaf_count, uint32_t index, void **leaf_pointers)
{
    if (leaf_count == 1) return (char *)rows->data + index * rows->stride;
    for (uint32_t k = 0; k < leaf_count; k++)
        leaf_pointers[k] = (char *)rows[k].data + index * rows[k].stride;
    return leaf_pointers;
}

void corral_single_reset(corral_single_batch *batch, const uint8_t *mask, const uint64_t *seed,
                         const corral_env_step *out)
{
    const corral_env_spaces *spaces = &batch->type->spaces;
    for (uint32_t i = 0; i < batch->count; i++) {
        if (mask != NULL && !mask[i]) continue;
        void *observation = row_of(out->observation, spaces->observation_count, i, batch->observation_leaf);
        if (batch->type->single->reset(corral_single_instance(batch, i), seed[i], observation) != 0)
            out->failed[i] = 1;
    }
}

void corral_single_step(corral_single_batch *batch, const corral_env_step *io)
{
    const corral_env_spaces *spaces = &batch->type->spaces;
    for (uint32_t i = 0; i < batch->count; i++) {
        const void *action = row_of(io->action, spaces->action_count, i, batch->action_leaf);
        void *observation = row_of(io->observation, spaces->observation_count, i, batch->observation_leaf);
        corral_env_result result = {0};
        if (batch->type->single->step(corral_single_instance(batch, i), action, observation, &result) != 0)
            io->failed[i] = 1;
        io->reward[i] = result.reward;
        io->terminated[i] = result.terminated;
        io->truncated[i] = result.truncated;
    }
}
