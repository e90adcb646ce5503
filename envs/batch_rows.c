// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "batch_rows.h"

#include "corral/envs/registry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *row_at(const corral_env_rows *rows, uint32_t row)
{
    return (const char *)rows->data + row * rows->stride;
}

void corral_rows_copy(const corral_env_spaces *spaces, const corral_env_rows *from, uint32_t from_row,
                      const corral_env_rows *to, uint32_t to_row)
{
    for (uint32_t k = 0; k < spaces->observation_count; k++)
        memcpy((char *)to[k].data + to_row * to[k].stride, row_at(&from[k], from_row),
               corral_space_bytes(&spaces->observation[k]));
}

// --- finite observations

// A float is NaN or infinite when its exponent is all ones. Looking at bits lets one loop sweep many rows.

static bool all_finite_f32(const void *data, size_t count)
{
    const uint32_t exponent = 0x7f800000;
    const uint32_t *bits = data;
    uint32_t bad = 0;
    for (size_t i = 0; i < count; i++)
        bad |= (bits[i] & exponent) == exponent;
    return bad == 0;
}

static bool all_finite_f64(const void *data, size_t count)
{
    const uint64_t exponent = 0x7ff0000000000000;
    const uint64_t *bits = data;
    uint64_t bad = 0;
    for (size_t i = 0; i < count; i++)
        bad |= (bits[i] & exponent) == exponent;
    return bad == 0;
}

typedef bool finite_sweep(const void *data, size_t count);

/// NULL where every value is finite because it is a whole number.
static finite_sweep *sweep_of(const corral_space *leaf)
{
    if (leaf->dtype == CORRAL_SPACE_F32) return all_finite_f32;
    return leaf->dtype == CORRAL_SPACE_F64 ? all_finite_f64 : NULL;
}

static bool mark_leaf(const corral_space *leaf, const corral_env_rows *rows, uint32_t count, uint8_t *failed)
{
    finite_sweep *const all_finite = sweep_of(leaf);
    if (all_finite == NULL) return false;

    const size_t elements = corral_space_count(leaf);
    const bool side_by_side = rows->stride == corral_space_bytes(leaf);
    if (side_by_side && all_finite(rows->data, elements * count)) return false;

    bool marked = false;
    for (uint32_t i = 0; i < count; i++) {
        if (all_finite(row_at(rows, i), elements)) continue;
        failed[i] = 1;
        marked = true;
    }
    return marked;
}

bool corral_rows_finite(const corral_env_spaces *spaces, const corral_env_rows *observation, uint32_t row)
{
    for (uint32_t k = 0; k < spaces->observation_count; k++) {
        const corral_space *leaf = &spaces->observation[k];
        finite_sweep *const all_finite = sweep_of(leaf);
        if (all_finite != NULL && !all_finite(row_at(&observation[k], row), corral_space_count(leaf)))
            return false;
    }
    return true;
}

bool corral_rows_mark_not_finite(const corral_env_spaces *spaces, const corral_env_rows *observation,
                                 uint32_t count, uint8_t *failed)
{
    bool marked = false;
    for (uint32_t k = 0; k < spaces->observation_count; k++)
        marked |= mark_leaf(&spaces->observation[k], &observation[k], count, failed);
    return marked;
}

// --- values and their bounds

static double element(const corral_space *leaf, const char *row, size_t index)
{
    switch (leaf->dtype) {
    case CORRAL_SPACE_F32:
        return ((const float *)(const void *)row)[index];
    case CORRAL_SPACE_F64:
        return ((const double *)(const void *)row)[index];
    case CORRAL_SPACE_U8:
        return ((const uint8_t *)row)[index];
    default:
        return ((const int32_t *)(const void *)row)[index];
    }
}

/// A bound is compared as its dtype holds it: 0.1f is inside [-0.1, 0.1].
static double as_dtype(const corral_space *leaf, double bound)
{
    return leaf->dtype == CORRAL_SPACE_F32 ? (double)(float)bound : bound;
}

void corral_rows_bounds(const corral_space *leaf, size_t index, double *out_low, double *out_high)
{
    *out_low = 0;
    *out_high = 1;
    if (leaf->kind == CORRAL_SPACE_DISCRETE) {
        *out_low = (double)leaf->start;
        *out_high = (double)(leaf->start + leaf->n - 1);
    } else if (leaf->kind == CORRAL_SPACE_MULTI_DISCRETE) {
        *out_high = (double)(leaf->nvec[index] - 1);
    } else if (leaf->kind == CORRAL_SPACE_BOX) {
        *out_low = as_dtype(leaf, leaf->low_each != NULL ? leaf->low_each[index] : leaf->low);
        *out_high = as_dtype(leaf, leaf->high_each != NULL ? leaf->high_each[index] : leaf->high);
    }
}

bool corral_rows_find_outside(const corral_space *leaf, const void *row, size_t *out_index, double *out_value)
{
    const size_t elements = corral_space_count(leaf);
    for (size_t i = 0; i < elements; i++) {
        double low, high;
        corral_rows_bounds(leaf, i, &low, &high);
        const double value = element(leaf, row, i);
        if (value >= low && value <= high && isfinite(value)) continue; // an unbounded Box has no infinities
        *out_index = i;
        *out_value = value;
        return true;
    }
    return false;
}

// --- actions

static corral_status action_outside(const corral_space *leaf, double value, size_t index,
                                    uint64_t environment)
{
    char *space = corral_space_describe(leaf);
    char position[32] = "";
    if (corral_space_count(leaf) > 1) snprintf(position, sizeof position, " (element %zu)", index);
    const corral_status status =
        corral_fail(CORRAL_ERROR_INVALID, "environment %llu: action%s%s %g%s is outside %s",
                    (unsigned long long)environment, leaf->path[0] != '\0' ? " " : "", leaf->path, value,
                    position, space != NULL ? space : "its space");
    free(space);
    return status;
}

/// The usual case, without a detour over double.
static bool all_within_discrete(const corral_space *leaf, const corral_env_rows *rows, uint32_t count)
{
    uint32_t bad = 0;
    for (uint32_t i = 0; i < count; i++) {
        int32_t action;
        memcpy(&action, row_at(rows, i), sizeof action);
        bad |= (uint64_t)((int64_t)action - leaf->start) >= (uint64_t)leaf->n;
    }
    return bad == 0;
}

corral_status corral_rows_check_actions(const corral_env_spaces *spaces, const corral_env_rows *action,
                                        uint32_t count, uint64_t first_index)
{
    for (uint32_t k = 0; k < spaces->action_count; k++) {
        const corral_space *leaf = &spaces->action[k];
        if (leaf->kind == CORRAL_SPACE_DISCRETE && all_within_discrete(leaf, &action[k], count)) continue;
        for (uint32_t i = 0; i < count; i++) {
            size_t index;
            double value;
            if (corral_rows_find_outside(leaf, row_at(&action[k], i), &index, &value))
                return action_outside(leaf, value, index, first_index + i);
        }
    }
    return CORRAL_OK;
}
