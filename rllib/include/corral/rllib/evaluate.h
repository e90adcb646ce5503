// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Plays whole episodes with a frozen policy. Each environment plays the same number of episodes, so that
/// short ones are not over-represented. Deterministic in (seed, first index), whatever the number of threads.
#ifndef CORRAL_RLLIB_EVALUATE_H
#define CORRAL_RLLIB_EVALUATE_H

#include "corral/base/threads.h"
#include "corral/env.h"
#include "corral/policy/policy.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct corral_evaluation_request {
    const corral_env_type *type;
    const double *param_values; // or NULL
    int64_t max_episode_steps;  // -1: the type's own
    uint64_t seed;
    uint64_t first_index; // of the episodes' environments: another range, other episodes
    uint32_t episodes;
    bool stochastic;
    corral_team *team; // may be NULL
} corral_evaluation_request;

typedef struct corral_evaluation_result {
    uint32_t episodes;
    double mean_return, std_return, min_return, max_return, mean_length; // std: population
    // what the environments said of themselves at the ends (CORRAL_ENV_INFO): means of those that said a
    // number
    double info[CORRAL_ENV_INFO_MOST];
    uint64_t failures; // episodes that the environment failed in; they are not in the means
    char failure[256]; // what the first of them said; "" where none did
} corral_evaluation_result;

CORRAL_MUST_USE corral_status corral_evaluate(const corral_evaluation_request *request,
                                              const corral_policy *policy,
                                              corral_evaluation_result *out_result);

#ifdef __cplusplus
}
#endif
#endif
