// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Acting with a Q-network. With probability epsilon an action is drawn among all alike, else the best one is
/// taken (the lowest of equals). One draw u in [0, 1) serves both: u below epsilon explores, and u / epsilon,
/// which is even in [0, 1) then, says which action.
#include "policy_internal.h"

#include <math.h>

static float largest(const float *q, size_t actions)
{
    float best = q[0];
    for (size_t a = 1; a < actions; a++)
        best = q[a] > best ? q[a] : best;
    return best;
}

/// Replaces some of the best actions in `action`; writes the probabilities with which all were chosen.
static void explore(size_t rows, size_t actions, double epsilon, const float *uniform, int32_t *action,
                    float *out_log_prob)
{
    for (size_t r = 0; r < rows; r++) {
        const int32_t best = action[r];
        const double u = uniform != NULL ? (double)uniform[r] : 1.0;
        if (u < epsilon) {
            const size_t drawn = (size_t)(u / epsilon * (double)actions);
            action[r] = (int32_t)(drawn < actions ? drawn : actions - 1);
        }
        if (out_log_prob == NULL) continue;
        const double share = epsilon / (double)actions;
        out_log_prob[r] = (float)log(action[r] == best ? 1.0 - epsilon + share : share);
    }
}

void policy_act_q(corral_policy *policy, size_t rows, const void *observation, const float *uniform,
                  const corral_policy_output *out)
{
    const size_t actions = policy->config.action_count;
    float *filtered = policy->scratch[0], *hidden = policy->scratch[3];
    corral_policy_filter(policy, rows, observation, filtered);
    policy_run_tower(policy, &policy->trunk, rows, filtered, hidden);
    float *q = out->logits != NULL ? out->logits : filtered; // the observations are done with
    policy_run_tower(policy, &policy->actor, rows, hidden, q);
    if (policy->config.dueling) {
        policy_run_tower(policy, &policy->critic, rows, hidden, policy->scratch[1]);
        corral_dueling_forward(rows, actions, policy->scratch[1], q, q);
    }
    for (size_t r = 0; out->value != NULL && r < rows; r++)
        out->value[r] = largest(q + r * actions, actions);
    if (out->action == NULL) return;
    corral_categorical_mode(rows, actions, q, out->action);
    explore(rows, actions, uniform != NULL ? policy->exploration : 0, uniform, out->action, out->log_prob);
    for (size_t r = 0; out->env_action != NULL && r < rows; r++)
        ((int32_t *)out->env_action)[r] = (int32_t)(out->action[r] + policy->config.action_start);
}
