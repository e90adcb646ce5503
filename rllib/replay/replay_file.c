// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// replay.safetensors: the rows that there are, in the ring's order; "priority" where they have any;
/// "waiting.*", the steps of each environment that still wait for their horizon; and "ring" [rows, next
/// place], "shape" and "largest_error".
#include "replay_internal.h"

#include "corral/base/safetensors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char file_format[] = "corral.replay.1";

enum { TENSORS_MAX = 16, SHAPE = 4 };

static void shape_of(const replay *r, int64_t out_shape[SHAPE])
{
    out_shape[0] = (int64_t)r->config.capacity;
    out_shape[1] = r->config.envs;
    out_shape[2] = r->config.n_step;
    out_shape[3] = r->config.observation_size;
}

typedef struct columns {
    int64_t ring[2], shape[SHAPE];
    int32_t *waiting; // [envs] counts, as a stored type
    corral_stored_tensor tensor[TENSORS_MAX];
    size_t count;
} columns;

static void add(columns *c, const char *name, corral_stored_type type, size_t size_of_element,
                uint32_t dimension_count, const uint64_t *shape, const void *data)
{
    CORRAL_ASSERT(c->count < TENSORS_MAX);
    corral_stored_tensor *tensor = &c->tensor[c->count++];
    *tensor = (corral_stored_tensor){.name = name, .type = type, .dimension_count = dimension_count};
    tensor->data = data;
    tensor->size = size_of_element;
    for (uint32_t d = 0; d < dimension_count; d++) {
        tensor->shape[d] = shape[d];
        tensor->size *= shape[d];
    }
}

/// Everything that is stored, where it lies in memory. `c->waiting` has room for a count per environment.
static void list(const replay *r, columns *c)
{
    const replay_config *config = &r->config;
    const uint64_t width = config->observation_size, rows = r->count, envs = config->envs, n = config->n_step;
    add(c, "ring", CORRAL_STORED_I64, sizeof(int64_t), 1, (uint64_t[]){2}, c->ring);
    add(c, "shape", CORRAL_STORED_I64, sizeof(int64_t), 1, (uint64_t[]){SHAPE}, c->shape);
    add(c, "largest_error", CORRAL_STORED_F64, sizeof(double), 1, (uint64_t[]){1}, &r->largest_error);
    add(c, "observation", CORRAL_STORED_F32, sizeof(float), 2, (uint64_t[]){rows, width}, r->observation);
    add(c, "next", CORRAL_STORED_F32, sizeof(float), 2, (uint64_t[]){rows, width}, r->next);
    add(c, "action", CORRAL_STORED_I32, sizeof(int32_t), 1, (uint64_t[]){rows}, r->action);
    add(c, "reward", CORRAL_STORED_F32, sizeof(float), 1, (uint64_t[]){rows}, r->reward);
    add(c, "discount", CORRAL_STORED_F32, sizeof(float), 1, (uint64_t[]){rows}, r->discount);
    if (config->alpha > 0)
        add(c, "priority", CORRAL_STORED_F64, sizeof(double), 1, (uint64_t[]){rows},
            r->priority.node + r->priority.leaves);
    const n_step *w = &r->waiting;
    add(c, "waiting.count", CORRAL_STORED_I32, sizeof(int32_t), 1, (uint64_t[]){envs}, c->waiting);
    add(c, "waiting.observation", CORRAL_STORED_F32, sizeof(float), 3, (uint64_t[]){envs, n, width},
        w->observation);
    add(c, "waiting.action", CORRAL_STORED_I32, sizeof(int32_t), 2, (uint64_t[]){envs, n}, w->action);
    add(c, "waiting.reward", CORRAL_STORED_F32, sizeof(float), 2, (uint64_t[]){envs, n}, w->reward);
    add(c, "waiting.next", CORRAL_STORED_F32, sizeof(float), 2, (uint64_t[]){envs, width}, w->next);
}

corral_status replay_write(const replay *r, const char *path)
{
    columns c = {.ring = {(int64_t)r->count, (int64_t)r->place},
                 .waiting = calloc(r->config.envs, sizeof *c.waiting)};
    if (c.waiting == NULL)
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "%s: no memory to write the replay", path);
    for (uint32_t i = 0; i < r->config.envs; i++)
        c.waiting[i] = (int32_t)r->waiting.count[i];
    shape_of(r, c.shape);
    list(r, &c);
    static const char *const metadata[] = {"format", file_format, NULL};
    const corral_status status = corral_safetensors_write(path, c.tensor, c.count, metadata);
    free(c.waiting);
    return status;
}

// --- reading ----------------------------------------------------------------------------------------------

static corral_status copy_out(const corral_safetensors *file, const char *path,
                              const corral_stored_tensor *to)
{
    const corral_stored_tensor *from = corral_safetensors_find(file, to->name);
    if (from == NULL || from->type != to->type || from->size != to->size)
        return corral_fail(CORRAL_ERROR_CORRUPT, "%s: tensor \"%s\" is missing or of another size", path,
                           to->name);
    if (to->size > 0) memcpy((void *)(uintptr_t)to->data, from->data, to->size);
    return CORRAL_OK;
}

/// The ring's two numbers, and whether the file is of this configuration.
static corral_status read_shape(replay *r, const corral_safetensors *file, const char *path)
{
    int64_t mine[SHAPE], shape[SHAPE], ring[2];
    const corral_stored_tensor wanted[] = {
        {.name = "shape", .type = CORRAL_STORED_I64, .data = shape, .size = sizeof shape},
        {.name = "ring", .type = CORRAL_STORED_I64, .data = ring, .size = sizeof ring}};
    const char *format = corral_safetensors_metadata(file, "format");
    if (format == NULL || strcmp(format, file_format) != 0)
        return corral_fail(CORRAL_ERROR_VERSION, "%s: not a replay of this version (\"%s\" is expected)",
                           path, file_format);
    corral_status status = copy_out(file, path, &wanted[0]);
    if (status == CORRAL_OK) status = copy_out(file, path, &wanted[1]);
    if (status != CORRAL_OK) return status;
    shape_of(r, mine);
    const bool prioritised = corral_safetensors_find(file, "priority") != NULL;
    if (memcmp(shape, mine, sizeof mine) != 0 || prioritised != (r->config.alpha > 0))
        return corral_fail(CORRAL_ERROR_INVALID,
                           "%s: a replay of %lld rows, %lld environments and %lld steps; the configured one "
                           "differs. Go on with the settings it was saved with, or without "
                           "checkpoint.replay",
                           path, (long long)shape[0], (long long)shape[1], (long long)shape[2]);
    if (ring[0] < 0 || ring[0] > shape[0] || ring[1] < 0 || ring[1] >= shape[0] ||
        (ring[0] < shape[0] && ring[1] != ring[0]))
        return corral_fail(CORRAL_ERROR_CORRUPT, "%s: its ring is damaged", path);
    r->count = (size_t)ring[0];
    r->place = (size_t)ring[1];
    return CORRAL_OK;
}

/// What the rest relies on: counts below n, and priorities that a tree can hold.
static corral_status settle(replay *r, const int32_t *waiting, const char *path)
{
    for (uint32_t i = 0; i < r->config.envs; i++) {
        if (waiting[i] < 0 || (uint32_t)waiting[i] >= r->config.n_step)
            return corral_fail(CORRAL_ERROR_CORRUPT, "%s: %d steps of environment %u wait", path, waiting[i],
                               i);
        r->waiting.count[i] = (uint32_t)waiting[i];
    }
    if (!(isfinite(r->largest_error) && r->largest_error > 0))
        return corral_fail(CORRAL_ERROR_CORRUPT, "%s: its largest error is damaged", path);
    for (size_t i = 0; r->config.alpha > 0 && i < r->count; i++) {
        const double priority = sum_tree_get(&r->priority, i);
        if (!(isfinite(priority) && priority > 0))
            return corral_fail(CORRAL_ERROR_CORRUPT, "%s: the priority of row %zu is damaged", path, i);
        sum_tree_set(&r->priority, i, priority); // and the sums above it
    }
    return CORRAL_OK;
}

corral_status replay_read(replay *r, const char *path)
{
    corral_safetensors *file;
    corral_status status = corral_safetensors_read(path, &file);
    if (status != CORRAL_OK) return status;
    columns c = {.waiting = calloc(r->config.envs, sizeof *c.waiting)};
    if (c.waiting == NULL) status = corral_fail(CORRAL_ERROR_NO_MEMORY, "%s: no memory to read it", path);
    if (status == CORRAL_OK) status = read_shape(r, file, path);
    if (status == CORRAL_OK) list(r, &c);
    for (size_t i = 0; i < c.count && status == CORRAL_OK; i++)
        status = copy_out(file, path, &c.tensor[i]);
    if (status == CORRAL_OK) status = settle(r, c.waiting, path);
    free(c.waiting);
    corral_safetensors_destroy(file);
    return status;
}
