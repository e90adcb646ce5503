/* SPDX-License-Identifier: Apache-2.0
 * Copyright (c) 2026 The Corral authors
 *
 * An environment with several leaves of every kind, for tests of the host: each observation leaf repeats what
 * the action leaf of the same kind held. No state extension. */
#include "corral/env.h"

#include <math.h>
#include <string.h>

enum { LEAVES = 4 };
static const size_t bytes[LEAVES] = {3 * sizeof(double), sizeof(int32_t), 2 * sizeof(int32_t), 4};

static int32_t reset(void *instance, uint64_t seed, void *observation)
{
    void **leaf = observation;
    for (int k = 0; k < LEAVES; k++)
        memset(leaf[k], 0, bytes[k]);
    *(int32_t *)leaf[1] = 5;
    *(uint64_t *)instance = seed;
    return 0;
}

static int32_t step(void *instance, const void *action, void *observation, corral_env_result *result)
{
    const void *const *from = action;
    void **to = observation;
    (void)instance;
    for (int k = 0; k < LEAVES; k++)
        memcpy(to[k], from[k], bytes[k]);
    result->reward = *(const int32_t *)from[1];
    return 0;
}

static const double low[3] = {-1, -INFINITY, 0}, high[3] = {1, INFINITY, 0.25};
static const int64_t nvec[2] = {3, 4};
static const corral_space leaves[LEAVES] = {
    {.path = "arm/0",
     .kind = CORRAL_SPACE_BOX,
     .dtype = CORRAL_SPACE_F64,
     .dimension_count = 1,
     .shape = {3},
     .low_each = low,
     .high_each = high},
    {.path = "arm/1", .kind = CORRAL_SPACE_DISCRETE, .dtype = CORRAL_SPACE_I32, .n = 3, .start = 5},
    {.path = "grip",
     .kind = CORRAL_SPACE_MULTI_DISCRETE,
     .dtype = CORRAL_SPACE_I32,
     .dimension_count = 1,
     .shape = {2},
     .nvec = nvec},
    {.path = "lamps",
     .kind = CORRAL_SPACE_MULTI_BINARY,
     .dtype = CORRAL_SPACE_U8,
     .dimension_count = 2,
     .shape = {2, 2}},
};
static const corral_env_single single = {sizeof(uint64_t), NULL, NULL, reset, step};
static const corral_env_type types[] = {{.size = sizeof(corral_env_type),
                                         .id = "Leaves-v0",
                                         .summary = "repeats",
                                         .spaces = {leaves, LEAVES, leaves, LEAVES},
                                         .reward_threshold = NAN,
                                         .max_episode_steps = 3,
                                         .single = &single}};
CORRAL_ENV_EXPORT(types, 1);
