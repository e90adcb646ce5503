// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The learner's part of an iteration: the algorithm's update, and what moves with the policy's version.
#include "trainer.h"

#include "corral/base/clock.h"

static corral_status count_bad_updates(corral_trainer *trainer)
{
    train_state *state = &trainer->state;
    const bool nothing = trainer->batch.usable_count == 0;
    const uint64_t skipped = nothing ? 1 : trainer->skipped;
    state->bad_updates += skipped;
    const bool bad = nothing || (trainer->minibatches == 0 && skipped > 0);
    state->bad_in_a_row = bad ? state->bad_in_a_row + skipped : 0;
    if (state->bad_in_a_row < (uint64_t)trainer->config.max_bad_updates) return CORRAL_OK;
    if (nothing)
        return corral_fail(CORRAL_ERROR_ENVIRONMENT,
                           "%llu updates in a row had nothing to learn from, since every episode failed: %s",
                           (unsigned long long)state->bad_in_a_row, trainer->batch.failure);
    return corral_fail(CORRAL_ERROR_NOT_FINITE,
                       "%llu updates in a row had a loss or gradient that is not finite; lower "
                       "%s.learning_rate or look at the environment's rewards",
                       (unsigned long long)state->bad_in_a_row,
                       corral_algorithm_name(trainer->config.algorithm));
}

corral_status trainer_learn(corral_trainer *trainer)
{
    const int64_t start = corral_now_ns();
    train_state *state = &trainer->state;
    trainer->minibatches = trainer->skipped = 0;
    corral_status status = trainer->algorithm->learn(trainer);
    if (status != CORRAL_OK) return status;
    state->updates += trainer->minibatches;
    state->iteration++;
    state->policy_version++;
    // The statistics change between versions only: all of a version's rows were seen through the same filter.
    corral_policy_filter_update(trainer->policy, trainer->batch.rows, trainer->batch.raw);
    corral_policy_set_version(trainer->policy, state->policy_version);
    status = count_bad_updates(trainer);
    if (status == CORRAL_OK) status = sampler_publish(trainer->sampler, trainer->policy);
    trainer->learn_ns += corral_now_ns() - start;
    return status;
}
