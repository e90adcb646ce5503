/* SPDX-License-Identifier: Apache-2.0
 * Copyright (c) 2026 The Corral authors
 *
 * An environment in which nothing happens but what its parameters ask for: rewards of any size, and at one
 * step of each instance a nap or the end of the process. */
#include <corral/env.h>

#include <stdlib.h>
#include <time.h>

typedef struct moody {
    double reward, nap_at, nap_seconds, abort_at;
    double steps;
} moody;

static int32_t moody_init(void *instance, const corral_env_host *host, const double *values)
{
    moody *m = instance;
    (void)host;
    m->reward = values[0];
    m->nap_at = values[1];
    m->nap_seconds = values[2];
    m->abort_at = values[3];
    return 0;
}

static int32_t moody_reset(void *instance, uint64_t seed, void *observation)
{
    (void)instance;
    *(float *)observation = (float)(seed % 16);
    return 0;
}

static int32_t moody_step(void *instance, const void *action, void *observation, corral_env_result *result)
{
    moody *m = instance;
    m->steps += 1;
    if (m->steps == m->nap_at) {
        const struct timespec nap = {(time_t)m->nap_seconds,
                                     (long)(1e9 * (m->nap_seconds - (double)(time_t)m->nap_seconds))};
        nanosleep(&nap, NULL);
    }
    if (m->steps == m->abort_at) abort();
    *(float *)observation = (float)*(const int32_t *)action;
    result->reward = m->reward;
    return 0;
}

static const corral_space mood = {.path = "",
                                  .kind = CORRAL_SPACE_BOX,
                                  .dtype = CORRAL_SPACE_F32,
                                  .dimension_count = 1,
                                  .shape = {1},
                                  .high = 16};
static const corral_space move = {
    .path = "", .kind = CORRAL_SPACE_DISCRETE, .dtype = CORRAL_SPACE_I32, .n = 2};

static const corral_env_param params[] = {{"reward", 1, -3.4e38, 3.4e38, "of every step"},
                                          {"nap_at", 0, 0, 1e9, "step of a nap; 0: never"},
                                          {"nap_seconds", 0, 0, 3600, "how long it takes"},
                                          {"abort_at", 0, 0, 1e9, "step that ends the process; 0: never"}};
static const corral_env_single functions = {sizeof(moody), moody_init, NULL, moody_reset, moody_step};

static const corral_env_type types[] = {{.size = sizeof(corral_env_type),
                                         .id = "Moody-v0",
                                         .summary = "does what its parameters ask for",
                                         .spaces = {&mood, 1, &move, 1},
                                         .params = params,
                                         .param_count = 4,
                                         .max_episode_steps = 20,
                                         .single = &functions}};
CORRAL_ENV_EXPORT(types, 1);
