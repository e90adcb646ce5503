// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// One process per rule. What is found goes through shared memory, so that it is there whatever becomes of the
// process; the process also notes which call it is in, and the one that waits sees whether calls still
// return.
//
//     caller --fork--> rule "same seed" --verdict, sentence, progress--> shared page --> report
//
// What an environment prints goes into a file without a name, and is the rule "quiet", which is judged last.

#include "exam.h"

#include "corral/base/clock.h"
#include "corral/base/log.h"
#include "corral/envs/registry.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static const exam_rule rules[] = {
    {"create", "batches of 1, 2 and 16 can be made, reset and destroyed", corral_exam_create},
    {"spaces", "observations are finite and within their space, rewards finite, flags 0 or 1",
     corral_exam_spaces},
    {"memory", "only the rows that are given are written, and actions stay as they are", corral_exam_memory},
    {"same seed", "the same seed and actions give the same episode", corral_exam_same_seed},
    {"alone", "an instance plays the same alone as in a batch", corral_exam_alone},
    {"taking turns", "two batches in one thread do not disturb each other", corral_exam_taking_turns},
    {"reset anytime", "a reset in the middle begins anew and leaves the others alone",
     corral_exam_reset_anytime},
    {"state", "a saved state goes on exactly in another batch", corral_exam_state},
    {"picture", "pictures are sound and drawing changes nothing", corral_exam_picture},
    {"action mask", "masks are 0 or 1 with at least one 1, and asking changes nothing", corral_exam_mask},
    {"info", "its numbers stay within their memory, and asking changes nothing", corral_exam_info},
    {"host", "a step before the first reset and actions outside the space are refused", corral_exam_host},
    {"threads", "batches in several threads do not disturb each other", corral_exam_threads},
    {"leaks", "memory does not grow with steps, or with batches made and destroyed", corral_exam_leaks},
};
enum { RULES = sizeof rules / sizeof *rules };
static_assert((int)RULES < (int)CORRAL_EXAMINE_RULES_MAX, "and one more: quiet");

corral_examine_config corral_examine_config_default(const corral_env_type *type)
{
    return (corral_examine_config){.type = type, .seed = 1, .leak_steps = 100000, .step_seconds = 5};
}

/// What a rule's process leaves for the one that waits.
typedef struct shared_page {
    exam_progress progress;
    corral_exam exam;
    _Atomic bool finished;
} shared_page;

typedef struct examination {
    const corral_examine_config *config;
    double *values;
    shared_page *page;
    int printed;    // a file: what the environment prints
    char line[160]; // the first line of that, but for last words of a process that crashed
    uint32_t rounds;
    bool hung; // whoever hangs once is not waited for again
} examination;

// --- in the rule's process

/// The rule's process has no words of its own: outputs go to the file, and the log is silent.
static void be_quiet(int printed)
{
    dup2(printed, STDOUT_FILENO);
    dup2(printed, STDERR_FILENO);
    corral_log_set_sink(NULL, NULL);
}

static void run_rule(const examination *e, const exam_rule *rule)
{
    corral_exam *exam = &e->page->exam;
    be_quiet(e->printed);
    rule->examine(exam);
    fflush(NULL);
    atomic_store(&e->page->finished, true);
    _exit(0);
}

// --- in the caller's process

/// Waits until the process ends, or kills it when no call returns for too long. False where it hung.
static bool wait_for(const examination *e, pid_t child, int *out_status)
{
    const int64_t patience = (int64_t)(e->config->step_seconds * (double)CORRAL_SECOND);
    int64_t since = corral_now_ns(), pause = CORRAL_MILLISECOND / 4;
    uint64_t seen = 0;
    while (waitpid(child, out_status, WNOHANG) == 0) {
        const uint64_t ticks = atomic_load(&e->page->progress.ticks);
        if (ticks != seen) since = corral_now_ns();
        seen = ticks;
        if (corral_now_ns() - since > patience) {
            kill(child, SIGKILL);
            waitpid(child, out_status, 0);
            return false;
        }
        corral_sleep_ns(pause);
        if (pause < 4 * CORRAL_MILLISECOND) pause *= 2;
    }
    return true;
}

/// The first line that the process printed while it ran, from `from` on; "" if none.
static void first_line(int printed, off_t from, char *out_line, size_t size)
{
    const ssize_t length = pread(printed, out_line, size - 1, from);
    out_line[length > 0 ? length : 0] = '\0';
    out_line[strcspn(out_line, "\n")] = '\0';
}

static void fail_ended(const examination *e, const char *what, off_t printed_from)
{
    const exam_progress *p = &e->page->progress;
    const char *call = atomic_load(&p->call);
    char line[160];
    first_line(e->printed, printed_from, line, sizeof line);
    e->page->exam.failed = false; // what comes now says more than what the process may have begun to say
    corral_exam_fail(&e->page->exam,
                     "a batch whose first seed is %" PRIu64 ", step %" PRIu32 ": %s in %s%s%s%s",
                     atomic_load(&p->seed), atomic_load(&p->step), what, call != NULL ? call : "create",
                     line[0] != '\0' ? ", and printed \"" : "", line, line[0] != '\0' ? "\"" : "");
}

static void judge_end(const examination *e, bool returned, int status, off_t printed_from)
{
    char what[120];
    if (!returned) {
        snprintf(what, sizeof what, "it did not return for %g seconds", e->config->step_seconds);
        fail_ended(e, what, printed_from);
    } else if (WIFSIGNALED(status)) {
        snprintf(what, sizeof what, "it crashed (%s)", strsignal(WTERMSIG(status)));
        fail_ended(e, what, printed_from);
    } else if (!atomic_load(&e->page->finished)) {
        snprintf(what, sizeof what, "it ended the process (exit code %d)", WEXITSTATUS(status));
        fail_ended(e, what, printed_from);
    }
}

static corral_status examine_rule(examination *e, const exam_rule *rule, corral_examine_result *out_result)
{
    shared_page *page = e->page;
    memset(page, 0, sizeof *page);
    page->exam = (corral_exam){.config = e->config,
                               .type = e->config->type,
                               .values = e->values,
                               .progress = &page->progress,
                               .rounds = e->rounds};
    const off_t printed_from = lseek(e->printed, 0, SEEK_END);
    fflush(NULL); // or the child would print it again
    const pid_t child = fork();
    if (child < 0) return corral_fail_errno(CORRAL_ERROR_IO, errno, "no process for the rule %s", rule->name);
    if (child == 0) run_rule(e, rule);

    int status = 0;
    const bool returned = wait_for(e, child, &status);
    judge_end(e, returned, status, printed_from);
    e->hung = !returned;
    if (atomic_load(&page->finished) && e->line[0] == '\0')
        first_line(e->printed, printed_from, e->line, sizeof e->line);
    const corral_exam *exam = &page->exam;
    *out_result = (corral_examine_result){.rule = rule->name, .means = rule->means};
    out_result->verdict = exam->failed    ? CORRAL_VERDICT_FAILED
                          : exam->skipped ? CORRAL_VERDICT_SKIPPED
                                          : CORRAL_VERDICT_PASSED;
    memcpy(out_result->sentence, exam->sentence, sizeof out_result->sentence);
    return CORRAL_OK;
}

static void judge_quiet(const examination *e, corral_examine_result *out_result)
{
    *out_result = (corral_examine_result){.rule = "quiet", .means = "nothing is printed"};
    if (e->line[0] == '\0') return;
    out_result->verdict = CORRAL_VERDICT_FAILED;
    snprintf(out_result->sentence, sizeof out_result->sentence,
             "it prints; the first line is \"%s\" (host->log is there for that)", e->line);
}

/// As many steps as a tenth of a second takes, within limits.
static uint32_t rounds_for(double steps_per_second)
{
    const double rounds = steps_per_second * 0.1 / EXAM_ENVIRONMENTS;
    return rounds > EXAM_ROUNDS_MAX   ? EXAM_ROUNDS_MAX
           : rounds < EXAM_ROUNDS_MIN ? EXAM_ROUNDS_MIN
                                      : (uint32_t)rounds;
}

static corral_status examine_all(examination *e, corral_examine_report *report)
{
    e->rounds = EXAM_ROUNDS_MIN;
    for (int i = 0; i < RULES; i++) {
        const corral_status status = examine_rule(e, &rules[i], &report->result[report->count]);
        if (status != CORRAL_OK) return status;
        if (e->page->exam.steps_per_second > 0) {
            report->steps_per_second = e->page->exam.steps_per_second;
            e->rounds = rounds_for(report->steps_per_second);
        }
        report->count++;
        // What cannot be made cannot be played, and who hangs in one rule would in the others.
        if ((i == 0 && report->result[0].verdict == CORRAL_VERDICT_FAILED) || e->hung) break;
    }
    judge_quiet(e, &report->result[report->count++]);
    for (uint32_t i = 0; i < report->count; i++)
        report->failed += report->result[i].verdict == CORRAL_VERDICT_FAILED;
    return CORRAL_OK;
}

corral_status corral_env_examine(const corral_examine_config *config, corral_examine_report *out_report)
{
    const corral_env_type *type = config->type;
    *out_report = (corral_examine_report){0};
    examination e = {.config = config, .printed = -1};
    e.values = calloc(type->param_count + 1, sizeof *e.values);
    e.page = mmap(NULL, sizeof *e.page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    e.printed = memfd_create("printed", MFD_CLOEXEC);
    corral_status status = CORRAL_OK;
    if (e.values == NULL || e.page == MAP_FAILED || e.printed < 0)
        status = corral_fail(CORRAL_ERROR_NO_MEMORY, "%s: no memory to examine it", type->id);
    for (uint32_t i = 0; i < type->param_count && status == CORRAL_OK; i++)
        e.values[i] = config->param_values != NULL ? config->param_values[i] : type->params[i].default_value;
    if (status == CORRAL_OK) status = examine_all(&e, out_report);
    if (e.page != MAP_FAILED) munmap(e.page, sizeof *e.page);
    if (e.printed >= 0) close(e.printed);
    free(e.values);
    return status;
}
