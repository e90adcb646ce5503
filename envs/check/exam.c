// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "exam.h"

#include "corral/envs/registry.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

bool corral_exam_fail(corral_exam *exam, const char *format, ...)
{
    if (exam->failed) return false;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(exam->sentence, sizeof exam->sentence, format, arguments);
    va_end(arguments);
    exam->failed = true;
    return false;
}

bool corral_exam_fail_at(corral_exam *exam, uint32_t environment, uint64_t seed, uint32_t step,
                         const char *format, ...)
{
    char what[sizeof exam->sentence - 100];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return corral_exam_fail(exam, "environment %" PRIu32 ", seed %" PRIu64 ", step %" PRIu32 ": %s",
                            environment, seed, step, what);
}

void corral_exam_skip(corral_exam *exam, const char *why)
{
    exam->skipped = true;
    snprintf(exam->sentence, sizeof exam->sentence, "%s", why);
}

const char *corral_exam_said(const char *otherwise)
{
    const char *said = corral_env_host_take_error();
    return said[0] != '\0' ? said : otherwise;
}

void corral_exam_enter(corral_exam *exam, const char *call, uint64_t seed, uint32_t step)
{
    exam_progress *p = exam->progress;
    atomic_store_explicit(&p->call, call, memory_order_relaxed);
    atomic_store_explicit(&p->seed, seed, memory_order_relaxed);
    atomic_store_explicit(&p->step, step, memory_order_relaxed);
    atomic_fetch_add_explicit(&p->ticks, 1, memory_order_relaxed);
}
