// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The arithmetic of one update, per dtype: what an optimizer calls on each chunk of the flat block.
#ifndef CORRAL_CORE_OPTIM_UPDATES_H
#define CORRAL_CORE_OPTIM_UPDATES_H

#include "corral/core/optim.h"

/// The numbers of one step, the same for all chunks.
typedef struct corral_update {
    double scale; // of the gradient: clipping
    double learning_rate;
    double beta1, beta2, epsilon;
    double first_correction, second_correction; // 1 - beta^t
    double momentum;
} corral_update;

typedef struct corral_update_table {
    /// total = the sum over lanes, which are zeroed; returns the sum of squares of `total`. See backend.h.
    double (*sum_lanes)(size_t count, size_t lane_count, void *const *lanes, void *total);
    /// `state` are the optimizer's blocks at the same place; SGD has one, Adam two.
    void (*apply[2])(const corral_update *update, size_t count, void *weight, const void *grad,
                     void *const state[2]); // by corral_optimizer_kind
} corral_update_table;

extern const corral_update_table corral_updates_f32, corral_updates_f64;

#endif
