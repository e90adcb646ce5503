// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What a stage saw, step by step, small enough to keep: two of them tell whether the same was played.
#ifndef CORRAL_ENVS_CHECK_TRACE_H
#define CORRAL_ENVS_CHECK_TRACE_H

#include "stage.h"

typedef struct trace_record {
    uint64_t observation; // a checksum
    uint64_t begun;       // of the first observation of the episode that began after it; 0: none did
    double reward;
    uint64_t seed;   // of the episode
    uint32_t length; // of it, with this step
    uint8_t terminated, truncated;
} trace_record;

typedef struct trace {
    uint32_t count, rounds;
    trace_record *record; // [round][environment]; round 0 is the first reset
    uint32_t round;       // that is being played
} trace;

/// Room for `rounds` steps. On false the exam has failed.
bool corral_trace_create(trace *t, corral_exam *exam, uint32_t count, uint32_t rounds);
void corral_trace_destroy(trace *t);

/// Records the observations that a stage holds now as round 0.
void corral_trace_begin(trace *t, const stage *s);
/// One step of the stage, recorded as the next round.
bool corral_trace_step(trace *t, stage *s);
/// Both: round 0, then all the others. The stage has been reset.
bool corral_trace_follow(trace *t, stage *s);
/// Opens a stage, plays all rounds from an episode on and closes it.
bool corral_trace_play(trace *t, corral_exam *exam, uint32_t first, uint64_t episode);

/// Compares environment `b_row` of b with `a_row` of a. Fails the exam where they part:
/// "environment 3, seed 17, step 5: the reward is 1 and 0 HOW".
bool corral_trace_same(corral_exam *exam, const trace *a, uint32_t a_row, const trace *b, uint32_t b_row,
                       uint32_t environment, const char *how);

#endif
