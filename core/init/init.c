// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Initial weights, computed in f64 from a stream that is a function of (key, counter) alone.
//
// Orthogonal: the QR factors of a normal matrix [tall, wide], tall >= wide, by Householder reflections. Q is
// the product of the reflections applied to the first columns of the identity; columns whose diagonal element
// of R is negative change sign, which makes Q uniform over all orthogonal matrices (Mezzadri 2007).

#include "corral/core/init.h"

#include "corral/base/rng.h"

#include <math.h>
#include <stdlib.h>

static void write_element(corral_params *params, const corral_param *entry, size_t i, double value)
{
    if (corral_params_dtype(params) == CORRAL_F64) {
        ((double *)corral_params_data(params))[entry->offset + i] = value;
    } else {
        ((float *)corral_params_data(params))[entry->offset + i] = (float)value;
    }
}

/// Standard normal numbers, by pairs (Box and Muller 1958).
static void fill_normal(double *out, size_t count, uint64_t key)
{
    for (size_t i = 0; i < count; i += 2) {
        const double radius = sqrt(-2.0 * log(1.0 - corral_stream_double(key, i))); // of a number in (0, 1]
        const double angle = 6.283185307179586 * corral_stream_double(key, i + 1);
        out[i] = radius * cos(angle);
        if (i + 1 < count) out[i + 1] = radius * sin(angle);
    }
}

/// a[., column ..] -= 2 v (v^T a), v being of unit length from row `first` on. Row by row, as they lie in
/// memory; `dot` has room for a row.
static void reflect(double *a, size_t tall, size_t wide, size_t first, size_t column, const double *v,
                    double *dot)
{
    for (size_t c = column; c < wide; c++)
        dot[c] = 0.0;
    for (size_t r = first; r < tall; r++)
        for (size_t c = column; c < wide; c++)
            dot[c] += v[r] * a[r * wide + c];
    for (size_t r = first; r < tall; r++)
        for (size_t c = column; c < wide; c++)
            a[r * wide + c] -= 2.0 * dot[c] * v[r];
}

/// Turns column `c` of `a` into a multiple of the unit vector and keeps the reflection in `v`. Returns the
/// sign of R's diagonal element.
static double reflect_column(double *a, size_t tall, size_t wide, size_t c, double *v, double *dot)
{
    double norm = 0.0;
    for (size_t r = c; r < tall; r++)
        norm += a[r * wide + c] * a[r * wide + c];
    norm = sqrt(norm);
    const double sign = a[c * wide + c] >= 0.0 ? 1.0 : -1.0;
    double length = 0.0;
    for (size_t r = c; r < tall; r++) {
        v[r] = a[r * wide + c] + (r == c ? sign * norm : 0.0);
        length += v[r] * v[r];
    }
    length = sqrt(length);
    for (size_t r = c; r < tall; r++)
        v[r] = length > 0.0 ? v[r] / length : 0.0;
    reflect(a, tall, wide, c, c, v, dot);
    return -sign;
}

/// Replaces `a` [tall, wide] by its Q. `v` has room for wide * tall, `signs` and `dot` for wide.
static void orthonormalise(double *a, size_t tall, size_t wide, double *v, double *signs, double *dot)
{
    for (size_t c = 0; c < wide; c++)
        signs[c] = reflect_column(a, tall, wide, c, v + c * tall, dot);
    for (size_t i = 0; i < tall * wide; i++)
        a[i] = i / wide == i % wide ? 1.0 : 0.0;
    for (size_t c = wide; c-- > 0;)
        reflect(a, tall, wide, c, 0, v + c * tall, dot);
    for (size_t i = 0; i < tall * wide; i++)
        a[i] *= signs[i % wide];
}

corral_status corral_init_orthogonal(corral_params *params, uint32_t index, double gain, uint64_t stream_key)
{
    const corral_param *entry = corral_params_entry(params, index);
    if (entry->dimension_count != 2) {
        return corral_fail(CORRAL_ERROR_INVALID, "orthogonal init: %s has %u dimensions, it must have two",
                           entry->name, entry->dimension_count);
    }
    const size_t rows = entry->shape[0], columns = entry->shape[1];
    const size_t tall = rows > columns ? rows : columns, wide = rows > columns ? columns : rows;
    double *a = calloc(2 * tall * wide + 2 * wide + 1, sizeof *a);
    if (a == NULL)
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "orthogonal init: no memory for %s", entry->name);
    fill_normal(a, tall * wide, stream_key);
    double *const v = a + tall * wide, *const signs = v + tall * wide;
    orthonormalise(a, tall, wide, v, signs, signs + wide);
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < columns; c++) {
            const double q = rows > columns ? a[r * wide + c] : a[c * wide + r];
            write_element(params, entry, r * columns + c, gain * q);
        }
    }
    free(a);
    corral_params_refresh(params);
    return CORRAL_OK;
}

corral_status corral_init_uniform_fan_in(corral_params *params, uint32_t index, size_t fan_in,
                                         uint64_t stream_key)
{
    const corral_param *entry = corral_params_entry(params, index);
    if (fan_in == 0) {
        return corral_fail(CORRAL_ERROR_INVALID, "uniform init: the fan-in of %s is 0", entry->name);
    }
    const double bound = 1.0 / sqrt((double)fan_in);
    for (size_t i = 0; i < entry->count; i++) {
        write_element(params, entry, i, bound * (2.0 * corral_stream_double(stream_key, i) - 1.0));
    }
    corral_params_refresh(params);
    return CORRAL_OK;
}
