// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Environments of the person's own Python: names that begin with "gym:".
#ifndef CORRAL_ENVS_GYM_H
#define CORRAL_ENVS_GYM_H

#include "corral/base/status.h"
#include "corral/env.h"

#include <stdbool.h>

bool corral_gym_names(const char *name);

/// "gym:CartPole-v1", "gym:ALE/Pong-v5", "gym:package.module:Env-v0", "gym:LunarLander-v3?continuous=true".
/// Asks Python on first use; the result lives as long as the program. [any thread]
CORRAL_MUST_USE corral_status corral_gym_find(const char *name, const corral_env_type **out_type);

#endif
