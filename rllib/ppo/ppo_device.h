// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// PPO's update on a GPU: what ppo.c hands over where a run has a device.
#ifndef CORRAL_RLLIB_PPO_DEVICE_H
#define CORRAL_RLLIB_PPO_DEVICE_H

#include "ppo.h"

#include "corral/core/device_learner.h"

typedef struct ppo_device ppo_device;

/// `policy` and `optimizer` are brought up to date by it; they and the device must outlive it.
CORRAL_MUST_USE corral_status ppo_device_create(const corral_ppo_config *config, uint64_t run_seed,
                                                const ppo_placement *placement, corral_policy *policy,
                                                corral_optimizer *optimizer, ppo_device **out_device);
void ppo_device_destroy(ppo_device *d);

/// `result` comes with the schedules' values, and leaves with sums over minibatches in the place of means.
CORRAL_MUST_USE corral_status ppo_device_update(ppo_device *d, batch *b, const ppo_moment *now,
                                                ppo_result *result);
/// Brings the optimizer's moments back from the device.
CORRAL_MUST_USE corral_status ppo_device_fetch(ppo_device *d);

#endif
