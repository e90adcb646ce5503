// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Equal to the last bit, which is more than `==` says: 0 and -0 differ.
#ifndef CORRAL_TEST_BITS_H
#define CORRAL_TEST_BITS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static inline bool same_bytes(const void *a, const void *b, size_t size)
{
    return memcmp(a, b, size) == 0;
}

/// Any NaN is as good as another.
static inline bool same_double(double a, double b)
{
    return same_bytes(&a, &b, sizeof a) || (isnan(a) && isnan(b));
}

#endif
