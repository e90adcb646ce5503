// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "corral/base/status.h"

#include "corral/base/clock.h"
#include "corral/base/log.h"

#include "test.h"

#include <errno.h>
#include <pthread.h>

static void every_code_has_words(void)
{
    for (int i = 0; i < CORRAL_STATUS_COUNT; i++)
        CU_ASSERT_TRUE(strlen(corral_status_name((corral_status)i)) > 1);
    CU_ASSERT_STRING_EQUAL(corral_status_name(CORRAL_ERROR_NOT_FOUND), "not found");
    CU_ASSERT_STRING_EQUAL(corral_status_name((corral_status)999), "unknown status");
}

static void a_failure_keeps_its_sentence(void)
{
    CU_ASSERT_EQUAL(corral_fail(CORRAL_ERROR_INVALID, "ppo.epochs: %d is below 1", 0), CORRAL_ERROR_INVALID);
    CU_ASSERT_STRING_EQUAL(corral_last_error(), "ppo.epochs: 0 is below 1");
    CU_ASSERT_EQUAL(corral_fail_errno(CORRAL_ERROR_IO, ENOENT, "cannot open %s", "a.yaml"), CORRAL_ERROR_IO);
    CU_ASSERT_STRING_EQUAL(corral_last_error(), "cannot open a.yaml: No such file or directory");
}

static void context_goes_in_front(void)
{
    const corral_status status = corral_fail(CORRAL_ERROR_EMPTY, "no rows");
    CU_ASSERT_EQUAL(corral_fail_within(status, "worker %d", 3), CORRAL_ERROR_EMPTY);
    CU_ASSERT_STRING_EQUAL(corral_last_error(), "worker 3: no rows");
    CU_ASSERT_EQUAL(corral_fail_within(CORRAL_OK, "never"), CORRAL_OK);
    CU_ASSERT_STRING_EQUAL(corral_last_error(), "worker 3: no rows");
    // The old sentence may be an argument of the new one.
    (void)corral_fail(CORRAL_ERROR_IO, "again: %s", corral_last_error());
    CU_ASSERT_STRING_EQUAL(corral_last_error(), "again: worker 3: no rows");
}

static void a_long_sentence_is_cut(void)
{
    char text[5000];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    (void)corral_fail(CORRAL_ERROR_IO, "%s", text);
    CU_ASSERT_TRUE(strlen(corral_last_error()) > 500 && strlen(corral_last_error()) < sizeof text);
    (void)corral_fail_errno(CORRAL_ERROR_IO, ENOSPC, "%s", text);
    (void)corral_fail_within(CORRAL_ERROR_IO, "%s", text);
    CU_ASSERT_TRUE(strlen(corral_last_error()) < sizeof text);
}

static void *fail_elsewhere(void *argument)
{
    (void)argument;
    (void)corral_fail(CORRAL_ERROR_LOST, "the other thread's");
    return NULL;
}

static void sentences_belong_to_threads(void)
{
    (void)corral_fail(CORRAL_ERROR_IO, "mine");
    pthread_t thread;
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, fail_elsewhere, NULL), 0);
    pthread_join(thread, NULL);
    CU_ASSERT_STRING_EQUAL(corral_last_error(), "mine");
}

typedef struct heard {
    int count;
    corral_log_level level;
    char line[64];
} heard;

static void hear(void *context, corral_log_level level, const char *line)
{
    heard *h = context;
    h->count++;
    h->level = level;
    snprintf(h->line, sizeof h->line, "%s", line);
}

static void the_log_reaches_its_sink_only(void)
{
    heard h = {0};
    corral_log(CORRAL_LOG_ERROR, "nobody hears this");
    corral_log_set_sink(hear, &h);
    errno = EAGAIN;
    corral_log(CORRAL_LOG_WARNING, "worker %d is late", 2);
    CU_ASSERT_EQUAL(errno, EAGAIN);
    corral_log_set_sink(NULL, NULL);
    corral_log(CORRAL_LOG_ERROR, "nor this");
    CU_ASSERT_EQUAL(h.count, 1);
    CU_ASSERT_EQUAL(h.level, CORRAL_LOG_WARNING);
    CU_ASSERT_STRING_EQUAL(h.line, "worker 2 is late");
}

static void a_sleep_lasts_at_least_as_asked(void)
{
    const int64_t start = corral_now_ns();
    corral_sleep_ns(3 * CORRAL_MILLISECOND);
    corral_sleep_ns(-1);
    CU_ASSERT_TRUE(corral_now_ns() - start >= 3 * CORRAL_MILLISECOND);
    CU_ASSERT_TRUE(corral_wall_seconds() > 1.6e9);
}

int main(void)
{
    return test_run("status, log and clock",
                    (test_case[]){{"every code has words", every_code_has_words},
                                  {"a failure keeps its sentence", a_failure_keeps_its_sentence},
                                  {"context goes in front", context_goes_in_front},
                                  {"a long sentence is cut", a_long_sentence_is_cut},
                                  {"sentences belong to threads", sentences_belong_to_threads},
                                  {"the log reaches its sink only", the_log_reaches_its_sink_only},
                                  {"a sleep lasts at least as asked", a_sleep_lasts_at_least_as_asked},
                                  {NULL, NULL}});
}
