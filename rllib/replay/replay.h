// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Past transitions to learn from. A ring: once it is full, the oldest makes room for the newest.
///
/// All memory is taken at the start. Rows are drawn alike, or in proportion to priorities (Schaul et al.
/// 2016):
///
///     P(i) = p_i / sum p        p_i = (|error_i| + 1e-6)^alpha        weight_i = (N P(i))^-beta / max weight
///
/// where a new row has the largest |error| + 1e-6 that was ever told (1 at first), so that it is soon seen,
/// and the largest weight is that of the rows drawn together. Draws are addressed by a stream's key and a
/// counter: they do not depend on threads.
#ifndef CORRAL_RLLIB_REPLAY_H
#define CORRAL_RLLIB_REPLAY_H

#include "n_step.h"

typedef struct replay_config {
    size_t capacity; // rows
    uint32_t observation_size, envs, n_step;
    double gamma;
    double alpha; // 0: all rows alike
} replay_config;

typedef struct replay replay;

/// What a replay takes in memory; SIZE_MAX where that cannot be counted.
size_t replay_bytes(const replay_config *config);
/// CORRAL_ERROR_NO_MEMORY says how much was asked for, also where the machine has less than that.
CORRAL_MUST_USE corral_status replay_create(const replay_config *config, replay **out_replay);
void replay_destroy(replay *r);
size_t replay_size(const replay *r); // bytes

/// Adds the next step of an environment. Rows that come of it push the oldest ones out.
void replay_push(replay *r, uint32_t environment, const replay_step *step);
/// The open episode of an environment failed: its steps that wait for their horizon are forgotten.
void replay_forget(replay *r, uint32_t environment);

size_t replay_count(const replay *r); // rows that can be drawn
/// Row 0 .. count-1, in no particular order. Good until the next push.
replay_transition replay_at(const replay *r, size_t row);

/// Draws `count` rows, with repetition, and the weights of their losses (1 where all rows are alike). Not of
/// an empty replay.
void replay_sample(const replay *r, uint64_t key, size_t count, double beta, uint32_t *out_rows,
                   float *out_weights);
/// Tells the errors that rows were found to have. Errors that are not finite are passed over.
void replay_tell_errors(replay *r, const uint32_t *rows, const float *errors, size_t count);

/// Everything, as replay.safetensors of a checkpoint.
CORRAL_MUST_USE corral_status replay_write(const replay *r, const char *path);
/// Into a replay of the same configuration; CORRAL_ERROR_INVALID where the file's differs.
CORRAL_MUST_USE corral_status replay_read(replay *r, const char *path);

#endif
