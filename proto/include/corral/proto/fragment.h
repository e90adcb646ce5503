// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What a rollout worker hands to the learner: `steps` steps of `env_count` environments, under one policy
/// version.
///
/// A fragment is one block of bytes: a header, fixed columns, then one record for each episode that ended in
/// it. Rows lie in (environment, step) order, so that a column is [env_count][steps] and the rows of one
/// environment are neighbours. proto/WIRE.md draws it. Workers write straight into it; the learner validates
/// the header against what it asked for, then reads in place.
#ifndef CORRAL_PROTO_FRAGMENT_H
#define CORRAL_PROTO_FRAGMENT_H

#include "corral/base/status.h"

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    CORRAL_FRAGMENT_MAGIC = 0x474c5243 /* "CRLG" */,
    CORRAL_FRAGMENT_VERSION = 4,
    CORRAL_FRAGMENT_TEXT = 256,
    CORRAL_FRAGMENT_RUNS = 130
};

/// What fixes the layout. Both sides know it from the configuration.
typedef struct corral_fragment_spec {
    uint32_t env_count;
    uint32_t steps;             // T
    uint32_t observation_bytes; // of one row
    uint32_t action_count;      // width of the distribution's inputs
    uint32_t state_bytes;       // of one environment's saved state
    uint32_t action_words;      // of one action, 4 bytes each; 0 stands for 1
    uint32_t mask_bytes;        // of one action mask; 0: none
    uint32_t memory_rows;       // per environment: states of a recurrent policy, evenly over the steps
    uint32_t memory_bytes;      // of one of these, float each; 0: none
    uint32_t info_count;        // numbers that each environment says of itself at an episode's end
} corral_fragment_spec;

/// Words of an action that are checked alike: whole numbers below `choices`, or finite floats where that is
/// 0.
typedef struct corral_fragment_run {
    uint32_t words, choices;
} corral_fragment_run;

typedef struct corral_fragment_header {
    uint32_t magic, format;  // CORRAL_FRAGMENT_MAGIC, CORRAL_FRAGMENT_VERSION
    uint64_t length;         // bytes used, header included
    uint64_t policy_version; // of the weights that acted
    uint64_t first_step;     // step number, per environment, of the first row
    corral_fragment_spec spec;
    uint32_t env_begin;    // number of the first environment in the whole run
    uint32_t ended_count;  // records at the end
    uint32_t failed_count; // environments' failures in this fragment (their rows are not valid)
    uint32_t worker;       // index of the worker that filled it
} corral_fragment_header;

static_assert(sizeof(corral_fragment_header) == 88, "the header is part of the wire format");

/// One finished episode; the last observation of that episode (observation_bytes) follows each record, and
/// then, at a multiple of 8, what its environment said of itself (info_count doubles; NAN: nothing).
typedef struct corral_fragment_ended {
    double episode_return; // plain sum of rewards
    uint64_t number;       // of the environment's episodes, from 0
    uint32_t length;       // steps, also those before this fragment
    uint32_t environment;  // row 0 .. env_count-1 of this fragment
    uint32_t step;         // 0 .. steps-1: where it ended
    float final_value;     // V(last observation) where the end was not a true one, else 0
    uint8_t terminated, truncated;
    uint8_t reserved[6];
} corral_fragment_ended;

static_assert(sizeof(corral_fragment_ended) == 40, "the record is part of the wire format");

/// Offsets of the columns. Each column starts at a multiple of 64 bytes.
typedef struct corral_fragment_layout {
    corral_fragment_spec spec;
    size_t observation; // [env][T+1] rows: the last is where the next fragment goes on
    size_t action;      // int32 or float [env][T][action_words]; one word: 0 .. action_count-1, in every row
    size_t logits;      // float [env][T][action_count]: the distribution's inputs
    size_t log_prob;    // float [env][T]
    size_t value;       // float [env][T+1]
    size_t reward;      // float [env][T]
    size_t terminated;  // uint8 [env][T]
    size_t truncated;   // uint8 [env][T]
    size_t valid;       // uint8 [env][T]: 0 for rows of an episode that failed
    size_t mask;        // uint8 [env][T+1][mask_bytes]: 1 for what was allowed
    size_t memory;      // float [env][memory_rows]: row k before step k T / memory_rows
    size_t state;       // [env] saved states after the last step
    size_t failure;     // char [CORRAL_FRAGMENT_TEXT]: what the first failure said; "" where none
    size_t ended;       // records, `ended_stride` apart
    size_t ended_stride;
    size_t ended_info; // within a record
    size_t capacity;   // bytes when every step ends an episode
    uint32_t run_count;
    corral_fragment_run run[CORRAL_FRAGMENT_RUNS]; // of an action's words
} corral_fragment_layout;

/// CORRAL_ERROR_INVALID where the sizes are zero or the block would exceed 2^40 bytes.
CORRAL_MUST_USE corral_status corral_fragment_layout_init(const corral_fragment_spec *spec,
                                                          corral_fragment_layout *out_layout);
/// Says what the words of an action are, at most CORRAL_FRAGMENT_RUNS runs of them, `action_words` in all.
/// Without this they are all below `action_count`.
void corral_fragment_layout_set_runs(corral_fragment_layout *layout, uint32_t count,
                                     const corral_fragment_run *runs);
static inline uint32_t corral_fragment_action_words(const corral_fragment_spec *spec)
{
    return spec->action_words > 0 ? spec->action_words : 1;
}

/// A fragment's columns as pointers into its block.
typedef struct corral_fragment {
    corral_fragment_header header; // a copy
    const corral_fragment_layout *layout;
    const unsigned char *observation;
    const int32_t *action; // [row][action_words]
    const float *logits, *log_prob, *value, *reward;
    const uint8_t *mask; // [environment][T+1][mask_bytes]
    const float *memory;
    const uint8_t *terminated, *truncated, *valid;
    const unsigned char *state;
    char failure[CORRAL_FRAGMENT_TEXT]; // a copy, one printable line
} corral_fragment;

/// Copies the header, then checks everything that reading relies on: magic, format, sizes against `layout`,
/// the length, actions within range, flags 0 or 1, one record for each valid row that ends an episode, in the
/// order they happened (by step, then by environment). CORRAL_ERROR_CORRUPT names what is wrong;
/// CORRAL_ERROR_NOT_FINITE where a valid row or a record holds a number that is not finite. Observations are
/// bytes and are not looked at. `block` is 64-byte aligned and must stay as it is while the fragment is read.
CORRAL_MUST_USE corral_status corral_fragment_open(const corral_fragment_layout *layout, const void *block,
                                                   size_t length, corral_fragment *out_fragment);

/// The k-th record (unaligned-safe copy), and where its observation lies (`out_observation` may be NULL).
corral_fragment_ended corral_fragment_ended_at(const corral_fragment *fragment, uint32_t k,
                                               const unsigned char **out_observation);

/// What the environment of the k-th record said of itself: [info_count].
const double *corral_fragment_info_at(const corral_fragment *fragment, uint32_t k);

#ifdef __cplusplus
}
#endif
#endif
