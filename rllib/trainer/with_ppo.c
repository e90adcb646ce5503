// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A run of PPO: what its update is told, and what moves from one iteration to the next.
#include "trainer.h"

#include "../learner/reward.h"

#include <stdio.h>
#include <stdlib.h>

static corral_status create(corral_trainer *trainer)
{
    const corral_train_config *config = &trainer->config;
    corral_status status = config->ppo.kl_coefficient > 0 ? batch_keep_log_probs(&trainer->batch) : CORRAL_OK;
    if (status == CORRAL_OK && config->ppo.normalize_reward) {
        trainer->returns = calloc((size_t)config->envs, sizeof *trainer->returns);
        if (trainer->returns == NULL)
            status = corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for the returns of %lld environments",
                                 (long long)config->envs);
    }
    const corral_policy_config *policy = corral_policy_get_config(trainer->policy);
    if (status == CORRAL_OK && policy->memory != CORRAL_MEMORY_NONE)
        status = batch_keep_memory(&trainer->batch, trainer->rollout.sequence, policy);
    if (status != CORRAL_OK) return status;
    status = ppo_create(&config->ppo, (uint64_t)config->seed, trainer->policy, trainer->team, &trainer->ppo);
    if (status != CORRAL_OK || trainer->device == NULL) return status;
    const ppo_placement placement = {.device = trainer->device,
                                     .precision = (corral_precision)config->precision,
                                     .envs = (size_t)config->envs,
                                     .steps = trainer->rollout.steps};
    return ppo_place(trainer->ppo, &placement);
}

static void destroy(corral_trainer *trainer)
{
    ppo_destroy(trainer->ppo);
    free(trainer->returns);
}

static corral_optimizer *optimizer(const corral_trainer *trainer)
{
    return ppo_optimizer(trainer->ppo);
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

static corral_status learn(corral_trainer *trainer)
{
    corral_moments returns;
    prepare_rewards(trainer, &returns);
    const ppo_moment now = {.progress = trainer->progress,
                            .update = trainer->state.iteration,
                            .kl_coefficient = current_kl_coefficient(trainer)};
    corral_status status = ppo_update(trainer->ppo, &trainer->batch, &now, &trainer->update);
    if (status != CORRAL_OK) return status;
    note_divergence(trainer);
    trainer->explained_known = batch_explained_variance(&trainer->batch, &trainer->explained_variance);
    corral_policy_set_returns(trainer->policy, returns);
    trainer->minibatches = trainer->update.minibatches;
    trainer->skipped = trainer->update.skipped;
    return CORRAL_OK;
}

static void report(const corral_trainer *trainer, corral_train_report *out)
{
    const ppo_result *update = &trainer->update;
    out->policy_loss = update->policy_loss;
    out->value_loss = update->value_loss;
    out->entropy = update->entropy;
    out->approx_kl = update->approx_kl;
    out->clip_fraction = update->clip_fraction;
    out->explained_variance = trainer->explained_variance;
    out->explained_variance_known = trainer->explained_known;
    out->grad_norm = update->grad_norm;
    out->loss = update->loss;
    out->learning_rate = update->learning_rate;
    out->clip_range = update->clip_range;
    out->entropy_coefficient = update->entropy_coefficient;
    out->kl_penalised = trainer->config.ppo.kl_coefficient > 0;
    out->kl = update->kl;
    out->kl_coefficient = update->kl_coefficient;
    out->infinite_kl = trainer->state.infinite_kl;
    out->epochs_done = update->epochs;
}

const trainer_algorithm trainer_with_ppo = {
    .policy = CORRAL_POLICY_ACTOR_CRITIC,
    .create = create,
    .destroy = destroy,
    .learn = learn,
    .optimizer = optimizer,
    .report = report,
};
