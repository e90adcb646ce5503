// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What is told of a run.
#include "trainer.h"

#include "corral/base/clock.h"
#include "corral/envs/registry.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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

/// Means over the iteration's episodes, of those that said a number.
static void info_means(const batch *b, const corral_env_type *type, corral_train_report *out)
{
    const corral_env_info *info = corral_env_extension(type, CORRAL_ENV_INFO);
    out->info_count = info != NULL ? info->count : 0;
    out->info_name = info != NULL ? info->name : NULL;
    for (uint32_t i = 0; i < out->info_count; i++) {
        double sum = 0;
        size_t count = 0;
        for (size_t k = 0; k < b->episode_count; k++) {
            if (isnan(b->episodes[k].info[i])) continue;
            sum += b->episodes[k].info[i];
            count++;
        }
        out->info[i] = count > 0 ? sum / (double)count : NAN;
    }
}

void trainer_tell(corral_trainer *trainer, const char *line)
{
    snprintf(trainer->message, sizeof trainer->message, "%s", line);
    if (trainer->folder != NULL) corral_run_folder_log(trainer->folder, line);
}

static void show_message(corral_trainer *trainer, corral_train_report *out)
{
    if (trainer->message[0] == '\0') return;
    memcpy(trainer->shown, trainer->message, sizeof trainer->shown);
    trainer->message[0] = '\0';
    out->message = trainer->shown;
}

void trainer_report(corral_trainer *trainer, corral_train_report *out)
{
    const train_state *state = &trainer->state;
    const double session = (double)(corral_now_ns() - trainer->started_ns) * 1e-9;
    sampler_stats runtime = sampler_get_stats(trainer->sampler);
    *out = (corral_train_report){
        .algorithm = trainer->config.algorithm,
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
        .bad_updates = state->bad_updates,
        .workers = (uint32_t)trainer->config.workers,
        .workers_alive = runtime.workers_alive,
        .workers_started = runtime.workers_started,
        .workers_lost = runtime.workers_lost,
        .fragments_trained = runtime.fragments_trained,
        .fragments_remote = runtime.fragments_remote,
        .policy_lag = trainer->batch.policy_lag,
    };
    out->other_seconds =
        fmax(0.0, session - out->sample_seconds - out->learn_seconds - out->evaluate_seconds);
    memcpy(out->fragments_dropped, runtime.dropped, sizeof out->fragments_dropped);
    window_means(state, out);
    info_means(&trainer->batch, trainer->setup.type, out);
    trainer->algorithm->report(trainer, out);
    show_message(trainer, out);
}
