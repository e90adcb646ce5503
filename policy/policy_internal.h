// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What the files of this folder share. Not for others.
#ifndef CORRAL_POLICY_INTERNAL_H
#define CORRAL_POLICY_INTERNAL_H

#include "corral/policy/policy.h"

/// Running mean and variance per observation element, and the frozen form that acting uses.
typedef struct policy_filter {
    uint32_t size;
    double count;
    double *mean;    // [size]
    double *m2;      // [size] sum of squared deviations from the mean
    double *inverse; // [size] 1 / sqrt(variance + epsilon): derived
} policy_filter;

corral_status policy_filter_init(policy_filter *filter, uint32_t size);
void policy_filter_finish(policy_filter *filter);
/// Recomputes what is derived, after `count`, `mean` or `m2` were written.
void policy_filter_refresh(policy_filter *filter);
void policy_filter_merge(policy_filter *filter, size_t rows, const float *observation);
void policy_filter_apply(const policy_filter *filter, double clip, size_t rows, const float *observation,
                         float *out);

typedef struct policy_layer {
    uint32_t weight, bias; // entries of the parameters
    size_t in, out;
    corral_activation activation;
} policy_layer;

/// A chain of linear layers.
typedef struct policy_tower {
    policy_layer layer[CORRAL_SIZES_MAX + 1];
    uint32_t count;
} policy_tower;

enum {
    POLICY_BLOCK_ROWS = 256, // acting works through its rows in blocks of this size
    POLICY_SCRATCH = 4, // buffers of that many rows: filtered observation, two that alternate, trunk's result
};

struct corral_policy {
    corral_policy_config config;
    uint64_t version;
    corral_params *params;
    policy_filter filter;
    corral_moments returns;
    double exploration;             // Q-networks: epsilon
    policy_tower trunk;             // shared networks only: the hidden layers
    policy_tower actor, critic;     // heads, with hidden layers of their own where nothing is shared; of a
                                    // Q-network the worths, or (dueling) the advantages and the value
    size_t widest;                  // of all layers and the observation
    float *scratch[POLICY_SCRATCH]; // [POLICY_BLOCK_ROWS, widest]
};

/// The worths of the actions of `rows` <= POLICY_BLOCK_ROWS observations, then what `out` wants.
void policy_act_q(corral_policy *policy, size_t rows, const float *observation, const float *uniform,
                  const corral_policy_output *out);

/// Runs a tower over rows of `x`; hidden layers alternate between two scratch buffers, the last writes to
/// `out`.
void policy_run_tower(const corral_policy *policy, const policy_tower *tower, size_t rows, const float *x,
                      float *out);

/// A policy whose weights are all zero.
corral_status policy_create_uninitialised(const corral_policy_config *config, corral_policy **out_policy);

#endif
