// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Evaluations of a run, between iterations or beside them.
///
/// Beside them (evaluation.workers), a copy of the policy plays on threads of its own while training goes on.
/// When its result counts is a number of iterations, evaluation.lag, and never a matter of time: training
/// waits for a result that is late, and one that is early waits for its iteration. Another evaluation that
/// becomes due, or the end of the run, makes it count at once, so there is never more than one. A run that
/// stops at a return therefore does so evaluation.lag iterations later than one that evaluates in between,
/// and always at the same one.
///
/// A checkpoint that is written meanwhile waits for the result and holds it with the iteration at which it
/// counts; so a run that goes on from there equals one that never stopped.
#include "trainer.h"

#include "corral/base/clock.h"
#include "corral/base/file.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct beside {
    pthread_t thread;
    bool running; // until it has been waited for
    unsigned workers;
    corral_policy *policy;
    corral_evaluation_request request;
    corral_evaluation_result result;
    corral_status status;
    char error[512];
    snapshot at; // the run when it began: what is kept should the policy turn out the best
};

static corral_evaluation_request request_of(const corral_trainer *trainer)
{
    const corral_evaluation_config *config = &trainer->config.evaluation;
    return (corral_evaluation_request){
        .type = trainer->setup.type,
        .param_values = trainer->setup.values,
        .max_episode_steps = trainer->config.max_episode_steps,
        .seed = (uint64_t)trainer->config.seed,
        .first_index = trainer->state.evaluations * (uint64_t)config->episodes, // other episodes each time
        .episodes = (uint32_t)config->episodes,
        .stochastic = config->stochastic,
        .team = trainer->team,
    };
}

static void tell_start(corral_trainer *trainer)
{
    const corral_train_callbacks *callbacks = &trainer->callbacks;
    if (callbacks->on_evaluate_start != NULL) callbacks->on_evaluate_start(callbacks->context, trainer);
}

static corral_status tell_end(corral_trainer *trainer, const corral_evaluation_result *result)
{
    const corral_train_callbacks *callbacks = &trainer->callbacks;
    if (callbacks->on_evaluate_end != NULL) callbacks->on_evaluate_end(callbacks->context, trainer, result);
    if (result->episodes > 0) return CORRAL_OK;
    return corral_fail(CORRAL_ERROR_ENVIRONMENT,
                       "the environment failed in all episodes of an evaluation: %s", result->failure);
}

static bool is_best(const train_state *state, double mean)
{
    return state->evaluations == 0 || mean > state->best_mean;
}

/// From now on the result of the policy of `step` counts. True where it is the best so far.
static bool count_result(corral_trainer *trainer, uint64_t step, double mean, double std, double length)
{
    train_state *state = &trainer->state;
    const bool best = is_best(state, mean);
    state->evaluations++;
    state->eval_step = step;
    state->eval_mean = mean;
    state->eval_std = std;
    state->eval_length = length;
    state->streak = mean >= trainer->config.stop.target_return ? state->streak + 1 : 0;
    trainer->evaluated = true;
    if (best) {
        state->best_mean = mean;
        state->best_step = step;
    }
    return best;
}

corral_status trainer_evaluate(corral_trainer *trainer)
{
    const int64_t start = corral_now_ns();
    const corral_evaluation_request request = request_of(trainer);
    tell_start(trainer);
    corral_evaluation_result result;
    corral_status status = corral_evaluate(&request, trainer->policy, &result);
    if (status == CORRAL_OK) status = tell_end(trainer, &result);
    if (status != CORRAL_OK) return status;
    const bool best = count_result(trainer, trainer->state.env_steps, result.mean_return, result.std_return,
                                   result.mean_length);
    if (best && trainer->folder != NULL) status = snapshot_take(&trainer->best, trainer);
    trainer->evaluate_ns += corral_now_ns() - start;
    return status;
}

// --- beside training --------------------------------------------------------------------------------------

static corral_status create_beside(corral_trainer *trainer)
{
    if (trainer->beside != NULL) return CORRAL_OK;
    trainer->beside = calloc(1, sizeof *trainer->beside);
    return trainer->beside != NULL ? CORRAL_OK : corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory to evaluate");
}

static void *play(void *context)
{
    struct beside *b = context;
    corral_team *team = NULL; // belongs to the thread that makes it
    b->status = corral_team_create(b->workers, &team);
    b->request.team = team;
    if (b->status == CORRAL_OK) b->status = corral_evaluate(&b->request, b->policy, &b->result);
    if (b->status != CORRAL_OK) snprintf(b->error, sizeof b->error, "%s", corral_last_error());
    corral_team_destroy(team);
    return NULL;
}

static corral_status begin(corral_trainer *trainer)
{
    corral_status status = create_beside(trainer);
    if (status != CORRAL_OK) return status;
    struct beside *b = trainer->beside;
    train_state *state = &trainer->state;
    b->request = request_of(trainer);
    b->workers = (unsigned)trainer->config.evaluation.workers;
    b->result = (corral_evaluation_result){0};
    corral_policy_destroy(b->policy);
    b->policy = NULL;
    status = corral_policy_clone(trainer->policy, &b->policy);
    state->pending_iteration = state->iteration + (uint64_t)trainer->config.evaluation.lag;
    state->pending_step = state->env_steps;
    if (status == CORRAL_OK && trainer->folder != NULL) status = snapshot_take(&b->at, trainer);
    tell_start(trainer);
    if (status == CORRAL_OK)
        status = corral_fail_within(corral_thread_start(&b->thread, play, b), "evaluation.workers");
    b->running = status == CORRAL_OK;
    return status;
}

corral_status trainer_evaluation_wait(corral_trainer *trainer)
{
    struct beside *b = trainer->beside;
    if (b == NULL || !b->running) return CORRAL_OK;
    const int64_t start = corral_now_ns();
    pthread_join(b->thread, NULL);
    b->running = false;
    trainer->evaluate_ns += corral_now_ns() - start;
    corral_status status =
        b->status == CORRAL_OK ? tell_end(trainer, &b->result) : corral_fail(b->status, "%s", b->error);
    train_state *state = &trainer->state;
    if (status != CORRAL_OK) state->pending_iteration = 0;
    state->pending_mean = b->result.mean_return;
    state->pending_std = b->result.std_return;
    state->pending_length = b->result.mean_length;
    if (status != CORRAL_OK || !is_best(state, b->result.mean_return) || !b->at.filled) return status;
    // The checkpoint of the best knows its own result, which it goes on from.
    b->at.state.pending_mean = state->pending_mean;
    b->at.state.pending_std = state->pending_std;
    b->at.state.pending_length = state->pending_length;
    const snapshot old = trainer->best;
    trainer->best = b->at;
    b->at = old;
    b->at.filled = false;
    return CORRAL_OK;
}

corral_status trainer_evaluation_settle(corral_trainer *trainer)
{
    train_state *state = &trainer->state;
    if (state->pending_iteration == 0) return CORRAL_OK;
    const corral_status status = trainer_evaluation_wait(trainer);
    if (status != CORRAL_OK) return status;
    count_result(trainer, state->pending_step, state->pending_mean, state->pending_std,
                 state->pending_length);
    state->pending_iteration = state->pending_step = 0;
    state->pending_mean = state->pending_std = state->pending_length = 0;
    return CORRAL_OK;
}

static bool is_due(const corral_trainer *trainer)
{
    const uint64_t every = (uint64_t)trainer->config.evaluation.every, now = trainer->state.env_steps;
    if (every == 0 || now < (uint64_t)trainer->config.evaluation.start) return false;
    return now / every != (now - trainer->batch.rows) / every;
}

corral_status trainer_evaluate_when_due(corral_trainer *trainer)
{
    const bool due = is_due(trainer);
    corral_status status = CORRAL_OK;
    if (due || trainer->state.iteration >= trainer->state.pending_iteration)
        status = trainer_evaluation_settle(trainer);
    if (status != CORRAL_OK || !due) return status;
    return trainer->config.evaluation.workers > 0 ? begin(trainer) : trainer_evaluate(trainer);
}

void trainer_evaluation_finish(corral_trainer *trainer)
{
    struct beside *b = trainer->beside;
    if (b == NULL) return;
    if (b->running) pthread_join(b->thread, NULL);
    corral_policy_destroy(b->policy);
    snapshot_finish(&b->at);
    free(b);
    trainer->beside = NULL;
}
