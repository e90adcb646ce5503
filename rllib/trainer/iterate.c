// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// One iteration: collect, learn, publish, evaluate and save when due.
#include "trainer.h"

#include "corral/base/clock.h"
#include "corral/rllib/evaluate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// How often the best policy so far is written while a run goes on; at its end it is written anyway.
static const int64_t best_interval_ns = 10 * CORRAL_SECOND;

const char *corral_drop_reason_name(corral_drop_reason reason)
{
    static const char *const names[CORRAL_DROP_REASONS] = {
        [CORRAL_DROP_STALE] = "stale",
        [CORRAL_DROP_LATE] = "late",
        [CORRAL_DROP_WORKER_LOST] = "worker_lost",
        [CORRAL_DROP_NOT_FINITE] = "not_finite",
        [CORRAL_DROP_CORRUPT] = "corrupt",
    };
    return (unsigned)reason < CORRAL_DROP_REASONS ? names[reason] : "unknown";
}

const char *corral_stop_reason_name(corral_stop_reason reason)
{
    static const char *const names[] = {
        [CORRAL_STOP_RUNNING] = "running",
        [CORRAL_STOP_RETURN] = "return",
        [CORRAL_STOP_STEPS] = "steps",
        [CORRAL_STOP_SECONDS] = "seconds",
        [CORRAL_STOP_INTERRUPTED] = "interrupted",
        [CORRAL_STOP_FAILED] = "failed",
    };
    return names[reason];
}

// --- episodes ---------------------------------------------------------------------------------------------

static corral_status note_episodes(corral_trainer *trainer)
{
    train_state *state = &trainer->state;
    const batch *b = &trainer->batch;
    corral_status status = CORRAL_OK;
    for (size_t i = 0; i < b->episode_count && status == CORRAL_OK; i++) {
        const batch_episode *episode = &b->episodes[i];
        state->window_return[state->window_next] = episode->episode_return;
        state->window_length[state->window_next] = episode->length;
        state->window_next = (state->window_next + 1) % STATE_WINDOW;
        if (state->window_count < STATE_WINDOW) state->window_count++;
        state->episodes_total++;
        if (trainer->folder != NULL)
            status = corral_run_folder_episode(trainer->folder, state->env_steps, episode->environment,
                                               episode->number, episode->episode_return, episode->length,
                                               episode->terminated, episode->truncated);
    }
    state->failures_total += b->failures;
    return status;
}

// --- collecting and learning ------------------------------------------------------------------------------

static corral_status collect(corral_trainer *trainer)
{
    const int64_t start = corral_now_ns();
    const corral_fragment *fragments;
    corral_status status = sampler_collect(trainer->sampler, trainer->state.step, &fragments);
    if (status != CORRAL_OK) return status;
    status = batch_gather(&trainer->batch, fragments, sampler_slice_count(trainer->sampler), trainer->policy);
    sampler_release(trainer->sampler);
    trainer->state.step += (uint64_t)trainer->config.ppo.steps;
    trainer->state.env_steps += trainer->batch.rows;
    if (status == CORRAL_OK) status = note_episodes(trainer);
    trainer->sample_ns += corral_now_ns() - start;
    return status;
}

static double progress_of(const corral_trainer *trainer)
{
    const int64_t total =
        trainer->config.schedule_steps > 0 ? trainer->config.schedule_steps : trainer->config.stop.steps;
    const double before = (double)(trainer->state.env_steps - trainer->batch.rows);
    return fmin(1.0, before / (double)total);
}

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

static corral_status learn(corral_trainer *trainer)
{
    const int64_t start = corral_now_ns();
    train_state *state = &trainer->state;
    corral_status status =
        ppo_update(trainer->ppo, &trainer->batch, progress_of(trainer), state->iteration, &trainer->update);
    if (status != CORRAL_OK) return status;
    trainer->explained_known = batch_explained_variance(&trainer->batch, &trainer->explained_variance);
    state->updates += trainer->update.minibatches;
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

// --- evaluating and stopping ------------------------------------------------------------------------------

static bool budget_spent(const corral_trainer *trainer)
{
    return trainer->state.env_steps >= (uint64_t)trainer->config.stop.steps;
}

static bool evaluation_due(const corral_trainer *trainer)
{
    const uint64_t every = (uint64_t)trainer->config.evaluation.every, now = trainer->state.env_steps;
    if (every == 0 || now < (uint64_t)trainer->config.evaluation.start) return false;
    return now / every != (now - trainer->batch.rows) / every;
}

static corral_status evaluate(corral_trainer *trainer)
{
    const int64_t start = corral_now_ns();
    train_state *state = &trainer->state;
    const corral_evaluation_config *config = &trainer->config.evaluation;
    const corral_evaluation_request request = {
        .type = trainer->setup.type,
        .param_values = trainer->setup.values,
        .max_episode_steps = trainer->config.max_episode_steps,
        .seed = (uint64_t)trainer->config.seed,
        .first_index = state->evaluations * (uint64_t)config->episodes, // other episodes each time
        .episodes = (uint32_t)config->episodes,
        .stochastic = config->stochastic,
        .team = trainer->team,
    };
    corral_evaluation_result result;
    corral_status status = corral_evaluate(&request, trainer->policy, &result);
    if (status != CORRAL_OK) return status;
    if (result.episodes == 0)
        return corral_fail(CORRAL_ERROR_ENVIRONMENT, "%s failed in all episodes of an evaluation",
                           trainer->setup.type->id);
    const bool best = state->evaluations == 0 || result.mean_return > state->best_mean;
    state->evaluations++;
    state->eval_step = state->env_steps;
    state->eval_mean = result.mean_return;
    state->eval_std = result.std_return;
    state->eval_length = result.mean_length;
    state->streak = result.mean_return >= trainer->config.stop.target_return ? state->streak + 1 : 0;
    trainer->evaluated = true;
    if (best) {
        state->best_mean = result.mean_return;
        state->best_step = state->env_steps;
        if (trainer->folder != NULL) status = snapshot_take(&trainer->best, trainer);
    }
    trainer->evaluate_ns += corral_now_ns() - start;
    return status;
}

static void decide_stop(corral_trainer *trainer)
{
    const corral_stop_config *stop = &trainer->config.stop;
    const double seconds = (double)(corral_now_ns() - trainer->started_ns) * 1e-9 + trainer->earlier_seconds;
    if (trainer->evaluated && trainer->state.streak >= (uint64_t)stop->evaluations)
        trainer->stop_reason = CORRAL_STOP_RETURN;
    else if (budget_spent(trainer))
        trainer->stop_reason = CORRAL_STOP_STEPS;
    else if (stop->seconds > 0 && seconds >= stop->seconds)
        trainer->stop_reason = CORRAL_STOP_SECONDS;
    else if (atomic_load(&trainer->interrupted))
        trainer->stop_reason = CORRAL_STOP_INTERRUPTED;
}

static corral_status save_when_due(corral_trainer *trainer)
{
    const uint64_t every = (uint64_t)trainer->config.checkpoint.every, now = trainer->state.env_steps;
    corral_status status = CORRAL_OK;
    if (every > 0 && now / every != (now - trainer->batch.rows) / every) status = trainer_save(trainer);
    if (status == CORRAL_OK && trainer->best.filled &&
        corral_now_ns() - trainer->last_best_ns > best_interval_ns)
        status = trainer_save_best(trainer);
    return status;
}

/// A run that a budget ends is evaluated once more, so that its result is known. That is for people: the
/// checkpoint is written before, and a run that goes on from it does not know that it was ever stopped.
static corral_status evaluate_the_last(corral_trainer *trainer)
{
    const bool budget =
        trainer->stop_reason == CORRAL_STOP_STEPS || trainer->stop_reason == CORRAL_STOP_SECONDS;
    if (!budget || trainer->evaluated) return CORRAL_OK;
    corral_status status = trainer_save(trainer);
    if (status == CORRAL_OK) status = evaluate(trainer);
    return status;
}

// --- the iteration ----------------------------------------------------------------------------------------

static void window_means(const train_state *state, corral_train_report *out)
{
    out->episodes = state->window_count;
    if (state->window_count == 0) return;
    double sum = 0, lengths = 0;
    out->return_min = INFINITY;
    out->return_max = -INFINITY;
    for (uint32_t i = 0; i < state->window_count; i++) {
        sum += state->window_return[i];
        lengths += state->window_length[i];
        out->return_min = fmin(out->return_min, state->window_return[i]);
        out->return_max = fmax(out->return_max, state->window_return[i]);
    }
    out->return_mean = sum / state->window_count;
    out->length_mean = lengths / state->window_count;
}

void trainer_report(corral_trainer *trainer, corral_train_report *out)
{
    const train_state *state = &trainer->state;
    const ppo_result *update = &trainer->update;
    const double session = (double)(corral_now_ns() - trainer->started_ns) * 1e-9;
    sampler_stats runtime = sampler_get_stats(trainer->sampler);
    *out = (corral_train_report){
        .iteration = state->iteration,
        .env_steps = state->env_steps,
        .step_budget = (uint64_t)trainer->config.stop.steps,
        .policy_version = state->policy_version,
        .updates = state->updates,
        .seconds = session + trainer->earlier_seconds,
        .session_seconds = session,
        .session_steps = state->env_steps - trainer->session_first_step,
        .sample_seconds = (double)trainer->sample_ns * 1e-9,
        .learn_seconds = (double)trainer->learn_ns * 1e-9,
        .evaluate_seconds = (double)trainer->evaluate_ns * 1e-9,
        .episodes_total = state->episodes_total,
        .failures_total = state->failures_total,
        .evaluated = trainer->evaluated,
        .evaluations = (uint32_t)state->evaluations,
        .eval_mean = state->eval_mean,
        .eval_std = state->eval_std,
        .eval_length = state->eval_length,
        .eval_step = state->eval_step,
        .best_mean = state->best_mean,
        .best_step = state->best_step,
        .policy_loss = update->policy_loss,
        .value_loss = update->value_loss,
        .entropy = update->entropy,
        .approx_kl = update->approx_kl,
        .clip_fraction = update->clip_fraction,
        .explained_variance = trainer->explained_variance,
        .explained_variance_known = trainer->explained_known,
        .grad_norm = update->grad_norm,
        .loss = update->loss,
        .learning_rate = update->learning_rate,
        .clip_range = update->clip_range,
        .entropy_coefficient = update->entropy_coefficient,
        .epochs_done = update->epochs,
        .bad_updates = state->bad_updates,
        .workers = (uint32_t)trainer->config.workers,
        .workers_alive = runtime.workers_alive,
        .workers_started = runtime.workers_started,
        .workers_lost = runtime.workers_lost,
        .fragments_trained = runtime.fragments_trained,
        .fragments_remote = runtime.fragments_remote,
    };
    out->other_seconds =
        fmax(0.0, session - out->sample_seconds - out->learn_seconds - out->evaluate_seconds);
    memcpy(out->fragments_dropped, runtime.dropped, sizeof out->fragments_dropped);
    window_means(state, out);
    if (runtime.message != NULL) {
        snprintf(trainer->message, sizeof trainer->message, "%s", runtime.message);
        out->message = trainer->message;
        if (trainer->folder != NULL) corral_run_folder_log(trainer->folder, runtime.message);
    }
}

static corral_status iterate(corral_trainer *trainer)
{
    trainer->evaluated = false;
    corral_status status = collect(trainer);
    if (status != CORRAL_OK) return status;
    trainer->stepped = true;
    status = learn(trainer);
    if (status == CORRAL_OK && evaluation_due(trainer)) status = evaluate(trainer);
    if (status == CORRAL_OK) status = save_when_due(trainer);
    if (status == CORRAL_OK) decide_stop(trainer);
    if (status == CORRAL_OK) status = evaluate_the_last(trainer);
    return status;
}

corral_status corral_trainer_step(corral_trainer *trainer, corral_train_report *out_report)
{
    corral_status status = iterate(trainer);
    if (status == CORRAL_ERROR_CANCELLED) {
        trainer->stop_reason = CORRAL_STOP_INTERRUPTED;
        status = CORRAL_OK;
    }
    if (status != CORRAL_OK) {
        trainer->stop_reason = CORRAL_STOP_FAILED;
        snprintf(trainer->failure, sizeof trainer->failure, "%s", corral_last_error());
    }
    trainer_report(trainer, out_report);
    if (status == CORRAL_OK && trainer->folder != NULL) {
        status = corral_run_folder_report(trainer->folder, out_report);
        // Should we be killed right now, a run that goes on from this checkpoint finds its curves complete.
        if (status == CORRAL_OK && trainer->saved && trainer->saved_step == trainer->state.env_steps)
            status = corral_run_folder_flush(trainer->folder);
        if (status != CORRAL_OK) trainer->stop_reason = CORRAL_STOP_FAILED;
    } else if (status != CORRAL_OK) {
        status = corral_fail(status, "%s", trainer->failure);
    }
    return status;
}

bool corral_trainer_done(const corral_trainer *trainer)
{
    return trainer->stop_reason != CORRAL_STOP_RUNNING;
}

void corral_trainer_interrupt(corral_trainer *trainer)
{
    atomic_store(&trainer->interrupted, true);
    sampler_interrupt(trainer->sampler);
}
