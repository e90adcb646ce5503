// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// `real` as double, for the files that hold one subject's loops in f64, which gradient checks run on.

#include <math.h>
#include <stddef.h>
#include <string.h>

typedef double real;
#define real_sqrt      sqrt
#define OF_DTYPE(name) name##_f64

static inline void real_exp_all(size_t count, const double *x, double *y)
{
    for (size_t i = 0; i < count; i++)
        y[i] = exp(x[i]);
}

static inline void real_log_all(size_t count, const double *x, double *y)
{
    for (size_t i = 0; i < count; i++)
        y[i] = log(x[i]);
}

static inline void real_tanh_all(size_t count, const double *x, double *y)
{
    for (size_t i = 0; i < count; i++)
        y[i] = tanh(x[i]);
}

#include "ops/real_blocks.h"
