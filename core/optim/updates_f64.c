// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Plain loops in f64, for checks against references.

#include "optim/updates.h"

#include <math.h>
#include <stdbool.h>

typedef double real;
#define real_sqrt sqrt

#include "optim/real_updates.h"

static double sum_lanes(size_t count, size_t lane_count, void *const *lanes, void *total)
{
    double squares = 0.0;
    for (size_t i = 0; i < count; i++) {
        double sums[CORRAL_LANES];
        for (size_t lane = 0; lane < lane_count; lane++) {
            sums[lane] = ((const double *)lanes[lane])[i];
        }
        for (size_t step = 1; step < lane_count; step *= 2) {
            for (size_t lane = 0; lane + step < lane_count; lane += 2 * step)
                sums[lane] += sums[lane + step];
        }
        ((double *)total)[i] = sums[0];
        squares += sums[0] * sums[0];
    }
    return squares;
}

static void adam(const corral_update *update, size_t count, void *weight, const void *grad,
                 void *const *state)
{
    double *w = weight, *first = state[0], *second = state[1];
    const double step_size = update->learning_rate / update->first_correction;
    const double correction = sqrt(update->second_correction);
    for (size_t i = 0; i < count; i++) {
        const double g = ((const double *)grad)[i] * update->scale;
        first[i] += (1.0 - update->beta1) * (g - first[i]);
        second[i] += (1.0 - update->beta2) * (g * g - second[i]);
        w[i] -= step_size * first[i] / (sqrt(second[i]) / correction + update->epsilon);
    }
}

const corral_update_table corral_updates_f64 = {
    .sum_lanes = sum_lanes,
    .sgd = sgd,
    .adam = adam,
    .amsgrad = amsgrad,
    .rmsprop = rmsprop,
    .decay = decay,
    .couple = couple,
    .clip_values = clip_values,
};
