// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A batch that is played with random actions below the host, with guards around everything that it may
/// write. Episodes end by the rules or by the type's time limit and begin anew at once, as the host does it.
///
/// Seeds and actions are drawn from (examiner's seed, environment number, episode, step), so that two stages
/// that play the same environments play the same episodes, however they are cut into batches.
#ifndef CORRAL_ENVS_CHECK_STAGE_H
#define CORRAL_ENVS_CHECK_STAGE_H

#include "exam.h"
#include "guarded.h"

#include "../rules.h"

enum { STAGE_LEAVES = 64 };
enum stage_watch {
    STAGE_WATCH_VALUES = 1, // spaces, rewards and flags
    STAGE_WATCH_MEMORY = 2, // guards, rows of others, actions
};

typedef struct stage {
    corral_exam *exam;
    const corral_env_type *type;
    uint32_t count;
    uint32_t first; // number of environment 0
    unsigned watch; // what is checked after each call: stage_watch
    corral_rules rules;
    guarded observation[STAGE_LEAVES], observation_before[STAGE_LEAVES];
    guarded action[STAGE_LEAVES], action_before[STAGE_LEAVES];
    guarded reward, terminated, truncated, failed; // one row of [count] each
    corral_env_rows observation_rows[STAGE_LEAVES], action_rows[STAGE_LEAVES];
    uint64_t *episode; // [count] number of the open one
    uint64_t *seed;    // [count] of it
    uint32_t *length;  // [count] steps in it
    uint8_t *mask;     // [count] which to reset
} stage;

/// Made, but not reset. `first` is the number of its first environment. On false the exam has failed and
/// nothing is to be closed.
bool corral_stage_open(stage *s, corral_exam *exam, uint32_t first, uint32_t count);
void corral_stage_close(stage *s);
/// The first episode of every environment, or the episode of a number.
bool corral_stage_begin_all(stage *s, uint64_t episode);

/// Begins the next episode where s->mask is 1, then clears the mask.
bool corral_stage_begin(stage *s);

/// Called for each environment with what a step left, and once more with the first observation of an episode
/// that the step brought about.
typedef void stage_seen(void *context, const stage *s, uint32_t environment, bool begun);

/// Random actions, one step, and new episodes where one ended. `seen` may be NULL.
bool corral_stage_step(stage *s, stage_seen *seen, void *context);

/// The handle and index that extensions expect for one environment.
void *corral_stage_handle(const stage *s, uint32_t environment, uint32_t *out_index);

/// Failures of one environment of the stage.
#define STAGE_FAIL(s, i, ...)                                                                                \
    corral_exam_fail_at((s)->exam, (s)->first + (i), (s)->seed[i], (s)->length[i], __VA_ARGS__)

static inline double *stage_reward(const stage *s)
{
    return guarded_row(&s->reward, 0);
}

static inline uint8_t *stage_terminated(const stage *s)
{
    return guarded_row(&s->terminated, 0);
}

static inline uint8_t *stage_truncated(const stage *s)
{
    return guarded_row(&s->truncated, 0);
}

static inline uint8_t *stage_failed(const stage *s)
{
    return guarded_row(&s->failed, 0);
}

// What is watched, in inspect.c. `reset` says that the call was a reset of those with s->mask 1.
bool corral_stage_inspect_values(stage *s, bool reset);
bool corral_stage_inspect_memory(stage *s, bool reset);
/// Keeps a copy of what a call may not change, to be compared by the function above.
void corral_stage_remember(stage *s);

#endif
