// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Acting with a Q-network. With probability epsilon an action is drawn among all that are allowed alike,
/// else the best of them is taken (the lowest of equals). One draw u in [0, 1) serves both: u below epsilon
/// explores, and u / epsilon, which is even in [0, 1) then, says which action.
#include "policy_internal.h"

#include "corral/core/losses.h"

#include <math.h>
#include <string.h>

// --- worths that are distributions ------------------------------------------------------------------------

uint32_t policy_atoms(const corral_policy_config *config)
{
    return config->kind == CORRAL_POLICY_Q && config->worth != CORRAL_WORTH_MEAN ? config->atoms : 1;
}

corral_status policy_check_q(const corral_policy_config *config)
{
    if (config->kind != CORRAL_POLICY_Q && (config->noisy || config->worth != CORRAL_WORTH_MEAN))
        return corral_fail(
            CORRAL_ERROR_INVALID,
            "an actor-critic has no noisy layers and no distributions of worths; Q-networks have");
    if (config->worth == CORRAL_WORTH_MEAN) return CORRAL_OK;
    if (config->atoms < 2 || config->atoms > CORRAL_C51_MOST_ATOMS)
        return corral_fail(CORRAL_ERROR_INVALID,
                           "dqn.atoms: a distribution of %u numbers, 2 to %d are possible", config->atoms,
                           CORRAL_C51_MOST_ATOMS);
    if (config->worth == CORRAL_WORTH_CATEGORICAL && !(config->value_min < config->value_max))
        return corral_fail(CORRAL_ERROR_INVALID, "dqn.value_min: %g is not below dqn.value_max, which is %g",
                           config->value_min, config->value_max);
    return CORRAL_OK;
}

void corral_policy_worths(const corral_policy *policy, size_t rows, const float *output, float *out_worth)
{
    const corral_policy_config *config = &policy->config;
    const corral_c51_support support = {config->action_count, config->atoms, (float)config->value_min,
                                        (float)config->value_max};
    switch (config->worth) {
    case CORRAL_WORTH_MEAN:
        memcpy(out_worth, output, rows * config->action_count * sizeof *out_worth);
        break;
    case CORRAL_WORTH_CATEGORICAL:
        corral_c51_values(rows, &support, output, out_worth);
        break;
    case CORRAL_WORTH_QUANTILE:
        corral_quantile_values(rows, config->action_count, config->atoms, output, out_worth);
        break;
    }
}

// --- acting -----------------------------------------------------------------------------------------------

/// Whether a row may choose an action; without a mask it may choose any.
static bool allows(const uint8_t *mask, size_t action)
{
    return mask == NULL || mask[action] != 0;
}

/// The allowed action of the largest worth, the lowest of equals.
static int32_t best_of(const float *q, const uint8_t *mask, size_t actions)
{
    size_t best = actions;
    for (size_t a = 0; a < actions; a++)
        if (allows(mask, a) && (best == actions || q[a] > q[best])) best = a;
    return (int32_t)(best < actions ? best : 0);
}

void corral_policy_best(size_t rows, size_t actions, const float *worth, const uint8_t *mask,
                        int32_t *out_action)
{
    if (mask == NULL) {
        corral_categorical_mode(rows, actions, worth, out_action);
        return;
    }
    for (size_t r = 0; r < rows; r++)
        out_action[r] = best_of(worth + r * actions, mask + r * actions, actions);
}

static size_t count_allowed(const uint8_t *mask, size_t actions)
{
    if (mask == NULL) return actions;
    size_t count = 0;
    for (size_t a = 0; a < actions; a++)
        count += allows(mask, a);
    return count;
}

/// The number of the allowed action that `drawn` others come before.
static int32_t allowed_at(const uint8_t *mask, size_t drawn)
{
    if (mask == NULL) return (int32_t)drawn;
    size_t a = 0;
    for (; !allows(mask, a) || drawn > 0; a++)
        drawn -= allows(mask, a);
    return (int32_t)a;
}

/// Replaces some of the best actions in `action`; writes the probabilities with which all were chosen.
static void explore(const corral_policy_input *in, size_t actions, double epsilon, int32_t *action,
                    float *out_log_prob)
{
    for (size_t r = 0; r < in->rows; r++) {
        const uint8_t *mask = in->mask != NULL ? in->mask + r * actions : NULL;
        const int32_t best = action[r];
        const size_t allowed = count_allowed(mask, actions);
        const double u = in->noise != NULL ? (double)in->noise[r] : 1.0;
        if (u < epsilon) {
            const size_t drawn = (size_t)(u / epsilon * (double)allowed);
            action[r] = allowed_at(mask, drawn < allowed ? drawn : allowed - 1);
        }
        if (out_log_prob == NULL) continue;
        const double share = epsilon / (double)allowed;
        out_log_prob[r] = (float)log(action[r] == best ? 1.0 - epsilon + share : share);
    }
}

void policy_act_q(corral_policy *policy, const corral_policy_input *in, const corral_policy_output *out)
{
    const size_t actions = policy->config.action_count, rows = in->rows;
    float *hidden = policy->scratch[3];
    float *seen = policy_observe(policy, rows, in->observation);
    policy_run_tower(policy, &policy->trunk, rows, seen, hidden);
    float *q = out->logits != NULL ? out->logits : seen; // the observations are done with
    const bool mean = policy->config.worth == CORRAL_WORTH_MEAN;
    float *head = mean ? q : policy->scratch[2];
    policy_run_tower(policy, &policy->actor, rows, hidden, head);
    if (policy->config.dueling) {
        policy_run_tower(policy, &policy->critic, rows, hidden, policy->scratch[1]);
        corral_dueling_forward(rows, actions, policy_atoms(&policy->config), policy->scratch[1], head, head);
    }
    if (!mean) corral_policy_worths(policy, rows, head, q);
    for (size_t r = 0; out->value != NULL && r < rows; r++) {
        const uint8_t *mask = in->mask != NULL ? in->mask + r * actions : NULL;
        out->value[r] = q[r * actions + (size_t)best_of(q + r * actions, mask, actions)];
    }
    if (out->action == NULL) return;
    corral_policy_best(rows, actions, q, in->mask, out->action);
    explore(in, actions, in->noise != NULL ? policy->exploration : 0, out->action, out->log_prob);
    for (size_t r = 0; out->env_action != NULL && r < rows; r++)
        ((int32_t *)out->env_action)[r] = (int32_t)(out->action[r] + policy->config.action_start);
}
