// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The learner's part of an iteration: rewards, the update, what moves with the policy's version.
#include "trainer.h"

#include "../learner/reward.h"

#include "corral/base/clock.h"

#include <math.h>
#include <stdio.h>

static double progress_of(const corral_trainer *trainer)
{
    const int64_t total =
        trainer->config.schedule_steps > 0 ? trainer->config.schedule_steps : trainer->config.stop.steps;
    const double before = (double)(trainer->state.env_steps - trainer->batch.rows);
    return fmin(1.0, before / (double)total);
}

// --- rewards ----------------------------------------------------------------------------------------------

/// Rewards are scaled by the moments of the version that acted, as observations were filtered. The first
/// version has seen nothing: its own rows are measured first, or they would be learned from at any scale.
/// Writes the moments of the next version.
static void prepare_rewards(corral_trainer *trainer, corral_moments *out_next)
{
    const corral_ppo_config *config = &trainer->config.ppo;
    const corral_moments before = corral_policy_returns(trainer->policy);
    *out_next = before;
    if (config->normalize_reward) reward_measure(&trainer->batch, config->gamma, trainer->returns, out_next);
    const corral_moments *scale = before.count > 0 ? &before : out_next;
    if (config->normalize_reward || config->reward_clip > 0)
        reward_transform(&trainer->batch, config->normalize_reward ? scale : NULL, config->reward_clip);
}

// --- the penalty on the divergence ------------------------------------------------------------------------

/// The coefficient goes on from iteration to iteration, and across a resume; another value of its key starts
/// it anew.
static double current_kl_coefficient(corral_trainer *trainer)
{
    train_state *state = &trainer->state;
    const double key = trainer->config.ppo.kl_coefficient;
    if (state->kl_key != key) state->kl_coefficient = key;
    state->kl_key = key;
    return state->kl_coefficient;
}

static void note_divergence(corral_trainer *trainer)
{
    train_state *state = &trainer->state;
    const ppo_result *update = &trainer->update;
    if (update->minibatches > 0)
        state->kl_coefficient =
            ppo_adapt_kl_coefficient(&trainer->config.ppo, state->kl_coefficient, update->last_kl);
    if (update->infinite_kl == 0) return;
    state->infinite_kl += update->infinite_kl;
    char line[256];
    snprintf(
        line, sizeof line,
        "the divergence of %llu rows from the policy that acted was infinite: an action that was possible "
        "no longer is; ppo.kl_coefficient leaves them out",
        (unsigned long long)update->infinite_kl);
    trainer_tell(trainer, line);
}

// --- the update -------------------------------------------------------------------------------------------

static corral_status count_bad_updates(corral_trainer *trainer)
{
    train_state *state = &trainer->state;
    state->bad_updates += trainer->update.skipped;
    state->bad_in_a_row = trainer->update.minibatches > 0 ? 0 : state->bad_in_a_row + trainer->update.skipped;
    if (state->bad_in_a_row < (uint64_t)trainer->config.max_bad_updates) return CORRAL_OK;
    return corral_fail(CORRAL_ERROR_NOT_FINITE,
                       "%llu updates in a row had a loss or gradient that is not finite; lower "
                       "ppo.learning_rate or look at the environment's rewards",
                       (unsigned long long)state->bad_in_a_row);
}

corral_status trainer_learn(corral_trainer *trainer)
{
    const int64_t start = corral_now_ns();
    train_state *state = &trainer->state;
    corral_moments returns;
    prepare_rewards(trainer, &returns);
    const ppo_moment now = {.progress = progress_of(trainer),
                            .update = state->iteration,
                            .kl_coefficient = current_kl_coefficient(trainer)};
    corral_status status = ppo_update(trainer->ppo, &trainer->batch, &now, &trainer->update);
    if (status != CORRAL_OK) return status;
    note_divergence(trainer);
    trainer->explained_known = batch_explained_variance(&trainer->batch, &trainer->explained_variance);
    state->updates += trainer->update.minibatches;
    state->iteration++;
    state->policy_version++;
    // The statistics change between versions only: all of a version's rows were seen through the same filter.
    corral_policy_filter_update(trainer->policy, trainer->batch.rows, trainer->batch.raw);
    corral_policy_set_returns(trainer->policy, returns);
    corral_policy_set_version(trainer->policy, state->policy_version);
    status = count_bad_updates(trainer);
    if (status == CORRAL_OK) status = sampler_publish(trainer->sampler, trainer->policy);
    trainer->learn_ns += corral_now_ns() - start;
    return status;
}
