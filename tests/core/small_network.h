// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A PPO update as the learner does it, in small: two networks, lanes of rows, one optimizer.
#ifndef CORRAL_TEST_SMALL_NETWORK_H
#define CORRAL_TEST_SMALL_NETWORK_H

#include "corral/core/init.h"
#include "corral/core/ops.h"
#include "corral/core/optim.h"
#include "test.h"

enum { NET_IN = 4, NET_HIDDEN = 20, NET_ACTIONS = 3, NET_ROWS = 300 };

typedef struct small_network {
    corral_params *params;
    corral_optimizer *optimizer;
    corral_tape *tapes[CORRAL_LANES];
    float observation[NET_ROWS * NET_IN], floats[4][NET_ROWS];
    int32_t action[NET_ROWS];
    corral_ppo_terms terms;
} small_network;

static inline void small_network_layer(corral_params *params, const char *name, size_t out, size_t in)
{
    char full[32];
    uint32_t weight, bias;
    snprintf(full, sizeof full, "%s.weight", name);
    TEST_OK(corral_params_add(params, full, 2, (const size_t[]){out, in}, &weight));
    snprintf(full, sizeof full, "%s.bias", name);
    TEST_OK(corral_params_add(params, full, 1, (const size_t[]){out}, &bias));
}

static inline void small_network_start(small_network *n)
{
    TEST_OK(corral_params_create(CORRAL_F32, &n->params));
    small_network_layer(n->params, "actor.0", NET_HIDDEN, NET_IN);
    small_network_layer(n->params, "actor.1", NET_ACTIONS, NET_HIDDEN);
    small_network_layer(n->params, "critic.0", NET_HIDDEN, NET_IN);
    small_network_layer(n->params, "critic.1", 1, NET_HIDDEN);
    TEST_OK(corral_params_seal(n->params));
    for (uint32_t i = 0; i < 8; i += 2)
        TEST_OK(corral_init_orthogonal(n->params, i, 1.0, i));
    corral_optimizer_config config = corral_optimizer_config_default();
    config.max_grad_norm = 0.05;
    TEST_OK(corral_optimizer_create(&config, n->params, &n->optimizer));
    for (size_t i = 0; i < CORRAL_LANES; i++)
        TEST_OK(corral_tape_create(&n->tapes[i]));
    for (size_t i = 0; i < NET_ROWS * NET_IN; i++)
        n->observation[i] = sinf((float)i * 0.7f);
    for (size_t r = 0; r < NET_ROWS; r++) {
        n->action[r] = (int32_t)(r % NET_ACTIONS);
        n->floats[0][r] = -1.1f;
        n->floats[1][r] = 0.0f;
        n->floats[2][r] = cosf((float)r);
        n->floats[3][r] = sinf((float)r);
    }
}

static inline void small_network_finish(small_network *n)
{
    for (size_t i = 0; i < CORRAL_LANES; i++)
        corral_tape_destroy(n->tapes[i]);
    corral_optimizer_destroy(n->optimizer);
    corral_params_destroy(n->params);
}

static inline corral_tensor *small_network_apply(corral_tensor *x, uint32_t first)
{
    return corral_linear(corral_linear(x, first, first + 1, CORRAL_TANH), first + 2, first + 3,
                         CORRAL_LINEAR);
}

/// One lane: rows first .. first+count-1, into gradient block `lane`.
static inline void small_network_lane(void *context, size_t lane, unsigned thread)
{
    (void)thread;
    small_network *n = context;
    const corral_lane rows = corral_lane_at(NET_ROWS, lane);
    const corral_ppo_terms terms = {.action = n->action + rows.first,
                                    .old_log_prob = n->floats[0] + rows.first,
                                    .old_value = n->floats[1] + rows.first,
                                    .advantage = n->floats[2] + rows.first,
                                    .value_target = n->floats[3] + rows.first,
                                    .clip_range = 0.2f,
                                    .value_coefficient = 0.5f,
                                    .entropy_coefficient = 0.01f,
                                    .total_rows = NET_ROWS};
    corral_tape *tape = n->tapes[lane];
    corral_tape_reset(tape, n->params, corral_optimizer_lane(n->optimizer, lane));
    corral_tensor *x = corral_input(tape, CORRAL_F32, 2, (const size_t[]){rows.count, NET_IN},
                                    n->observation + rows.first * NET_IN);
    corral_tensor *loss = corral_ppo_loss(small_network_apply(x, 0), small_network_apply(x, 4), &terms, NULL);
    CORRAL_ASSERT(corral_backward(loss) == CORRAL_OK);
}

/// One update; `team` may be NULL. Returns the norm.
static inline double small_network_update(small_network *n, corral_team *team)
{
    const size_t lanes = corral_lane_count(NET_ROWS);
    if (team != NULL) {
        corral_team_run(team, lanes, small_network_lane, n);
    } else {
        for (size_t lane = 0; lane < lanes; lane++)
            small_network_lane(n, lane, 0);
    }
    double norm = 0.0;
    TEST_OK(corral_optimizer_step(n->optimizer, lanes, 3e-3, team, &norm));
    return norm;
}

#endif
