// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Past steps to learn from, the oldest of which make room for the newest.
///
/// Each environment has a ring of its own, in which its steps lie one after the other. An observation is kept
/// once: the one that a step led to is the one that the next step acted on. Where an episode ended, its own
/// last observation stands between its last step and the next episode's first, and takes a row. So whatever
/// is learned from a step, over one step or over many, is read from where it lies and never copied:
///
///     R = r_t + gamma r_t+1 + ... + gamma^(k-1) r_t+k-1        d = gamma^k, or 0 where the episode ended
///
/// to learn Q(s_t, a_t) = R + d max Q(s_t+k) from. k is n_step, or drawn anew with each row between
/// n_step_min and n_step_max; it is less for the last steps of an episode: all of them are kept, each with a
/// horizon of its own. A time limit ends the sum but not the worth: d stays gamma^k, and s_t+k is the
/// episode's own last observation. A step can be drawn once its longest horizon is there.
///
/// Rows are drawn alike, or in proportion to priorities (Schaul et al. 2016):
///
///     P(i) = p_i / sum p        p_i = (|error_i| + 1e-6)^alpha        weight_i = (N P(i))^-beta / max weight
///
/// where a new row has the largest |error| + 1e-6 that was ever told (1 at first), so that it is soon seen,
/// and the largest weight is that of the rows drawn together. Draws are addressed by a stream's key and a
/// counter: they do not depend on threads.
///
/// All memory is taken at the start.
#ifndef CORRAL_RLLIB_REPLAY_H
#define CORRAL_RLLIB_REPLAY_H

#include "rate_limiter.h"

#include <stddef.h>

typedef struct replay_config {
    size_t capacity;          // rows of all environments together
    size_t observation_bytes; // of one observation, whatever it is
    uint32_t envs;
    uint32_t n_step_min, n_step_max;
    double gamma;
    double alpha; // 0: all rows alike
} replay_config;

typedef struct replay replay;

/// One step of one environment.
typedef struct replay_step {
    const void *observation; // [observation_bytes] acted on
    int32_t action;
    float reward;
    bool terminated, truncated;
    const void *next; // [observation_bytes] after the step: the episode's last where it ended
} replay_step;

/// A row that was drawn, the horizon that it is learned with, and the weight of its loss.
typedef struct replay_draw {
    uint32_t row, steps;
    float weight;
} replay_draw;

typedef struct replay_transition {
    const void *observation, *next; // [observation_bytes]
    int32_t action;
    float reward;   // R
    float discount; // d
} replay_transition;

/// Rows of a replay that takes at most so many bytes; 0 where not even one fits.
size_t replay_rows_within(const replay_config *config, size_t bytes);
/// What a replay takes in memory; SIZE_MAX where that cannot be counted.
size_t replay_bytes(const replay_config *config);
/// CORRAL_ERROR_NO_MEMORY says how much was asked for, also where the machine has less than that. A ring has
/// room for its longest horizon at least, also where that makes more rows than `capacity`.
CORRAL_MUST_USE corral_status replay_create(const replay_config *config, replay **out_replay);
void replay_destroy(replay *r);
size_t replay_size(const replay *r);     // bytes
size_t replay_capacity(const replay *r); // rows

/// Adds the next step of an environment. Steps that wait for their horizon are forgotten where this one does
/// not go on from them.
void replay_push(replay *r, uint32_t environment, const replay_step *step);
/// The open episode of an environment failed: its steps that wait for their horizon are forgotten.
void replay_forget(replay *r, uint32_t environment);

size_t replay_count(const replay *r); // rows that can be drawn

/// Draws `count` rows, with repetition; the weights are 1 where all rows are alike. Not of an empty replay.
void replay_sample(replay *r, uint64_t key, size_t count, double beta, replay_draw *out_draws);
/// What is learned from a draw. Good until the next push.
replay_transition replay_at(const replay *r, const replay_draw *draw);
/// Tells the errors that rows were found to have. Errors that are not finite are passed over.
void replay_tell_errors(replay *r, const replay_draw *draws, const float *errors, size_t count);

/// Counts rows in and out; whoever owns the replay sets its bounds and asks it.
rate_limiter *replay_limiter(replay *r);

/// Everything, as replay.safetensors of a checkpoint.
CORRAL_MUST_USE corral_status replay_write(const replay *r, const char *path);
/// Into a replay of the same configuration; CORRAL_ERROR_INVALID where the file's differs.
CORRAL_MUST_USE corral_status replay_read(replay *r, const char *path);

#endif
