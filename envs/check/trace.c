// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "trace.h"

#include "corral/base/file.h"

#include <stdlib.h>
#include <string.h>

bool corral_trace_create(trace *t, corral_exam *exam, uint32_t count, uint32_t rounds)
{
    *t = (trace){.count = count, .rounds = rounds};
    t->record = calloc((size_t)count * (rounds + 1), sizeof *t->record);
    return t->record != NULL || corral_exam_fail(exam, "no memory for the examination");
}

void corral_trace_destroy(trace *t)
{
    free(t->record);
    *t = (trace){0};
}

static trace_record *record_at(const trace *t, uint32_t round, uint32_t row)
{
    return &t->record[(size_t)round * t->count + row];
}

/// Never 0, which stands for none.
static uint64_t checksum(const stage *s, uint32_t row)
{
    uint64_t sum = 1;
    for (uint32_t k = 0; k < s->type->spaces.observation_count; k++)
        sum = sum * 31 + corral_checksum(guarded_row(&s->observation[k], row), s->observation[k].width);
    return sum != 0 ? sum : 1;
}

static void see(void *context, const stage *s, uint32_t row, bool begun)
{
    const trace *t = context;
    trace_record *r = record_at(t, t->round, row);
    if (begun) {
        r->begun = checksum(s, row);
        return;
    }
    *r = (trace_record){.observation = checksum(s, row), .seed = s->seed[row], .length = s->length[row]};
    if (t->round == 0) return;
    r->reward = stage_reward(s)[row];
    r->terminated = stage_terminated(s)[row] != 0;
    r->truncated = stage_truncated(s)[row] != 0;
}

void corral_trace_begin(trace *t, const stage *s)
{
    t->round = 0;
    for (uint32_t i = 0; i < s->count; i++)
        see(t, s, i, false);
}

bool corral_trace_step(trace *t, stage *s)
{
    CORRAL_ASSERT(t->round < t->rounds);
    t->round++;
    return corral_stage_step(s, see, t);
}

bool corral_trace_follow(trace *t, stage *s)
{
    bool ok = true;
    corral_trace_begin(t, s);
    while (ok && t->round < t->rounds)
        ok = corral_trace_step(t, s);
    return ok;
}

bool corral_trace_play(trace *t, corral_exam *exam, uint32_t first, uint64_t episode)
{
    stage s;
    if (!corral_stage_open(&s, exam, first, t->count)) return false;
    const bool ok = corral_stage_begin_all(&s, episode) && corral_trace_follow(t, &s);
    corral_stage_close(&s);
    return ok;
}

bool corral_trace_same(corral_exam *exam, const trace *a, uint32_t a_row, const trace *b, uint32_t b_row,
                       uint32_t environment, const char *how)
{
    for (uint32_t round = 0; round <= a->rounds; round++) {
        const trace_record *x = record_at(a, round, a_row), *y = record_at(b, round, b_row);
        if (memcmp(&x->reward, &y->reward, sizeof x->reward) != 0)
            return corral_exam_fail_at(exam, environment, x->seed, x->length,
                                       "the reward is %.17g, and %.17g %s", x->reward, y->reward, how);
        if (x->terminated != y->terminated || x->truncated != y->truncated)
            return corral_exam_fail_at(exam, environment, x->seed, x->length, "the episode %s, and %s %s",
                                       x->terminated || x->truncated ? "ends" : "goes on",
                                       y->terminated || y->truncated ? "ends" : "goes on", how);
        if (x->observation != y->observation || x->length != y->length || x->seed != y->seed)
            return corral_exam_fail_at(exam, environment, x->seed, x->length, "the observation differs %s",
                                       how);
        if (x->begun != y->begun)
            return corral_exam_fail_at(exam, environment, x->seed, x->length,
                                       "the first observation of the next episode differs %s", how);
    }
    return true;
}
