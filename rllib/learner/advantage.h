// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Generalised advantage estimation (Schulman et al. 2016, eq. 16) over one environment's steps.
#ifndef CORRAL_RLLIB_ADVANTAGE_H
#define CORRAL_RLLIB_ADVANTAGE_H

#include <stddef.h>
#include <stdint.h>

typedef struct advantage_input {
    size_t steps;              // T
    const float *reward;       // [T]
    const float *value;        // [T]
    float last_value;          // V of where the rollout was cut
    const uint8_t *terminated; // [T]
    const uint8_t *truncated;  // [T]
    const float
        *final_value; // [T]: V(last observation) at steps where an episode was truncated; elsewhere ignored
    double gamma, lambda;
} advantage_input;

/// Writes the advantages and the value targets (advantage + value), [T] each.
void advantage_estimate(const advantage_input *in, float *out_advantage, float *out_target);

#endif
