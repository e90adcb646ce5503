// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "tensor/params.h"

#include "corral/core/backend.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

size_t corral_dtype_size(corral_dtype dtype)
{
    return dtype == CORRAL_F64 ? sizeof(double) : sizeof(float);
}

corral_status corral_params_create(corral_dtype dtype, corral_params **out_params)
{
    if (dtype != CORRAL_F32 && dtype != CORRAL_F64) {
        return corral_fail(CORRAL_ERROR_INVALID, "parameters: %d is no dtype; use CORRAL_F32 or CORRAL_F64",
                           (int)dtype);
    }
    corral_params *params = calloc(1, sizeof *params);
    if (params == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "parameters: no memory");
    params->dtype = dtype;
    *out_params = params;
    return CORRAL_OK;
}

void corral_params_destroy(corral_params *params)
{
    if (params == NULL) return;
    for (uint32_t i = 0; i < params->entry_count; i++)
        free((void *)(uintptr_t)params->entries[i].name);
    free(params->entries);
    free(params->packed_offsets);
    free(params->packed);
    free(params->data);
    free(params);
}

static corral_status grow_entries(corral_params *params)
{
    if (params->entry_count < params->capacity) return CORRAL_OK;
    const uint32_t capacity = params->capacity == 0 ? 16 : 2 * params->capacity;
    corral_param *entries = realloc(params->entries, capacity * sizeof *entries);
    if (entries == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "parameters: no memory for more entries");
    params->entries = entries;
    params->capacity = capacity;
    return CORRAL_OK;
}

static bool name_taken(const corral_params *params, const char *name)
{
    for (uint32_t i = 0; i < params->entry_count; i++) {
        if (strcmp(params->entries[i].name, name) == 0) return true;
    }
    return false;
}

/// The elements of a shape, or an error where that does not fit into memory.
static corral_status count_elements(const char *name, uint32_t dimension_count, const size_t *shape,
                                    size_t element_size, size_t *out_count)
{
    size_t count = 1;
    for (uint32_t i = 0; i < dimension_count; i++) {
        if (__builtin_mul_overflow(count, shape[i], &count) || count > PTRDIFF_MAX / 2 / element_size) {
            return corral_fail(CORRAL_ERROR_INVALID, "parameter %s: its shape is too large for memory", name);
        }
    }
    *out_count = count;
    return CORRAL_OK;
}

corral_status corral_params_add(corral_params *params, const char *name, uint32_t dimension_count,
                                const size_t *shape, uint32_t *out_index)
{
    if (params->sealed) {
        return corral_fail(CORRAL_ERROR_INVALID, "parameter %s: the block is sealed; add before sealing",
                           name);
    }
    if (dimension_count > CORRAL_MAX_DIMENSIONS) {
        return corral_fail(CORRAL_ERROR_INVALID, "parameter %s: %u dimensions, at most %d are possible", name,
                           dimension_count, CORRAL_MAX_DIMENSIONS);
    }
    if (name_taken(params, name)) {
        return corral_fail(CORRAL_ERROR_EXISTS, "parameter %s: the name is taken; names must differ", name);
    }
    corral_param entry = {.dimension_count = dimension_count, .offset = params->count};
    const size_t element_size = corral_dtype_size(params->dtype);
    corral_status status = count_elements(name, dimension_count, shape, element_size, &entry.count);
    if (status == CORRAL_OK) status = grow_entries(params);
    if (status != CORRAL_OK) return status;

    for (uint32_t i = 0; i < dimension_count; i++)
        entry.shape[i] = shape[i];
    entry.name = strdup(name);
    if (entry.name == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "parameter %s: no memory", name);

    const size_t step = ALIGNMENT / element_size;
    params->count += (entry.count + step - 1) / step * step;
    *out_index = params->entry_count;
    params->entries[params->entry_count++] = entry;
    return CORRAL_OK;
}

/// Decides where each matrix's packed form lies, and returns the floats of all.
static size_t lay_out_packed(corral_params *params)
{
    size_t total = 0;
    for (uint32_t i = 0; i < params->entry_count; i++) {
        const corral_param *entry = &params->entries[i];
        if (!corral_params_is_packed(params, i)) continue;
        const size_t size = corral_backend_cpu()->packed_size(entry->shape[0], entry->shape[1]);
        params->packed_offsets[i] = total;
        total += (size + 15) / 16 * 16; // each begins on a cache line
    }
    return total;
}

/// Zeroed and aligned, never of size zero.
static void *allocate_block(size_t size)
{
    const size_t rounded = (size + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
    void *block = aligned_alloc(ALIGNMENT, rounded);
    if (block != NULL) memset(block, 0, rounded);
    return block;
}

corral_status corral_params_seal(corral_params *params)
{
    if (params->sealed) return corral_fail(CORRAL_ERROR_INVALID, "parameters: the block is already sealed");
    params->packed_offsets = calloc(params->entry_count + 1, sizeof *params->packed_offsets);
    params->data = allocate_block(params->count * corral_dtype_size(params->dtype));
    if (params->packed_offsets != NULL)
        params->packed = allocate_block(lay_out_packed(params) * sizeof(float));
    if (params->data == NULL || params->packed == NULL) {
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "parameters: no memory for %zu elements", params->count);
    }
    params->sealed = true;
    return CORRAL_OK;
}

uint32_t corral_params_entry_count(const corral_params *params)
{
    return params->entry_count;
}

const corral_param *corral_params_entry(const corral_params *params, uint32_t index)
{
    CORRAL_ASSERT(index < params->entry_count);
    return &params->entries[index];
}

corral_dtype corral_params_dtype(const corral_params *params)
{
    return params->dtype;
}

void *corral_params_data(corral_params *params)
{
    return params->data;
}

const void *corral_params_data_const(const corral_params *params)
{
    return params->data;
}

size_t corral_params_count(const corral_params *params)
{
    return params->count;
}

const float *corral_params_packed(const corral_params *params, uint32_t index)
{
    return params->packed + params->packed_offsets[index];
}

bool corral_params_is_packed(const corral_params *params, uint32_t index)
{
    return params->dtype == CORRAL_F32 && params->entries[index].dimension_count == 2;
}

void corral_params_refresh_rows(corral_params *params, uint32_t index, size_t first_row, size_t row_count)
{
    const corral_param *entry = &params->entries[index];
    corral_backend_cpu()->pack(entry->shape[0], entry->shape[1], first_row, row_count,
                               (const float *)params->data + entry->offset,
                               params->packed + params->packed_offsets[index]);
}

void corral_params_refresh(corral_params *params)
{
    params->version++;
    for (uint32_t i = 0; i < params->entry_count; i++) {
        if (corral_params_is_packed(params, i))
            corral_params_refresh_rows(params, i, 0, params->entries[i].shape[0]);
    }
}
