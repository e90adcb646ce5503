// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The arithmetic of one update, per dtype: what an optimizer calls on each chunk of the flat block.
#ifndef CORRAL_CORE_OPTIM_UPDATES_H
#define CORRAL_CORE_OPTIM_UPDATES_H

#include "corral/core/optim.h"

/// The numbers of one step, the same for all chunks.
/// CORRAL_OK where an optimizer can be made of it.
corral_status corral_optimizer_config_check(const corral_optimizer_config *config);

enum { CORRAL_OPTIMIZER_STATES = 3 };

/// The numbers of one step, the same for all pieces of a group.
typedef struct corral_update {
    double scale; // of the gradient: clipping
    double learning_rate;
    double beta1, beta2, epsilon;               // beta2 is RMSprop's alpha, too
    double first_correction, second_correction; // 1 - beta^t
    double momentum;
    bool nesterov, epsilon_inside;
} corral_update;

/// `state` are the optimizer's blocks at the same place; NULL where it has none.
typedef void corral_apply(const corral_update *update, size_t count, void *weight, const void *grad,
                          void *const *state);

typedef struct corral_update_table {
    /// total = the sum over lanes, which are zeroed; returns the sum of squares of `total`, which may
    /// be a lane. See backend.h.
    double (*sum_lanes)(size_t count, size_t lane_count, void *const *lanes, void *total);
    corral_apply *sgd, *adam, *amsgrad, *rmsprop;
    void (*decay)(size_t count, void *weight, double factor); // weight *= factor
    void (*couple)(size_t count, const void *weight, void *grad, double scale,
                   double factor);                                 // grad = scale grad + factor weight
    double (*clip_values)(size_t count, void *grad, double bound); // returns the sum of squares after it
} corral_update_table;

extern const corral_update_table corral_updates_f32, corral_updates_f64;

#endif
