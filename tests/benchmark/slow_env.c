/* SPDX-License-Identifier: Apache-2.0
 * Copyright (c) 2026 The Corral authors
 *
 * An environment that takes 8 ms a step, asleep, as one that waits for a simulator or a machine does. */
#include <corral/env.h>

#include <time.h>

typedef struct slow {
    struct timespec nap;
} slow;

static int32_t slow_init(void *instance, const corral_env_host *host, const double *values)
{
    (void)host;
    ((slow *)instance)->nap.tv_nsec = (long)(values[0] * 1e6);
    return 0;
}

static int32_t slow_reset(void *instance, uint64_t seed, void *observation)
{
    (void)instance;
    *(float *)observation = (float)(seed % 16);
    return 0;
}

static int32_t slow_step(void *instance, const void *action, void *observation, corral_env_result *result)
{
    nanosleep(&((slow *)instance)->nap, NULL);
    *(float *)observation = (float)*(const int32_t *)action;
    result->reward = 1;
    return 0;
}

static const corral_space seen = {.path = "",
                                  .kind = CORRAL_SPACE_BOX,
                                  .dtype = CORRAL_SPACE_F32,
                                  .dimension_count = 1,
                                  .shape = {1},
                                  .high = 16};
static const corral_space move = {
    .path = "", .kind = CORRAL_SPACE_DISCRETE, .dtype = CORRAL_SPACE_I32, .n = 2};
static const corral_env_param params[] = {{"nap_ms", 8, 0, 999, "how long a step takes"}};
static const corral_env_single functions = {sizeof(slow), slow_init, NULL, slow_reset, slow_step};
static const corral_env_type types[] = {{.size = sizeof(corral_env_type),
                                         .id = "Slow-v0",
                                         .summary = "takes its time",
                                         .spaces = {&seen, 1, &move, 1},
                                         .params = params,
                                         .param_count = 1,
                                         .max_episode_steps = 200,
                                         .single = &functions}};
CORRAL_ENV_EXPORT(types, 1);
