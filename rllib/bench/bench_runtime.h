// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// How fast the runtime is on this machine, beside what it could be: a round trip over a raw socket and a
/// memcpy are measured in the same run.
#ifndef CORRAL_RLLIB_BENCH_RUNTIME_H
#define CORRAL_RLLIB_BENCH_RUNTIME_H

#include "corral/actors/function.h"

typedef struct bench_runtime_result {
    double socket_us;                  // one round trip of 64 bytes over SOCK_SEQPACKET, median
    double call_us, calls_per_second;  // one caller, one actor: one after the other, median and rate
    double flowing_calls_per_second;   // with 256 open
    double task_us, tasks_per_second;  // submit and get, one after the other
    double flowing_tasks_per_second;   // 1000 at once
    double start_p50_us, start_p99_us; // from submit to the first line of the task, on an idle worker
    double small_puts_per_second;      // 1 KiB
    double small_gets_per_second;      // 1 KiB, in another process, that asks for it
    double memcpy_gb, put_gb;          // GB/s: 64 MiB into warm shared memory; put and let go
    double large_get_us, first_get_us; // 64 MiB in another process; the first one maps the memory
} bench_runtime_result;

/// The functions that its workers run: of whatever program calls bench_runtime().
extern const corral_library bench_runtime_library;

CORRAL_MUST_USE corral_status bench_runtime(bench_runtime_result *out_result);

#endif
