// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What follows from a configuration of DQN: its replay, its schedules, and what cannot work.
#include "dqn.h"

#include <math.h>

replay_config dqn_replay_config(const corral_dqn_config *config, uint32_t envs, size_t observation_bytes)
{
    replay_config memory = {
        .capacity = (size_t)config->buffer_size,
        .observation_bytes = observation_bytes,
        .envs = envs,
        .n_step_min = config->n_step.value[0],
        .n_step_max = config->n_step.value[config->n_step.count - 1],
        .gamma = config->gamma,
        .alpha = config->priority_alpha,
    };
    if (config->buffer_bytes > 0) memory.capacity = replay_rows_within(&memory, (size_t)config->buffer_bytes);
    return memory;
}

rate_limiter dqn_rate_limiter(const corral_dqn_config *config)
{
    const double least =
        rate_limiter_least_tolerance(config->samples_per_insert, config->train_freq, config->minibatch);
    return (rate_limiter){
        .samples_per_insert = config->samples_per_insert,
        .tolerance = config->samples_tolerance > 0 ? config->samples_tolerance : least,
        .min_size = config->learning_starts,
    };
}

void dqn_shape_policy(const corral_dqn_config *config, corral_policy_config *policy)
{
    policy->dueling = config->dueling;
    policy->worth = (corral_worth)config->distribution;
    policy->atoms = policy->worth != CORRAL_WORTH_MEAN ? (uint32_t)config->atoms : 0;
    policy->value_min = config->value_min;
    policy->value_max = config->value_max;
    policy->noisy = config->noisy;
    policy->noisy_sigma = config->noisy_sigma;
}

double dqn_epsilon(const corral_dqn_config *config, double progress)
{
    const double part =
        config->exploration_fraction > 0 ? fmin(1, progress / config->exploration_fraction) : 1;
    return config->epsilon_start + part * (config->epsilon_end - config->epsilon_start);
}

static corral_status check_rates(const corral_dqn_config *config)
{
    if (config->samples_per_insert > 0) {
        const rate_limiter limiter = dqn_rate_limiter(config);
        return corral_fail_within(rate_limiter_check(&limiter, config->train_freq, config->minibatch),
                                  "dqn.samples_tolerance");
    }
    if (config->samples_tolerance > 0)
        return corral_fail(CORRAL_ERROR_INVALID,
                           "dqn.samples_tolerance: it bounds dqn.samples_per_insert, which is 0; set both or "
                           "neither");
    return CORRAL_OK;
}

corral_status dqn_check_config(const corral_dqn_config *config, int64_t envs)
{
    const corral_sizes *n = &config->n_step;
    if (config->train_freq % envs != 0)
        return corral_fail(CORRAL_ERROR_INVALID,
                           "dqn.train_freq: %lld steps cannot be shared out evenly among %lld environments; "
                           "make it a multiple of envs",
                           (long long)config->train_freq, (long long)envs);
    if (config->learning_starts > config->buffer_size)
        return corral_fail(CORRAL_ERROR_INVALID,
                           "dqn.learning_starts: a replay of %lld rows never has %lld; raise dqn.buffer_size",
                           (long long)config->buffer_size, (long long)config->learning_starts);
    if (n->count < 1 || n->count > 2 || n->value[0] > n->value[n->count - 1])
        return corral_fail(CORRAL_ERROR_INVALID, "dqn.n_step: needs a number, or [LEAST, MOST]");
    if (config->distribution == CORRAL_WORTH_CATEGORICAL && !(config->value_min < config->value_max))
        return corral_fail(CORRAL_ERROR_INVALID, "dqn.value_min: %g is not below dqn.value_max, which is %g",
                           config->value_min, config->value_max);
    return check_rates(config);
}
