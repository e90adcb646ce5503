// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// `corral benchmark learning`: the table of what is to be learned, what came of each run, and the page about
/// it.
#ifndef CORRAL_RLLIB_CLI_BENCHMARK_H
#define CORRAL_RLLIB_CLI_BENCHMARK_H

#include "corral/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BENCHMARK_SEEDS_MAX = 32 };

/// One line of the table.
typedef struct benchmark_task {
    const char *name; // of its example, less ".yaml"
    const char *env, *algorithm;
    int64_t steps;    // the budget
    double goal;      // mean return of `episodes` greedy episodes of the last checkpoint
    int64_t episodes; // fresh ones
    size_t seeds;     // of those asked for, the first so many; 0: all
    bool stays_below; // the goal is not to be reached: what lacks something does not learn the task
} benchmark_task;

extern const benchmark_task benchmark_tasks[]; // ends with a NULL name

/// What came of one seed.
typedef struct benchmark_outcome {
    int64_t seed;
    bool known;        // it has been trained and evaluated
    double last, best; // the last checkpoint's return; the best of the evaluations on the way
    double seconds;
    double steps_to_goal; // at which an evaluation on the way first reached it; infinite where none did
} benchmark_outcome;

/// Reads RUN/run.json, RUN/progress.csv and RUN/benchmark.json, which holds the last evaluation. `known` is
/// false where one of them is missing.
void benchmark_read(const char *run, double goal, benchmark_outcome *out);

typedef struct benchmark_line {
    const benchmark_task *task;
    size_t count;
    benchmark_outcome outcome[BENCHMARK_SEEDS_MAX];
} benchmark_line;

/// A line counts when the median and four of five seeds reach the goal, or stay below it where that is the
/// goal.
bool benchmark_passes(const benchmark_line *line);
/// Writes the page.
CORRAL_MUST_USE corral_status benchmark_write_page(const char *path, const benchmark_line *lines,
                                                   size_t count);

#endif
