// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The log: the one global of the library, a sink that the program sets once at start. Without a sink the
/// library prints nothing.
#ifndef CORRAL_BASE_LOG_H
#define CORRAL_BASE_LOG_H

#include "corral/base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum corral_log_level {
    CORRAL_LOG_DEBUG,
    CORRAL_LOG_INFO,
    CORRAL_LOG_WARNING,
    CORRAL_LOG_ERROR,
} corral_log_level;

/// Gets one finished line without a newline. May be called from any thread, also at the same time.
typedef void corral_log_sink(void *context, corral_log_level level, const char *line);

/// `sink` NULL drops everything. Call before threads start.
void corral_log_set_sink(corral_log_sink *sink, void *context);

/// A sink for programs: "corral-node: warning: ..." to standard error, one write per line; `context` is the
/// program's name (a string that outlives the program).
void corral_log_to_stderr(void *context, corral_log_level level, const char *line);

void corral_log(corral_log_level level, const char *format, ...) CORRAL_PRINTF(2, 3);

#ifdef __cplusplus
}
#endif
#endif
