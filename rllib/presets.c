// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What other libraries train PPO with when they are told nothing, in the keys of ours. Coefficients of the
/// value loss are those of half the squared error.
#include "corral/rllib/config.h"

#include <string.h>

// Stable-Baselines3 2: PPO("MlpPolicy").
static const char *const sb3[] = {
    "envs=1",
    "workers=0",
    "ppo.steps=2048",
    "ppo.minibatch=64",
    "ppo.epochs=10",
    "ppo.gamma=0.99",
    "ppo.lambda=0.95",
    "ppo.learning_rate=3e-4",
    "ppo.clip_range=0.2",
    "ppo.entropy_coefficient=0",
    "ppo.value_coefficient=1",
    "ppo.value_clip_range=0",
    "ppo.max_grad_norm=0.5",
    "ppo.normalize_advantage=true",
    "ppo.adam_epsilon=1e-5",
    "network.hidden=[64, 64]",
    "network.activation=tanh",
    "network.shared=false",
    "network.initialisation=orthogonal",
    NULL,
};

// CleanRL: ppo.py.
static const char *const cleanrl[] = {
    "envs=4",
    "workers=0",
    "stop.steps=500000",
    "ppo.steps=128",
    "ppo.minibatch=128",
    "ppo.epochs=4",
    "ppo.gamma=0.99",
    "ppo.lambda=0.95",
    "ppo.learning_rate=linear(2.5e-4)",
    "ppo.clip_range=0.2",
    "ppo.entropy_coefficient=0.01",
    "ppo.value_coefficient=0.5",
    "ppo.value_clip_range=0.2",
    "ppo.max_grad_norm=0.5",
    "ppo.normalize_advantage=true",
    "ppo.adam_epsilon=1e-5",
    "network.hidden=[64, 64]",
    "network.activation=tanh",
    "network.shared=false",
    "network.initialisation=orthogonal",
    NULL,
};

// RLlib 2: PPOConfig() on the new API stack; 4000 rows of two environments.
static const char *const rllib[] = {
    "envs=2",
    "workers=2",
    "ppo.steps=2000",
    "ppo.minibatch=128",
    "ppo.epochs=30",
    "ppo.gamma=0.99",
    "ppo.lambda=1",
    "ppo.learning_rate=5e-5",
    "ppo.clip_range=0.3",
    "ppo.entropy_coefficient=0",
    "ppo.value_coefficient=2",
    "ppo.value_clip_range=0",
    "ppo.value_error_clip=10",
    "ppo.max_grad_norm=0",
    "ppo.kl_coefficient=0.2",
    "ppo.kl_target=0.01",
    "ppo.normalize_advantage=true",
    "ppo.adam_epsilon=1e-8",
    "network.hidden=[256, 256]",
    "network.activation=tanh",
    "network.shared=false",
    "network.initialisation=fan_in",
    NULL,
};

static const struct {
    const char *name;
    const char *const *values;
} presets[] = {{"sb3", sb3}, {"cleanrl", cleanrl}, {"rllib", rllib}};

corral_status corral_train_config_preset(corral_train_config *config, const char *name)
{
    for (size_t i = 0; i < sizeof presets / sizeof presets[0]; i++) {
        if (strcmp(presets[i].name, name) != 0) continue;
        corral_status status = CORRAL_OK;
        for (const char *const *value = presets[i].values; *value != NULL && status == CORRAL_OK; value++)
            status = corral_config_set(corral_train_fields, config, *value);
        return status;
    }
    return corral_fail(CORRAL_ERROR_INVALID, "there is no preset \"%s\"; there are sb3, cleanrl and rllib",
                       name);
}
