// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// `real` as float, for the files that hold one subject's loops in f32. exp, log and tanh are the backend's,
// over arrays: an element's result does not depend on where it stands.

#include "corral/core/backend.h"

#include <math.h>
#include <string.h>

typedef float real;
#define real_sqrt      sqrtf
#define OF_DTYPE(name) name##_f32

static inline void real_exp_all(size_t count, const float *x, float *y)
{
    corral_backend_cpu()->exp(count, x, y);
}

static inline void real_log_all(size_t count, const float *x, float *y)
{
    corral_backend_cpu()->log(count, x, y);
}

static inline void real_tanh_all(size_t count, const float *x, float *y)
{
    corral_backend_cpu()->tanh(count, x, y);
}

#include "ops/real_blocks.h"
