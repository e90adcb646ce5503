// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What the rules of the examiner share: who is examined, how far it is, and the first thing that was wrong.
#ifndef CORRAL_ENVS_CHECK_EXAM_H
#define CORRAL_ENVS_CHECK_EXAM_H

#include "corral/envs/examine.h"

#include <stdatomic.h>
#include <stdbool.h>

/// Seen by the process that waits, so that it can tell where a rule crashed or hangs.
typedef struct exam_progress {
    _Atomic uint64_t ticks;     // calls into the environment
    _Atomic(const char *) call; // "step", "reset": which one it is in
    _Atomic uint64_t seed;      // of the first environment's episode
    _Atomic uint32_t step;      // of it
} exam_progress;

typedef struct corral_exam {
    const corral_examine_config *config;
    const corral_env_type *type;
    const double *values; // [type->param_count]
    exam_progress *progress;
    uint32_t rounds;         // steps of a batch that a rule plays
    double steps_per_second; // out, of the first rule
    bool failed, skipped;
    char sentence[sizeof((corral_examine_result *)0)->sentence];
} corral_exam;

enum { EXAM_ENVIRONMENTS = 16, EXAM_ROUNDS_MAX = 600, EXAM_ROUNDS_MIN = 40 };

typedef struct exam_rule {
    const char *name, *means;
    void (*examine)(corral_exam *exam);
} exam_rule;

/// Keeps the first failure. Returns false, so that a check reads `return exam_fail(...)`.
bool corral_exam_fail(corral_exam *exam, const char *format, ...) CORRAL_PRINTF(2, 3);
/// The same about one environment: "environment 3, seed 17, step 5: ...".
bool corral_exam_fail_at(corral_exam *exam, uint32_t environment, uint64_t seed, uint32_t step,
                         const char *format, ...) CORRAL_PRINTF(5, 6);
void corral_exam_skip(corral_exam *exam, const char *why);

/// What the environment said, or `otherwise`.
const char *corral_exam_said(const char *otherwise);

/// The environment is about to be called.
void corral_exam_enter(corral_exam *exam, const char *call, uint64_t seed, uint32_t step);

// The rules, by file.
void corral_exam_create(corral_exam *exam);
void corral_exam_spaces(corral_exam *exam);
void corral_exam_memory(corral_exam *exam);
void corral_exam_same_seed(corral_exam *exam);
void corral_exam_alone(corral_exam *exam);
void corral_exam_taking_turns(corral_exam *exam);
void corral_exam_reset_anytime(corral_exam *exam);
void corral_exam_state(corral_exam *exam);
void corral_exam_picture(corral_exam *exam);
void corral_exam_mask(corral_exam *exam);
void corral_exam_info(corral_exam *exam);
void corral_exam_host(corral_exam *exam);
void corral_exam_threads(corral_exam *exam);
void corral_exam_leaks(corral_exam *exam);

#endif
