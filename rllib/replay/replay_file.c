// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// replay.safetensors: the rows that hold something, one environment after the other and in each in the order
/// of its ring ("observation" as bytes, "action", "reward", "flags", and "priority" where they have any);
/// "rings" [environments, 4], where each stands; "shape", "count" [inserts, samples] of the limiter, and
/// "largest_error".
#include "replay_internal.h"

#include "corral/base/safetensors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char file_format[] = "corral.replay.2";

enum { TENSORS_MAX = 9, SHAPE = 5, RING = 4 };

static void shape_of(const replay *r, int64_t out_shape[SHAPE])
{
    out_shape[0] = (int64_t)r->config.capacity;
    out_shape[1] = r->config.envs;
    out_shape[2] = r->config.n_step_min;
    out_shape[3] = r->config.n_step_max;
    out_shape[4] = (int64_t)r->config.observation_bytes;
}

/// The columns as they are stored: memory of their own but for the observations and priorities of full rings,
/// which are written from where they lie.
typedef struct columns {
    size_t rows;
    bool full;
    int64_t shape[SHAPE], counts[2];
    int64_t *rings; // [envs, RING]
    int32_t *action, *flags;
    float *reward;
    char *observation;
    double *priority;
    corral_stored_tensor tensor[TENSORS_MAX];
    size_t tensor_count;
} columns;

static void columns_finish(columns *c)
{
    free(c->rings);
    free(c->action);
    free(c->flags);
    free(c->reward);
    if (!c->full) free(c->observation);
    if (!c->full) free(c->priority);
}

static void add(columns *c, const char *name, corral_stored_type type, size_t element, uint64_t rows,
                uint64_t width, const void *data)
{
    CORRAL_ASSERT(c->tensor_count < TENSORS_MAX);
    c->tensor[c->tensor_count++] = (corral_stored_tensor){
        .name = name,
        .type = type,
        .dimension_count = width > 1 ? 2 : 1,
        .shape = {rows, width},
        .data = data,
        .size = rows * width * element,
    };
}

/// Memory for what `rings` and `full` say, and the list of tensors in it.
static corral_status columns_init(columns *c, const replay *r, const char *path)
{
    const size_t n = c->rows > 0 ? c->rows : 1;
    c->action = calloc(n, sizeof *c->action);
    c->flags = calloc(n, sizeof *c->flags);
    c->reward = calloc(n, sizeof *c->reward);
    c->observation = c->full ? r->observation : calloc(n, r->config.observation_bytes);
    const bool prioritised = r->config.alpha > 0;
    if (prioritised) c->priority = c->full ? r->priority.level[0] : calloc(n, sizeof *c->priority);
    if (c->action == NULL || c->flags == NULL || c->reward == NULL || c->observation == NULL ||
        (prioritised && c->priority == NULL))
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "%s: no memory for the replay's %zu rows", path, c->rows);
    add(c, "shape", CORRAL_STORED_I64, sizeof(int64_t), SHAPE, 1, c->shape);
    add(c, "count", CORRAL_STORED_I64, sizeof(int64_t), 2, 1, c->counts);
    add(c, "largest_error", CORRAL_STORED_F64, sizeof(double), 1, 1, &r->largest_error);
    add(c, "rings", CORRAL_STORED_I64, sizeof(int64_t), r->config.envs, RING, c->rings);
    add(c, "action", CORRAL_STORED_I32, sizeof(int32_t), c->rows, 1, c->action);
    add(c, "reward", CORRAL_STORED_F32, sizeof(float), c->rows, 1, c->reward);
    add(c, "flags", CORRAL_STORED_I32, sizeof(int32_t), c->rows, 1, c->flags);
    add(c, "observation", CORRAL_STORED_U8, 1, c->rows, r->config.observation_bytes, c->observation);
    if (prioritised) add(c, "priority", CORRAL_STORED_F64, sizeof(double), c->rows, 1, c->priority);
    return CORRAL_OK;
}

static void count_rows(columns *c, const replay *r)
{
    c->full = true;
    for (uint32_t e = 0; e < r->config.envs; e++) {
        c->rows += r->ring[e].used;
        c->full &= r->ring[e].used == r->ring_rows;
    }
}

// --- writing ----------------------------------------------------------------------------------------------

static void copy_ring(columns *c, const replay *r, size_t to, size_t from, uint32_t used)
{
    for (uint32_t i = 0; i < used; i++) {
        const replay_note *note = &r->note[from + i];
        c->action[to + i] = note->action;
        c->reward[to + i] = note->reward;
        c->flags[to + i] = (int32_t)note->flags;
    }
    if (c->full) return;
    const size_t bytes = r->config.observation_bytes;
    memcpy(c->observation + to * bytes, r->observation + from * bytes, used * bytes);
    if (c->priority != NULL)
        memcpy(c->priority + to, r->priority.level[0] + from, used * sizeof *c->priority);
}

corral_status replay_write(const replay *r, const char *path)
{
    columns c = {.counts = {r->limiter.inserts, r->limiter.samples},
                 .rings = calloc((size_t)r->config.envs * RING, sizeof *c.rings)};
    count_rows(&c, r);
    shape_of(r, c.shape);
    corral_status status = c.rings != NULL ? columns_init(&c, r, path)
                                           : corral_fail(CORRAL_ERROR_NO_MEMORY, "%s: no memory", path);
    size_t at = 0;
    for (uint32_t e = 0; e < r->config.envs && status == CORRAL_OK; e++) {
        const replay_ring *ring = &r->ring[e];
        const int64_t stand[RING] = {ring->newest, ring->used, ring->waiting, ring->closed};
        memcpy(c.rings + (size_t)e * RING, stand, sizeof stand);
        copy_ring(&c, r, at, (size_t)e * r->ring_rows, ring->used);
        at += ring->used;
    }
    static const char *const metadata[] = {"format", file_format, NULL};
    if (status == CORRAL_OK) status = corral_safetensors_write(path, c.tensor, c.tensor_count, metadata);
    columns_finish(&c);
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

/// Whether the file is of this configuration.
static corral_status check_shape(const replay *r, const corral_safetensors *file, const char *path)
{
    int64_t mine[SHAPE], shape[SHAPE];
    const corral_stored_tensor wanted = {
        .name = "shape", .type = CORRAL_STORED_I64, .data = shape, .size = sizeof shape};
    const char *format = corral_safetensors_metadata(file, "format");
    if (format == NULL || strcmp(format, file_format) != 0)
        return corral_fail(CORRAL_ERROR_VERSION, "%s: not a replay of this version (\"%s\" is expected)",
                           path, file_format);
    corral_status status = copy_out(file, path, &wanted);
    if (status != CORRAL_OK) return status;
    shape_of(r, mine);
    const bool prioritised = corral_safetensors_find(file, "priority") != NULL;
    if (memcmp(shape, mine, sizeof mine) == 0 && prioritised == (r->config.alpha > 0)) return CORRAL_OK;
    return corral_fail(
        CORRAL_ERROR_INVALID,
        "%s: a replay of %lld rows, %lld environments and %lld to %lld steps; the configured one "
        "differs. Go on with the settings it was saved with, or without checkpoint.replay",
        path, (long long)shape[0], (long long)shape[1], (long long)shape[2], (long long)shape[3]);
}

/// Where each ring stands: what the rest of the replay relies on.
static corral_status read_rings(replay *r, columns *c, const corral_safetensors *file, const char *path)
{
    const corral_stored_tensor wanted = {.name = "rings",
                                         .type = CORRAL_STORED_I64,
                                         .data = c->rings,
                                         .size = (size_t)r->config.envs * RING * sizeof *c->rings};
    corral_status status = copy_out(file, path, &wanted);
    if (status != CORRAL_OK) return status;
    for (uint32_t e = 0; e < r->config.envs; e++) {
        const int64_t *stand = c->rings + (size_t)e * RING, rows = r->ring_rows;
        const bool good =
            stand[1] >= 0 && stand[1] <= rows && stand[0] >= 0 && stand[0] < (stand[1] > 0 ? stand[1] : 1) &&
            stand[2] >= 0 && (stand[1] == rows || stand[1] == 0 || stand[0] == stand[1] - 1) &&
            stand[2] < r->config.n_step_max && stand[2] <= stand[1] && stand[3] >= 0 && stand[3] <= 1;
        if (!good)
            return corral_fail(CORRAL_ERROR_CORRUPT, "%s: the ring of environment %u is damaged", path, e);
        r->ring[e] =
            (replay_ring){(uint32_t)stand[0], (uint32_t)stand[1], (uint32_t)stand[2], (uint32_t)stand[3]};
        if (r->ring[e].used > r->most_used) r->most_used = r->ring[e].used;
    }
    return CORRAL_OK;
}

static corral_status put_ring(replay *r, const columns *c, size_t from, size_t to, uint32_t used,
                              const char *path)
{
    const size_t bytes = r->config.observation_bytes;
    const int32_t known = ROW_TERMINATED | ROW_TRUNCATED | ROW_READY;
    if (!c->full) memcpy(r->observation + to * bytes, c->observation + from * bytes, used * bytes);
    for (uint32_t i = 0; i < used; i++) {
        const int32_t flags = c->flags[from + i];
        const bool ready = (flags & ROW_READY) != 0;
        r->note[to + i] = (replay_note){c->action[from + i], c->reward[from + i], (uint32_t)flags};
        if ((flags & ~known) != 0)
            return corral_fail(CORRAL_ERROR_CORRUPT, "%s: the flags of row %zu are damaged", path, from + i);
        r->count += ready;
        if (c->priority == NULL) continue;
        const double priority = c->priority[from + i];
        if (!(isfinite(priority) && (ready ? priority > 0 : priority == 0)))
            return corral_fail(CORRAL_ERROR_CORRUPT, "%s: the priority of row %zu is damaged", path,
                               from + i);
        sum_tree_set(&r->priority, to + i, priority); // and the sums above it
    }
    return CORRAL_OK;
}

static corral_status read_columns(replay *r, columns *c, const corral_safetensors *file, const char *path)
{
    corral_status status = columns_init(c, r, path);
    for (size_t i = 0; i < c->tensor_count && status == CORRAL_OK; i++)
        if (c->tensor[i].data != c->rings) status = copy_out(file, path, &c->tensor[i]);
    if (status == CORRAL_OK && !(isfinite(r->largest_error) && r->largest_error > 0))
        status = corral_fail(CORRAL_ERROR_CORRUPT, "%s: its largest error is damaged", path);
    if (status == CORRAL_OK && (c->counts[0] < 0 || c->counts[1] < 0))
        status = corral_fail(CORRAL_ERROR_CORRUPT, "%s: its counts are damaged", path);
    size_t from = 0;
    for (uint32_t e = 0; e < r->config.envs && status == CORRAL_OK; e++) {
        status = put_ring(r, c, from, (size_t)e * r->ring_rows, r->ring[e].used, path);
        from += r->ring[e].used;
    }
    if (status != CORRAL_OK) return status;
    replay_set_largest_error(r, r->largest_error);
    r->limiter.inserts = c->counts[0];
    r->limiter.samples = c->counts[1];
    return CORRAL_OK;
}

corral_status replay_read(replay *r, const char *path)
{
    corral_safetensors *file;
    corral_status status = corral_safetensors_read(path, &file);
    if (status != CORRAL_OK) return status;
    columns c = {.rings = calloc((size_t)r->config.envs * RING, sizeof *c.rings)};
    if (c.rings == NULL) status = corral_fail(CORRAL_ERROR_NO_MEMORY, "%s: no memory to read it", path);
    if (status == CORRAL_OK) status = check_shape(r, file, path);
    if (status == CORRAL_OK) status = read_rings(r, &c, file, path);
    if (status == CORRAL_OK) {
        count_rows(&c, r);
        status = read_columns(r, &c, file, path);
    }
    columns_finish(&c);
    corral_safetensors_destroy(file);
    return status;
}
