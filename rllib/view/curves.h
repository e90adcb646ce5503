// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Learning curves from run folders. Runs whose settings differ in nothing but their seed (and in what
/// changes no result: workers, threads, transport) are one group, drawn as a mean with its range.
#ifndef CORRAL_VIEW_CURVES_H
#define CORRAL_VIEW_CURVES_H

#include "corral/base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct curve {
    double *x, *y; // [count], x rising
    uint32_t count;
} curve;

typedef struct curve_group {
    char label[128];
    curve *members; // [member_count]
    uint32_t member_count;
    curve mean;         // over the members, where at least one has values
    double *low, *high; // [mean.count] their range
} curve_group;

typedef struct curves {
    curve_group *groups;
    uint32_t count;
    double x_low, x_high, y_low, y_high; // of everything
} curves;

/// Reads column `y_name` over `x_name` from each run's progress.csv; cells that are empty are left out. A run
/// may also be a monitor file or a folder of them (run/monitor.h), which has the columns of episodes alone.
CORRAL_MUST_USE corral_status curves_read(const char *const *runs, uint32_t run_count, const char *x_name,
                                          const char *y_name, curves *out_curves);
void curves_finish(curves *curves);

/// The value of a curve at x, between its points; false outside of them.
bool curve_at(const curve *curve, double x, double *out_y);

#endif
