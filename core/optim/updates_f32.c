// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "optim/updates.h"

#include "corral/core/backend.h"

#include <math.h>

_Static_assert((int)CORRAL_LANES <= (int)CORRAL_BACKEND_LANES, "a kernel sums all lanes of a step at once");

static double sum_lanes(size_t count, size_t lane_count, void *const *lanes, void *total)
{
    float *typed[CORRAL_LANES];
    for (size_t lane = 0; lane < lane_count; lane++)
        typed[lane] = lanes[lane];
    return corral_backend_cpu()->sum_lanes(count, lane_count, typed, total);
}

static void sgd(const corral_update *update, size_t count, void *weight, const void *grad,
                void *const state[2])
{
    float *w = weight, *velocity = state[0];
    const float *g = grad, scale = (float)update->scale, momentum = (float)update->momentum;
    const float rate = (float)update->learning_rate;
    for (size_t i = 0; i < count; i++) {
        velocity[i] = momentum * velocity[i] + g[i] * scale;
        w[i] -= rate * velocity[i];
    }
}

static void adam(const corral_update *update, size_t count, void *weight, const void *grad,
                 void *const state[2])
{
    corral_backend_cpu()->adam(count, weight, grad, state[0], state[1], (float)update->scale,
                               (float)update->beta1, (float)update->beta2,
                               (float)(update->learning_rate / update->first_correction),
                               (float)sqrt(update->second_correction), (float)update->epsilon);
}

const corral_update_table corral_updates_f32 = {
    .sum_lanes = sum_lanes,
    .apply = {[CORRAL_SGD] = sgd, [CORRAL_ADAM] = adam},
};
