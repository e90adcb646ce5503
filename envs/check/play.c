// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Rules about plain playing: values, memory, and that an episode depends on its seed and actions alone.

#include "trace.h"

#include "corral/base/clock.h"

void corral_exam_create(corral_exam *exam)
{
    static const uint32_t counts[] = {1, 2, EXAM_ENVIRONMENTS};
    for (int k = 0; k < 3; k++) {
        stage s;
        if (!corral_stage_open(&s, exam, 0, counts[k])) return;
        const bool ok = corral_stage_begin_all(&s, 0);
        corral_stage_close(&s);
        if (!ok) return;
    }
}

/// Also measures, since it is the first to play.
void corral_exam_spaces(corral_exam *exam)
{
    stage s;
    if (!corral_stage_open(&s, exam, 0, EXAM_ENVIRONMENTS)) return;
    s.watch = STAGE_WATCH_VALUES;
    const int64_t start = corral_now_ns();
    int64_t elapsed = 0;
    uint32_t rounds = 0;
    bool ok = corral_stage_begin_all(&s, 0);
    for (; ok && rounds < 4 * EXAM_ROUNDS_MAX && elapsed < 2 * CORRAL_SECOND; rounds++) {
        ok = corral_stage_step(&s, NULL, NULL);
        elapsed = corral_now_ns() - start;
    }
    if (elapsed > 0) exam->steps_per_second = 1e9 * rounds * EXAM_ENVIRONMENTS / (double)elapsed;
    corral_stage_close(&s);
}

void corral_exam_memory(corral_exam *exam)
{
    stage s;
    if (!corral_stage_open(&s, exam, 0, EXAM_ENVIRONMENTS)) return;
    s.watch = STAGE_WATCH_MEMORY;
    bool ok = corral_stage_begin_all(&s, 0);
    for (uint32_t t = 0; ok && t < exam->rounds; t++) {
        ok = corral_stage_step(&s, NULL, NULL);
        if (t % 5 != 4) continue;
        s.mask[t % s.count] = 1; // some in the middle, so that resets leave others to compare
        ok = ok && corral_stage_begin(&s);
    }
    corral_stage_close(&s);
}

static bool all_same(corral_exam *exam, const trace *a, const trace *b, uint32_t from_row, const char *how)
{
    for (uint32_t i = from_row; i < a->count; i++)
        if (!corral_trace_same(exam, a, i, b, i, i, how)) return false;
    return true;
}

static bool same_in_used_instances(corral_exam *exam, const trace *first, trace *again)
{
    stage used;
    if (!corral_stage_open(&used, exam, 0, EXAM_ENVIRONMENTS)) return false;
    bool ok = corral_stage_begin_all(&used, 1000);
    for (uint32_t t = 0; ok && t < 50; t++)
        ok = corral_stage_step(&used, NULL, NULL);
    ok = ok && corral_stage_begin_all(&used, 0) && corral_trace_follow(again, &used) &&
         all_same(exam, first, again, 0, "in an instance that has played other episodes before");
    corral_stage_close(&used);
    return ok;
}

/// Two new batches, and one that has already played something else.
void corral_exam_same_seed(corral_exam *exam)
{
    trace first, again;
    bool ok = corral_trace_create(&first, exam, EXAM_ENVIRONMENTS, exam->rounds);
    ok = corral_trace_create(&again, exam, EXAM_ENVIRONMENTS, exam->rounds) && ok;
    ok = ok && corral_trace_play(&first, exam, 0, 0) && corral_trace_play(&again, exam, 0, 0) &&
         all_same(exam, &first, &again, 0, "when the same seeds are played again") &&
         same_in_used_instances(exam, &first, &again);
    corral_trace_destroy(&first);
    corral_trace_destroy(&again);
}

void corral_exam_alone(corral_exam *exam)
{
    static const uint32_t chosen[] = {0, 7, EXAM_ENVIRONMENTS - 1};
    trace many, one;
    bool ok = corral_trace_create(&many, exam, EXAM_ENVIRONMENTS, exam->rounds);
    ok = corral_trace_create(&one, exam, 1, exam->rounds) && ok;
    ok = ok && corral_trace_play(&many, exam, 0, 0);
    for (int k = 0; ok && k < 3; k++)
        ok = corral_trace_play(&one, exam, chosen[k], 0) &&
             corral_trace_same(exam, &many, chosen[k], &one, 0, chosen[k], "in a batch of one");
    corral_trace_destroy(&many);
    corral_trace_destroy(&one);
}

// --- two batches that take turns

enum { HALF = EXAM_ENVIRONMENTS / 2 };

static bool take_turns(stage s[2], trace part[2])
{
    bool ok = true;
    for (int k = 0; k < 2 && ok; k++) {
        ok = corral_stage_begin_all(&s[k], 0);
        corral_trace_begin(&part[k], &s[k]);
    }
    while (ok && part[1].round < part[1].rounds)
        ok = corral_trace_step(&part[0], &s[0]) && corral_trace_step(&part[1], &s[1]);
    return ok;
}

static bool play_in_turns(corral_exam *exam, trace part[2])
{
    stage s[2];
    if (!corral_stage_open(&s[0], exam, 0, HALF)) return false;
    bool ok = corral_stage_open(&s[1], exam, HALF, HALF);
    if (ok) {
        ok = take_turns(s, part);
        corral_stage_close(&s[1]);
    }
    corral_stage_close(&s[0]);
    return ok;
}

/// What is kept outside of the batch would be mixed up.
void corral_exam_taking_turns(corral_exam *exam)
{
    trace whole, part[2];
    bool ok = corral_trace_create(&whole, exam, EXAM_ENVIRONMENTS, exam->rounds);
    for (int k = 0; k < 2; k++)
        ok = corral_trace_create(&part[k], exam, HALF, exam->rounds) && ok;
    ok = ok && corral_trace_play(&whole, exam, 0, 0) && play_in_turns(exam, part);
    for (uint32_t i = 0; ok && i < whole.count; i++)
        ok = corral_trace_same(exam, &whole, i, &part[i / HALF], i % HALF, i,
                               "when two batches take turns; is something kept outside of them?");
    corral_trace_destroy(&whole);
    corral_trace_destroy(&part[0]);
    corral_trace_destroy(&part[1]);
}

// --- resets in the middle

/// Cuts environment 0 off again and again.
static bool play_disturbed(stage *s, trace *disturbed)
{
    enum { EVERY = 7 };
    bool ok = corral_stage_begin_all(s, 0);
    corral_trace_begin(disturbed, s);
    while (ok && disturbed->round < disturbed->rounds) {
        ok = corral_trace_step(disturbed, s);
        if (disturbed->round % EVERY != 0) continue;
        s->mask[0] = 1;
        ok = ok && corral_stage_begin(s);
    }
    return ok;
}

/// What environment 0 plays after a cut is what that seed gives a new instance.
static bool same_after_a_cut(stage *s, trace *after)
{
    trace fresh;
    const uint64_t episode = s->episode[0];
    s->mask[0] = 1;
    bool ok = corral_stage_begin(s) && corral_trace_follow(after, s);
    ok = corral_trace_create(&fresh, s->exam, 1, after->rounds) && ok;
    ok = ok && corral_trace_play(&fresh, s->exam, 0, episode) &&
         corral_trace_same(s->exam, &fresh, 0, after, 0, 0, "after a reset in the middle of an episode");
    corral_trace_destroy(&fresh);
    return ok;
}

void corral_exam_reset_anytime(corral_exam *exam)
{
    trace plain, disturbed;
    stage s;
    bool ok = corral_trace_create(&plain, exam, EXAM_ENVIRONMENTS, exam->rounds);
    ok = corral_trace_create(&disturbed, exam, EXAM_ENVIRONMENTS, exam->rounds) && ok;
    if (ok && corral_trace_play(&plain, exam, 0, 0) && corral_stage_open(&s, exam, 0, EXAM_ENVIRONMENTS)) {
        ok = play_disturbed(&s, &disturbed) &&
             all_same(exam, &plain, &disturbed, 1, "when environment 0 is reset in between") &&
             same_after_a_cut(&s, &disturbed);
        corral_stage_close(&s);
    }
    corral_trace_destroy(&plain);
    corral_trace_destroy(&disturbed);
}
