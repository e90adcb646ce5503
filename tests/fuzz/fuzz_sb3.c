// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Agents of Stable-Baselines3: what is accepted acts.
#include "fuzz.h"

#include "corral/policy/import.h"

#include <stdlib.h>

static void act(corral_policy *policy)
{
    const corral_policy_config *config = corral_policy_get_config(policy);
    float *observation = calloc(config->observation_size, sizeof *observation);
    float *logits = calloc(config->action_count, sizeof *logits);
    int32_t action = -1;
    if (observation == NULL || logits == NULL) abort();
    const corral_policy_output out = {.action = &action, .logits = logits};
    if (corral_policy_act(policy, 1, observation, NULL, &out) != CORRAL_OK) abort();
    if (action < 0 || (uint32_t)action >= config->action_count) abort();
    free(observation);
    free(logits);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    corral_policy *policy = NULL;
    if (corral_policy_import_sb3_bytes("fuzz", bytes, size, NULL, &policy) != CORRAL_OK) {
        if (corral_last_error()[0] == '\0' || policy != NULL) abort();
        return 0;
    }
    act(policy);
    corral_policy_destroy(policy);
    return 0;
}
