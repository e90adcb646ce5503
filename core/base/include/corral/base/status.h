// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// How a call says that it failed: a code to act on, and a sentence to show.
///
/// Every fallible function returns a corral_status. The sentence belongs to the calling thread, names the
/// thing that failed and what to do about it, and stays until the next failure on the same thread.
#ifndef CORRAL_BASE_STATUS_H
#define CORRAL_BASE_STATUS_H

#include <stdarg.h>

#ifdef __cplusplus
extern "C" {
#endif

/// One list gives the enum and corral_status_name().
#define CORRAL_STATUS_LIST(X)                                                                                \
    X(OK, "ok")                                                                                              \
    X(ERROR_NO_MEMORY, "out of memory")                                                                      \
    X(ERROR_INVALID, "invalid argument or input")                                                            \
    X(ERROR_NOT_FOUND, "not found")                                                                          \
    X(ERROR_EXISTS, "already there")                                                                         \
    X(ERROR_EMPTY, "nothing there yet")                                                                      \
    X(ERROR_FULL, "no room left")                                                                            \
    X(ERROR_IO, "input or output failed")                                                                    \
    X(ERROR_CORRUPT, "damaged or not of this format")                                                        \
    X(ERROR_VERSION, "made for another version")                                                             \
    X(ERROR_UNSUPPORTED, "not supported")                                                                    \
    X(ERROR_INFEASIBLE, "can never be satisfied")                                                            \
    X(ERROR_REFUSED, "refused")                                                                              \
    X(ERROR_TIMEOUT, "took too long")                                                                        \
    X(ERROR_LOST, "the other side is gone")                                                                  \
    X(ERROR_STALE, "belongs to an earlier incarnation")                                                      \
    X(ERROR_CANCELLED, "interrupted")                                                                        \
    X(ERROR_NOT_FINITE, "a number is not finite")                                                            \
    X(ERROR_ENVIRONMENT, "an environment failed")

typedef enum corral_status {
#define X(name, text) CORRAL_##name,
    CORRAL_STATUS_LIST(X)
#undef X
        CORRAL_STATUS_COUNT
} corral_status;

#if defined(__GNUC__)
#define CORRAL_MUST_USE __attribute__((warn_unused_result))
#define CORRAL_PRINTF(format_index, first_argument)                                                          \
    __attribute__((format(printf, format_index, first_argument)))
#else
#define CORRAL_MUST_USE
#define CORRAL_PRINTF(format_index, first_argument)
#endif

/// A few words for a code: "not found". Static text. [any thread]
const char *corral_status_name(corral_status status);

/// Stores the sentence for this thread and returns `status`, so that a failing line reads
/// `return corral_fail(CORRAL_ERROR_INVALID, "ppo.epochs: %d is below 1", epochs);`. [any thread]
corral_status corral_fail(corral_status status, const char *format, ...) CORRAL_PRINTF(2, 3);

/// The same, followed by ": " and the text of `error_number` (an errno value). [any thread]
corral_status corral_fail_errno(corral_status status, int error_number, const char *format, ...)
    CORRAL_PRINTF(3, 4);

/// Puts "context: " before this thread's current sentence and returns `status`; a no-op for CORRAL_OK.
corral_status corral_fail_within(corral_status status, const char *format, ...) CORRAL_PRINTF(2, 3);

/// This thread's last sentence, "" if there was none. Valid until the next failure on this thread.
const char *corral_last_error(void);

/// A mistake in our own code, never a mistake of the user: prints the place and aborts, in every build.
#define CORRAL_ASSERT(condition)                                                                             \
    ((condition) ? (void)0 : corral_assert_failed(#condition, __FILE__, __LINE__, __func__))
#if defined(__GNUC__)
__attribute__((noreturn))
#endif
void corral_assert_failed(const char *condition, const char *file, int line, const char *function);

#ifdef __cplusplus
}
#endif
#endif
