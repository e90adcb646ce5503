// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// How often a replay's rows are drawn, against how many come in:
///
///     error = samples_per_insert x inserts - samples
///
/// stays within +-tolerance of where it stood when the replay first had `min_size` rows. Rows that would make
/// the error too large have to wait, and so do draws that would make it too small.
#ifndef CORRAL_RLLIB_RATE_LIMITER_H
#define CORRAL_RLLIB_RATE_LIMITER_H

#include "corral/base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct rate_limiter {
    double samples_per_insert, tolerance;
    int64_t min_size;
    int64_t inserts, samples; // so far; what a checkpoint keeps
} rate_limiter;

/// CORRAL_ERROR_INVALID where rows that come `insert_rows` at a time and draws of `sample_rows` would get
/// stuck: neither is allowed any more once each has used up its side of the tolerance.
CORRAL_MUST_USE corral_status rate_limiter_check(const rate_limiter *limiter, int64_t insert_rows,
                                                 int64_t sample_rows);
/// The least tolerance with which that cannot happen.
double rate_limiter_least_tolerance(double samples_per_insert, int64_t insert_rows, int64_t sample_rows);

bool rate_limiter_may_insert(const rate_limiter *limiter, int64_t rows);
bool rate_limiter_may_sample(const rate_limiter *limiter, int64_t rows);

#endif
