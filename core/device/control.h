// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What changes from one launch of a captured update to the next. It lives on the device: the host writes it
/// once before an update and reads it once afterwards, and the kernels carry it from minibatch to minibatch.
#ifndef CORRAL_CORE_DEVICE_CONTROL_H
#define CORRAL_CORE_DEVICE_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CORRAL_DEVICE_CHUNK = 1024,    // elements that one block of a reduction takes
    CORRAL_DEVICE_LOSS_ROWS = 128, // rows that one block of a loss takes
    CORRAL_DEVICE_BIAS_ROWS = 128, // rows that one block of a bias gradient takes
    CORRAL_DEVICE_SUMS = 8,        // that a loss adds up over its rows
    CORRAL_DEVICE_GROUP_ID = 128,
};

/// What the sums of a loss are.
typedef enum corral_device_sums {
    CORRAL_DEVICE_SUMS_PPO, // in the order of corral_device_ppo_sum
    CORRAL_DEVICE_SUMS_DQN, // in the order of corral_device_dqn_sum
} corral_device_sums;

typedef enum corral_device_ppo_sum {
    CORRAL_PPO_SUM_POLICY_LOSS,
    CORRAL_PPO_SUM_VALUE_LOSS,
    CORRAL_PPO_SUM_ENTROPY,
    CORRAL_PPO_SUM_APPROX_KL,
    CORRAL_PPO_SUM_CLIPPED,
    CORRAL_PPO_SUM_KL,
    CORRAL_PPO_SUM_INFINITE_KL,
    CORRAL_PPO_SUM_LARGEST, // largest |ratio - 1|: a maximum and no sum
} corral_device_ppo_sum;

typedef enum corral_device_dqn_sum {
    CORRAL_DQN_SUM_LOSS,
    CORRAL_DQN_SUM_Q,
    CORRAL_DQN_SUM_ERROR,
} corral_device_dqn_sum;

typedef struct corral_device_control {
    // settings of this update
    double learning_rate;
    double stop_kl; // epochs stop where a minibatch's mean divergence exceeds it; 0: never
    float clip_range, entropy_coefficient, kl_coefficient;
    uint32_t normalize_advantage;
    uint32_t scaling; // the loss scale moves

    // what goes on from update to update
    uint64_t steps;     // of Adam
    uint64_t counter;   // of random draws
    double scale;       // of the loss
    uint64_t scale_age; // steps since it moved
    uint64_t overflows; // steps skipped because of it, ever

    // the minibatch in work
    uint64_t at; // its first row in `order`
    double advantage_mean, advantage_scale;
    double norm;                     // of the gradient, unscaled, before clipping
    double sums[CORRAL_DEVICE_SUMS]; // of its loss
    double minibatch_rows;
    float gradient_factor; // unscales and clips
    float step_size, second_correction_sqrt;
    uint32_t skip; // this step moves nothing

    // over the update; reset by the host
    double totals[CORRAL_DEVICE_SUMS]; // means over rows, summed over minibatches
    double norm_total;
    double first_largest;          // the sum LARGEST of the first minibatch
    double epoch_kl, epoch_rows;   // of the epoch; reset at its start
    uint64_t minibatches, skipped; // that changed the weights; that were not finite
    uint32_t stopped;              // by stop_kl
} corral_device_control;

#endif
