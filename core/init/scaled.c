// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Initial weights that are independent numbers, their spread from the entry's fans. Number i is a function of
// (key, i) alone.

#include "corral/core/init.h"

#include "corral/base/rng.h"

#include <math.h>

/// Number `i` of a stream; `spread` is what the kind of number means by it.
typedef double draw(uint64_t key, uint64_t i, double spread);

static double draw_uniform(uint64_t key, uint64_t i, double bound)
{
    return bound * (2.0 * corral_stream_double(key, i) - 1.0);
}

/// Box and Muller 1958; numbers 2 i and 2 i + 1 of the stream.
static double draw_normal(uint64_t key, uint64_t i, double deviation)
{
    const double radius = sqrt(-2.0 * log(1.0 - corral_stream_double(key, 2 * i)));
    return deviation * radius * cos(6.283185307179586 * corral_stream_double(key, 2 * i + 1));
}

enum { ATTEMPTS = 64 }; // of which each succeeds with probability 0.954

static double draw_truncated(uint64_t key, uint64_t i, double deviation)
{
    for (uint64_t k = 0; k < ATTEMPTS; k++) {
        const double number = draw_normal(key, ATTEMPTS * i + k, 1.0);
        if (fabs(number) <= 2.0) return deviation * number;
    }
    return 0.0;
}

static double draw_nothing(uint64_t key, uint64_t i, double spread)
{
    (void)key, (void)i, (void)spread;
    return 0.0;
}

static corral_status fill(corral_params *params, uint32_t index, double centre, draw *next, double spread,
                          uint64_t key)
{
    const corral_param *entry = corral_params_entry(params, index);
    if (!isfinite(centre) || !isfinite(spread))
        return corral_fail(CORRAL_ERROR_INVALID, "init: %s cannot start from numbers that are not finite",
                           entry->name);
    for (size_t i = 0; i < entry->count; i++) {
        const double value = centre + next(key, i, spread);
        if (corral_params_dtype(params) == CORRAL_F64)
            ((double *)corral_params_data(params))[entry->offset + i] = value;
        else
            ((float *)corral_params_data(params))[entry->offset + i] = (float)value;
    }
    corral_params_refresh(params);
    return CORRAL_OK;
}

corral_status corral_init_constant(corral_params *params, uint32_t index, double value)
{
    return fill(params, index, value, draw_nothing, 0.0, 0);
}

corral_status corral_init_uniform(corral_params *params, uint32_t index, double low, double high,
                                  uint64_t stream_key)
{
    return fill(params, index, 0.5 * (low + high), draw_uniform, 0.5 * (high - low), stream_key);
}

corral_status corral_init_normal(corral_params *params, uint32_t index, double mean, double deviation,
                                 uint64_t stream_key)
{
    return fill(params, index, mean, draw_normal, deviation, stream_key);
}

corral_status corral_init_truncated_normal(corral_params *params, uint32_t index, double deviation,
                                           uint64_t stream_key)
{
    return fill(params, index, 0.0, draw_truncated, deviation, stream_key);
}

/// 0 for an entry without elements, which nothing is written to.
static double fan_in(const corral_params *params, uint32_t index)
{
    const corral_param *entry = corral_params_entry(params, index);
    const size_t out = entry->dimension_count == 0 ? 1 : entry->shape[0];
    return out == 0 ? 0.0 : (double)(entry->count / out);
}

static double fan_out(const corral_params *params, uint32_t index)
{
    const corral_param *entry = corral_params_entry(params, index);
    return entry->dimension_count == 0 ? 1.0 : (double)entry->shape[0];
}

static double deviation_of(double gain, double fan)
{
    return fan > 0.0 ? gain / sqrt(fan) : 0.0;
}

static double xavier(const corral_params *params, uint32_t index, double gain)
{
    return deviation_of(gain, 0.5 * (fan_in(params, index) + fan_out(params, index)));
}

// A uniform number in -b .. b has the deviation b / sqrt(3).
static const double uniform_bound = 1.7320508075688772;

corral_status corral_init_xavier_uniform(corral_params *params, uint32_t index, double gain,
                                         uint64_t stream_key)
{
    return fill(params, index, 0.0, draw_uniform, uniform_bound * xavier(params, index, gain), stream_key);
}

corral_status corral_init_xavier_normal(corral_params *params, uint32_t index, double gain,
                                        uint64_t stream_key)
{
    return fill(params, index, 0.0, draw_normal, xavier(params, index, gain), stream_key);
}

corral_status corral_init_kaiming_uniform(corral_params *params, uint32_t index, double gain,
                                          uint64_t stream_key)
{
    const double deviation = deviation_of(gain, fan_in(params, index));
    return fill(params, index, 0.0, draw_uniform, uniform_bound * deviation, stream_key);
}

corral_status corral_init_kaiming_normal(corral_params *params, uint32_t index, double gain,
                                         uint64_t stream_key)
{
    return fill(params, index, 0.0, draw_normal, deviation_of(gain, fan_in(params, index)), stream_key);
}
