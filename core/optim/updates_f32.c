// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "optim/updates.h"

#include "corral/core/backend.h"

#include <math.h>
#include <stdbool.h>

typedef float real;
#define real_sqrt sqrtf

#include "optim/real_updates.h"

_Static_assert((int)CORRAL_LANES <= (int)CORRAL_BACKEND_LANES, "a kernel sums all lanes of a step at once");

static double sum_lanes(size_t count, size_t lane_count, void *const *lanes, void *total)
{
    float *typed[CORRAL_LANES];
    for (size_t lane = 0; lane < lane_count; lane++)
        typed[lane] = lanes[lane];
    return corral_backend_cpu()->sum_lanes(count, lane_count, typed, total);
}

static void adam(const corral_update *update, size_t count, void *weight, const void *grad,
                 void *const *state)
{
    corral_backend_cpu()->adam(count, weight, grad, state[0], state[1], (float)update->scale,
                               (float)update->beta1, (float)update->beta2,
                               (float)(update->learning_rate / update->first_correction),
                               (float)sqrt(update->second_correction), (float)update->epsilon);
}

const corral_update_table corral_updates_f32 = {
    .sum_lanes = sum_lanes,
    .sgd = sgd,
    .adam = adam,
    .amsgrad = amsgrad,
    .rmsprop = rmsprop,
    .decay = decay,
    .couple = couple,
    .clip_values = clip_values,
};
