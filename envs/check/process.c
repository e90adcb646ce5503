// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Rules about the process around the environment: the host in front of it, threads, and memory that grows.

#include "trace.h"

#include "corral/base/clock.h"
#include "corral/envs/batch.h"

#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// --- the host

/// Enough of a step for calls that have to be refused.
static bool refuses(corral_exam *exam, corral_env_batch *batch, const stage *s, const char *what)
{
    corral_env_batch_step step = {.observation = s->observation_rows};
    if (corral_env_batch_step_all(batch, s->action_rows, &step) == CORRAL_ERROR_INVALID) return true;
    return corral_exam_fail(exam, "the host lets %s pass", what);
}

/// Every leaf of the action space that has an outside is left once.
static bool refuses_wrong_actions(corral_exam *exam, corral_env_batch *batch, stage *s)
{
    for (uint32_t k = 0; k < s->type->spaces.action_count; k++) {
        const corral_space *leaf = &s->type->spaces.action[k];
        if (leaf->kind == CORRAL_SPACE_BOX && leaf->dtype > CORRAL_SPACE_F64) continue; // may have no outside
        memset(guarded_row(&s->action[k], 0), 0xff, s->action[k].width);
        if (!refuses(exam, batch, s, "an action outside its space")) return false;
        memset(guarded_row(&s->action[k], 0), 0, s->action[k].width);
    }
    return true;
}

void corral_exam_host(corral_exam *exam)
{
    stage s; // for its rows
    if (!corral_stage_open(&s, exam, 0, 1)) return;
    const corral_env_batch_config config = {.type = exam->type,
                                            .count = 1,
                                            .run_seed = exam->config->seed,
                                            .role = CORRAL_STREAM_ENVIRONMENT,
                                            .max_episode_steps = -1,
                                            .param_values = exam->values};
    corral_env_batch *batch = NULL;
    corral_exam_enter(exam, "create", 0, 0);
    if (corral_env_batch_create(&config, &batch) != CORRAL_OK) {
        corral_exam_fail(exam, "%s", corral_last_error());
    } else if (refuses(exam, batch, &s, "a step before the first reset")) {
        corral_exam_enter(exam, "reset", 0, 0);
        if (corral_env_batch_reset(batch, s.observation_rows) == CORRAL_OK)
            refuses_wrong_actions(exam, batch, &s);
        else
            corral_exam_fail(exam, "%s", corral_last_error());
    }
    corral_env_batch_destroy(batch);
    corral_stage_close(&s);
}

// --- threads

enum { THREADS = 4, THREAD_ENVIRONMENTS = EXAM_ENVIRONMENTS / THREADS };

typedef struct player {
    corral_exam exam; // its own place for a failure
    trace trace;
    stage stage;
    uint32_t first;
    bool opened;
} player;

/// A batch that another thread has made and reset.
static void *play(void *context)
{
    player *p = context;
    if (p->opened) corral_trace_follow(&p->trace, &p->stage);
    return NULL;
}

static void run_players(corral_exam *exam, player *players)
{
    pthread_t thread[THREADS];
    int started = 0;
    while (started < THREADS && pthread_create(&thread[started], NULL, play, &players[started]) == 0)
        started++;
    if (started < THREADS) corral_exam_fail(exam, "no thread could be started");
    for (int k = 0; k < started; k++)
        pthread_join(thread[k], NULL);
}

static bool open_players(const corral_exam *exam, player *players)
{
    bool ok = true;
    for (uint32_t k = 0; k < THREADS; k++) {
        player *p = &players[k];
        *p = (player){.exam = *exam, .first = k * THREAD_ENVIRONMENTS};
        p->opened = corral_trace_create(&p->trace, &p->exam, THREAD_ENVIRONMENTS, exam->rounds) &&
                    corral_stage_open(&p->stage, &p->exam, p->first, THREAD_ENVIRONMENTS);
        ok = ok && p->opened && corral_stage_begin_all(&p->stage, 0);
    }
    return ok;
}

static void compare_players(corral_exam *exam, const trace *whole, const player *players)
{
    for (uint32_t i = 0; i < whole->count && !exam->failed; i++) {
        const player *p = &players[i / THREAD_ENVIRONMENTS];
        if (p->exam.failed)
            corral_exam_fail(exam, "%s", p->exam.sentence);
        else
            corral_trace_same(exam, whole, i, &p->trace, i % THREAD_ENVIRONMENTS, i,
                              "when four threads play at once; is something kept outside of the batches?");
    }
}

void corral_exam_threads(corral_exam *exam)
{
    trace whole;
    player *players = calloc(THREADS, sizeof *players);
    bool ok = players != NULL || corral_exam_fail(exam, "no memory for the examination");
    ok = corral_trace_create(&whole, exam, EXAM_ENVIRONMENTS, exam->rounds) && ok;
    if (ok && corral_trace_play(&whole, exam, 0, 0)) {
        if (open_players(exam, players)) run_players(exam, players);
        compare_players(exam, &whole, players);
        for (int k = 0; k < THREADS; k++) {
            if (players[k].opened) corral_stage_close(&players[k].stage);
            corral_trace_destroy(&players[k].trace);
        }
    }
    corral_trace_destroy(&whole);
    free(players);
}

// --- leaks

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED true
#endif
#endif
#ifndef SANITIZED
#define SANITIZED false
#endif

enum { GROWTH_MAX = 1 << 20, LIVES = 1000 }; // 16 bytes lost in each of 100,000 steps are 1.6 million

/// Bytes of memory that the process holds, after what was freed has been given back.
static int64_t resident(void)
{
    malloc_trim(0);
    long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL) return 0;
    if (fscanf(file, "%*s %lld", &pages) != 1) pages = 0;
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

/// Returns how many steps of an environment were played.
static uint64_t play_for(stage *s, uint64_t steps, int64_t deadline_ns)
{
    uint64_t played = 0;
    while (played < steps && corral_now_ns() < deadline_ns) {
        if (!corral_stage_step(s, NULL, NULL)) return 0;
        played += s->count;
    }
    return played;
}

static bool steps_leak(corral_exam *exam)
{
    stage s;
    if (!corral_stage_open(&s, exam, 0, EXAM_ENVIRONMENTS)) return true;
    const uint64_t steps = exam->config->leak_steps;
    int64_t growth = 0;
    uint64_t played = 0;
    if (corral_stage_begin_all(&s, 0) && play_for(&s, steps / 5, corral_now_ns() + CORRAL_SECOND) > 0) {
        const int64_t before = resident();
        played = play_for(&s, steps, corral_now_ns() + 4 * CORRAL_SECOND);
        growth = resident() - before;
    }
    if (growth > GROWTH_MAX)
        corral_exam_fail_at(exam, 0, s.seed[0], s.length[0],
                            "the process grew by %" PRId64 " bytes in %" PRIu64 " steps: step or reset leak",
                            growth, played);
    corral_stage_close(&s);
    return exam->failed;
}

static bool live_and_die(corral_exam *exam)
{
    stage s;
    if (!corral_stage_open(&s, exam, 0, EXAM_ENVIRONMENTS)) return false;
    const bool ok = corral_stage_begin_all(&s, 0);
    corral_stage_close(&s);
    return ok;
}

void corral_exam_leaks(corral_exam *exam)
{
    if (SANITIZED) {
        corral_exam_skip(exam, "a sanitizer keeps what is freed");
        return;
    }
    if (steps_leak(exam)) return;
    for (int life = 0; life < LIVES / 5; life++)
        if (!live_and_die(exam)) return;
    const int64_t before = resident(), deadline = corral_now_ns() + 2 * CORRAL_SECOND;
    int lives = 0;
    for (; lives < LIVES && corral_now_ns() < deadline; lives++)
        if (!live_and_die(exam)) return;
    const int64_t growth = resident() - before;
    if (growth > GROWTH_MAX)
        corral_exam_fail(exam,
                         "the process grew by %" PRId64 " bytes while %d batches of %d were made and "
                         "destroyed: destroy or finish leak",
                         growth, lives, EXAM_ENVIRONMENTS);
}
