// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "corral/base/clock.h"

#include <errno.h>
#include <time.h>

int64_t corral_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * CORRAL_SECOND + now.tv_nsec;
}

double corral_wall_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void corral_sleep_ns(int64_t duration_ns)
{
    if (duration_ns <= 0) return;
    // An absolute end, so that a signal does not stretch the sleep.
    const int64_t end = corral_now_ns() + duration_ns;
    const struct timespec until = {.tv_sec = end / CORRAL_SECOND, .tv_nsec = end % CORRAL_SECOND};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
    }
}
