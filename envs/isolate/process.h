// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// One corral-env-host: started, asked and ended. [one thread at a time]
#ifndef CORRAL_ENVS_ISOLATE_PROCESS_H
#define CORRAL_ENVS_ISOLATE_PROCESS_H

#include "corral/base/status.h"

#include <stdint.h>
#include <sys/types.h>

typedef struct isolate_process {
    pid_t id; // 0: none
    int channel, lifeline;
} isolate_process;

/// Does not wait until it is ready: its first message says so.
CORRAL_MUST_USE corral_status isolate_process_start(const char *environment, int memory,
                                                    isolate_process *out_process);
/// Also of a zeroed one.
void isolate_process_end(isolate_process *process);

/// CORRAL_ERROR_LOST where it has ended; it is then gone, and the sentence says how.
CORRAL_MUST_USE corral_status isolate_process_send(isolate_process *process, char message);
/// The same, and CORRAL_ERROR_TIMEOUT where nothing came in time: it is then ended.
CORRAL_MUST_USE corral_status isolate_process_receive(isolate_process *process, double seconds,
                                                      char *out_message);

#endif
