// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "rate_limiter.h"

double rate_limiter_least_tolerance(double samples_per_insert, int64_t insert_rows, int64_t sample_rows)
{
    // Draws stop within `sample_rows` of the lower bound; from there one more insertion must fit.
    return (samples_per_insert * (double)insert_rows + (double)sample_rows) / 2;
}

corral_status rate_limiter_check(const rate_limiter *limiter, int64_t insert_rows, int64_t sample_rows)
{
    const double least = rate_limiter_least_tolerance(limiter->samples_per_insert, insert_rows, sample_rows);
    if (limiter->tolerance >= least) return CORRAL_OK;
    return corral_fail(CORRAL_ERROR_INVALID,
                       "a tolerance of %g samples is too small for %lld rows that come in together and %lld "
                       "that are drawn together: both would wait for ever; make it at least %g",
                       limiter->tolerance, (long long)insert_rows, (long long)sample_rows, least);
}

/// How far the error is from where it stood at `min_size`.
static double deviation(const rate_limiter *limiter)
{
    return limiter->samples_per_insert * (double)(limiter->inserts - limiter->min_size) -
           (double)limiter->samples;
}

bool rate_limiter_may_insert(const rate_limiter *limiter, int64_t rows)
{
    if (limiter->inserts < limiter->min_size) return true;
    return deviation(limiter) + limiter->samples_per_insert * (double)rows <= limiter->tolerance;
}

bool rate_limiter_may_sample(const rate_limiter *limiter, int64_t rows)
{
    if (limiter->inserts < limiter->min_size) return false;
    return deviation(limiter) - (double)rows >= -limiter->tolerance;
}
