// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// How fast this machine trains, against what it could do: both measured in the same run.
#ifndef CORRAL_RLLIB_BENCH_H
#define CORRAL_RLLIB_BENCH_H

#include "corral/rllib/config.h"

typedef struct bench_preset {
    const char *name;
    const char *help;
    double flops_per_step; // products alone: rollout, and all epochs or minibatches forward and backward
    corral_train_config config;
} bench_preset;

/// "zoo", "cleanrl" or (of PPO) "large"; the sentence lists them.
CORRAL_MUST_USE corral_status bench_find_preset(corral_algorithm algorithm, const char *name,
                                                bench_preset *out_preset);

typedef struct bench_result {
    double steps_per_second;
    double peak_gflops;               // fused multiply-adds in single precision on all the learner's threads
    double share_of_bound;            // steps_per_second x flops_per_step over the peak, of the same slice
    double sample_share, learn_share; // of the measured time
} bench_result;

/// Trains for `seconds` after a warm-up, in short slices with a measurement of the peak before and after each
/// one; the medians over the slices.
CORRAL_MUST_USE corral_status bench_train(const bench_preset *preset, double seconds,
                                          bench_result *out_result);

#endif
