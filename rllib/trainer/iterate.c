// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// One iteration: collect, learn, publish, evaluate and save when due.
#include "trainer.h"

#include "corral/base/clock.h"
#include "corral/base/file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

// How often the best policy so far is written while a run goes on; at its end it is written anyway.
static const int64_t best_interval_ns = 10 * CORRAL_SECOND;

// --- episodes ---------------------------------------------------------------------------------------------

static corral_status note_episode(corral_trainer *trainer, const batch_episode *episode)
{
    const corral_train_callbacks *callbacks = &trainer->callbacks;
    const corral_train_episode told = {
        .env_steps = trainer->state.env_steps,
        .environment = episode->environment,
        .number = episode->number,
        .episode_return = episode->episode_return,
        .length = episode->length,
        .terminated = episode->terminated,
        .truncated = episode->truncated,
        .info = episode->info,
    };
    if (callbacks->on_episode_end != NULL) callbacks->on_episode_end(callbacks->context, trainer, &told);
    return trainer->folder != NULL ? corral_run_folder_episode(trainer->folder, &told) : CORRAL_OK;
}

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
        status = note_episode(trainer, episode);
    }
    state->failures_total += b->failures;
    return status;
}

// --- collecting -------------------------------------------------------------------------------------------

static corral_status collect(corral_trainer *trainer)
{
    const int64_t start = corral_now_ns();
    const trainer_algorithm *algorithm = trainer->algorithm;
    const corral_fragment *fragments;
    if (algorithm->exploration != NULL) sampler_explore(trainer->sampler, algorithm->exploration(trainer));
    corral_status status = sampler_collect(trainer->sampler, trainer->state.step, &fragments);
    if (status != CORRAL_OK) return status;
    const uint32_t count = sampler_slice_count(trainer->sampler);
    status = batch_gather(&trainer->batch, fragments, count, trainer->policy);
    if (status == CORRAL_OK && algorithm->take != NULL) algorithm->take(trainer, fragments, count);
    live_take(trainer->live, fragments, count);
    recorder_take(trainer->recorder, fragments, count);
    sampler_release(trainer->sampler);
    trainer->state.step += trainer->batch.steps;
    trainer->state.env_steps += trainer->batch.rows;
    if (status == CORRAL_OK) status = note_episodes(trainer);
    trainer->sample_ns += corral_now_ns() - start;
    return status;
}

// --- stopping ---------------------------------------------------------------------------------------------

static bool budget_spent(const corral_trainer *trainer)
{
    return trainer->state.env_steps >= (uint64_t)trainer->config.stop.steps;
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

/// Whether the policy as it is now has been.
static bool is_evaluated(const corral_trainer *trainer)
{
    return trainer->evaluated && trainer->state.eval_step == trainer->state.env_steps;
}

/// A run that a budget ends is evaluated once more, so that its result is known. That is for people: the
/// checkpoint is written before, and a run that goes on from it does not know that it was ever stopped.
static corral_status evaluate_the_last(corral_trainer *trainer)
{
    const bool budget =
        trainer->stop_reason == CORRAL_STOP_STEPS || trainer->stop_reason == CORRAL_STOP_SECONDS;
    if (!budget || is_evaluated(trainer)) return CORRAL_OK;
    corral_status status = trainer_save(trainer);
    if (status == CORRAL_OK) status = trainer_evaluation_settle(trainer); // it may reach the goal
    if (status == CORRAL_OK) decide_stop(trainer);
    if (status != CORRAL_OK || trainer->stop_reason == CORRAL_STOP_RETURN || is_evaluated(trainer))
        return status;
    return trainer_evaluate(trainer);
}

// --- the iteration ----------------------------------------------------------------------------------------

static double progress_of(const corral_trainer *trainer)
{
    const int64_t total =
        trainer->config.schedule_steps > 0 ? trainer->config.schedule_steps : trainer->config.stop.steps;
    return fmin(1.0, (double)trainer->state.env_steps / (double)total);
}

static corral_status iterate(corral_trainer *trainer)
{
    trainer->evaluated = false;
    trainer->progress = progress_of(trainer);
    corral_status status = collect(trainer);
    if (status != CORRAL_OK) return status;
    trainer->stepped = true;
    status = trainer_learn(trainer);
    if (status == CORRAL_OK) status = trainer_evaluate_when_due(trainer);
    if (status == CORRAL_OK) status = save_when_due(trainer);
    if (status == CORRAL_OK) decide_stop(trainer);
    if (status == CORRAL_OK) status = evaluate_the_last(trainer);
    return status;
}

static corral_status step(corral_trainer *trainer, corral_train_report *out_report)
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
    live_report(trainer->live, out_report);
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

corral_status corral_trainer_step(corral_trainer *trainer, corral_train_report *out_report)
{
    corral_status status = step(trainer, out_report);
    const corral_train_callbacks *callbacks = &trainer->callbacks;
    if (callbacks->on_iteration == NULL) return status;
    char *sentence = status != CORRAL_OK ? corral_format("%s", corral_last_error()) : NULL;
    callbacks->on_iteration(callbacks->context, trainer, out_report);
    if (sentence != NULL) status = corral_fail(status, "%s", sentence); // whatever the callback did
    free(sentence);
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
