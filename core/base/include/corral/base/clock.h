// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Monotonic time in nanoseconds, and the wall clock for names and logs.
#ifndef CORRAL_BASE_CLOCK_H
#define CORRAL_BASE_CLOCK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CORRAL_MILLISECOND INT64_C(1000000)
#define CORRAL_SECOND      INT64_C(1000000000)

/// CLOCK_MONOTONIC, in ns. [any thread]
int64_t corral_now_ns(void);

/// Seconds since 1970, with fraction. [any thread]
double corral_wall_seconds(void);

/// Sleeps at least `duration_ns`, also over signals. [any thread]
void corral_sleep_ns(int64_t duration_ns);

#ifdef __cplusplus
}
#endif
#endif
