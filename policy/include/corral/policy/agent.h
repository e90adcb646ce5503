// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A trained policy in a program of one's own: load a checkpoint, act. It needs libcorral_policy alone.
///
///     corral_agent *agent;
///     if (corral_agent_load("runs/cartpole-v1-ppo-1/checkpoints/30720", &agent) != CORRAL_OK) ...
///     corral_agent_act(agent, observation, &action);
///
/// Observations and actions are rows of bytes as the environment gives and takes them: CartPole's are
/// float[4] and int32_t. What the policy was trained with (normalisation, scaling, bounds) happens inside.
#ifndef CORRAL_POLICY_AGENT_H
#define CORRAL_POLICY_AGENT_H

#include "corral/base/status.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct corral_agent corral_agent;

/// From a checkpoint's folder or its policy.safetensors. The caller ends it with corral_agent_destroy(). What
/// is wrong with a file is in corral_last_error().
CORRAL_MUST_USE corral_status corral_agent_load(const char *path, corral_agent **out_agent);

/// The most probable action, or the best one, for an observation: corral_agent_observation_bytes() are read,
/// corral_agent_action_bytes() written. The same observation gives the same action, always. [any thread]
CORRAL_MUST_USE corral_status corral_agent_act(corral_agent *agent, const void *observation,
                                               void *out_action);

size_t corral_agent_observation_bytes(const corral_agent *agent);
size_t corral_agent_action_bytes(const corral_agent *agent);

/// No thread may still be acting. NULL is fine.
void corral_agent_destroy(corral_agent *agent);

#ifdef __cplusplus
}
#endif
#endif
