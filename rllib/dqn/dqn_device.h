// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Minibatches of Q-learning on a GPU: what dqn.c hands over where a run has a device.
#ifndef CORRAL_RLLIB_DQN_DEVICE_H
#define CORRAL_RLLIB_DQN_DEVICE_H

#include "dqn.h"

#include "corral/core/device_learner.h"

typedef struct dqn_device dqn_device;

/// The policies and the optimizer are brought up to date by it; they and the device must outlive it.
CORRAL_MUST_USE corral_status dqn_device_create(const corral_dqn_config *config, corral_device *device,
                                                corral_precision precision, corral_policy *policy,
                                                corral_policy *target, corral_optimizer *optimizer,
                                                dqn_device **out_device);
void dqn_device_destroy(dqn_device *d);

/// Begins an update.
CORRAL_MUST_USE corral_status dqn_device_begin(dqn_device *d, double learning_rate);
/// One minibatch of these draws. `out_error` may be NULL: then nothing is waited for, and nothing said of
/// whether the step was skipped.
CORRAL_MUST_USE corral_status dqn_device_learn(dqn_device *d, const replay *r, const replay_draw *draws,
                                               float *out_error, bool *out_skipped);
void dqn_device_move_target(dqn_device *d);
/// Ends it: `result` gets sums over minibatches, and the policy its new weights.
CORRAL_MUST_USE corral_status dqn_device_finish(dqn_device *d, dqn_result *result);

/// Brings the optimizer's moments and the target network back from the device.
CORRAL_MUST_USE corral_status dqn_device_fetch(dqn_device *d);

#endif
