// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "corral/base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

enum { LINE_SIZE = 2048 };

static corral_log_sink *current_sink;
static void *current_context;

void corral_log_set_sink(corral_log_sink *sink, void *context)
{
    current_sink = sink;
    current_context = context;
}

void corral_log(corral_log_level level, const char *format, ...)
{
    if (current_sink == NULL) return;

    const int saved_errno = errno;
    char line[LINE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (length >= 0) current_sink(current_context, level, line);
    errno = saved_errno;
}

void corral_log_to_stderr(void *context, corral_log_level level, const char *line)
{
    static const char *const prefixes[] = {
        [CORRAL_LOG_DEBUG] = "debug: ",
        [CORRAL_LOG_INFO] = "",
        [CORRAL_LOG_WARNING] = "warning: ",
        [CORRAL_LOG_ERROR] = "error: ",
    };
    char text[LINE_SIZE + 128];
    int length = snprintf(text, sizeof text, "%s: %s%s\n", (const char *)context, prefixes[level], line);
    if (length < 0) return;
    if ((size_t)length >= sizeof text) {
        length = (int)sizeof text - 1;
        text[length - 1] = '\n';
    }
    // One write, so that lines of several threads and processes do not mix. A closed standard error is no
    // reason to stop.
    const ssize_t written = write(STDERR_FILENO, text, (size_t)length);
    (void)written;
}
