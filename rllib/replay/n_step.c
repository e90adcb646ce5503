// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "n_step.h"

#include <stdlib.h>
#include <string.h>

size_t n_step_bytes(uint32_t envs, uint32_t n, uint32_t observation_size)
{
    const size_t step = (size_t)observation_size * sizeof(float) + sizeof(int32_t) + sizeof(float);
    return envs * (n * step + observation_size * sizeof(float) + sizeof(uint32_t));
}

corral_status n_step_init(n_step *s, uint32_t envs, uint32_t n, uint32_t observation_size, double gamma)
{
    const size_t steps = (size_t)envs * n;
    *s = (n_step){.envs = envs, .n = n, .observation_size = observation_size, .gamma = gamma};
    s->count = calloc(envs, sizeof *s->count);
    s->observation = calloc(steps * observation_size, sizeof *s->observation);
    s->action = calloc(steps, sizeof *s->action);
    s->reward = calloc(steps, sizeof *s->reward);
    s->next = calloc((size_t)envs * observation_size, sizeof *s->next);
    if (s->count != NULL && s->observation != NULL && s->action != NULL && s->reward != NULL &&
        s->next != NULL)
        return CORRAL_OK;
    n_step_finish(s);
    return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for %u steps of %u environments", n, envs);
}

void n_step_finish(n_step *s)
{
    free(s->count);
    free(s->observation);
    free(s->action);
    free(s->reward);
    free(s->next);
    *s = (n_step){0};
}

void n_step_forget(n_step *s, uint32_t environment)
{
    s->count[environment] = 0;
}

/// Hands out the transition from waiting step `first` to the newest one.
static void emit_from(const n_step *s, uint32_t environment, uint32_t first, const replay_step *newest,
                      void (*emit)(void *context, const replay_transition *transition), void *context)
{
    const size_t base = (size_t)environment * s->n;
    double reward = 0, discount = 1;
    for (uint32_t i = first; i < s->count[environment]; i++) {
        reward += discount * (double)s->reward[base + i];
        discount *= s->gamma;
    }
    const replay_transition transition = {
        .observation = s->observation + (base + first) * s->observation_size,
        .next = newest->next,
        .action = s->action[base + first],
        .reward = (float)reward,
        .discount = newest->terminated ? 0.0f : (float)discount,
    };
    emit(context, &transition);
}

static void drop_oldest(n_step *s, uint32_t environment)
{
    const size_t base = (size_t)environment * s->n, size = s->observation_size;
    const size_t rest = --s->count[environment];
    memmove(s->observation + base * size, s->observation + (base + 1) * size,
            rest * size * sizeof *s->observation);
    memmove(s->action + base, s->action + base + 1, rest * sizeof *s->action);
    memmove(s->reward + base, s->reward + base + 1, rest * sizeof *s->reward);
}

void n_step_push(n_step *s, uint32_t environment, const replay_step *step,
                 void (*emit)(void *context, const replay_transition *transition), void *context)
{
    CORRAL_ASSERT(environment < s->envs);
    const size_t base = (size_t)environment * s->n, size = s->observation_size * sizeof(float);
    float *next = s->next + (size_t)environment * s->observation_size;
    uint32_t *count = &s->count[environment];
    // An environment that could not save its state began anew somewhere else.
    if (*count > 0 && memcmp(next, step->observation, size) != 0) *count = 0;
    memcpy(s->observation + (base + *count) * s->observation_size, step->observation, size);
    s->action[base + *count] = step->action;
    s->reward[base + *count] = step->reward;
    memcpy(next, step->next, size);
    (*count)++;
    if (step->terminated || step->truncated) {
        for (uint32_t first = 0; first < *count; first++)
            emit_from(s, environment, first, step, emit, context);
        *count = 0;
    } else if (*count == s->n) {
        emit_from(s, environment, 0, step, emit, context);
        drop_oldest(s, environment);
    }
}
