// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "corral/base/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SENTENCE_SIZE = 1024 };

static _Thread_local char last_sentence[SENTENCE_SIZE];

const char *corral_status_name(corral_status status)
{
    static const char *const names[CORRAL_STATUS_COUNT] = {
#define X(name, text) [CORRAL_##name] = (text),
        CORRAL_STATUS_LIST(X)
#undef X
    };
    if ((unsigned)status >= CORRAL_STATUS_COUNT) return "unknown status";
    return names[status];
}

// The arguments may point into the current sentence, so the new one is built beside it.
static void set_sentence(const char *format, va_list arguments)
{
    char sentence[SENTENCE_SIZE];
    if (vsnprintf(sentence, sizeof sentence, format, arguments) < 0) sentence[0] = '\0';
    memcpy(last_sentence, sentence, strlen(sentence) + 1);
}

static void append(const char *text)
{
    const size_t length = strlen(last_sentence);
    snprintf(last_sentence + length, sizeof last_sentence - length, ": %s", text);
}

corral_status corral_fail(corral_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    set_sentence(format, arguments);
    va_end(arguments);
    return status;
}

corral_status corral_fail_errno(corral_status status, int error_number, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    set_sentence(format, arguments);
    va_end(arguments);

    char text[128];
    append(strerror_r(error_number, text, sizeof text));
    return status;
}

corral_status corral_fail_within(corral_status status, const char *format, ...)
{
    if (status == CORRAL_OK) return status;

    char inner[SENTENCE_SIZE];
    memcpy(inner, last_sentence, sizeof inner);
    va_list arguments;
    va_start(arguments, format);
    set_sentence(format, arguments);
    va_end(arguments);
    append(inner[0] != '\0' ? inner : corral_status_name(status));
    return status;
}

const char *corral_last_error(void)
{
    return last_sentence;
}

void corral_assert_failed(const char *condition, const char *file, int line, const char *function)
{
    fprintf(stderr, "%s:%d: %s: this must hold and does not: %s\n", file, line, function, condition);
    abort();
}
