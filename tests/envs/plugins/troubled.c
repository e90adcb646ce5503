/* SPDX-License-Identifier: Apache-2.0
 * Copyright (c) 2026 The Corral authors
 *
 * Environments that fail on demand, for tests of the host. The action says what goes wrong in this step:
 * 0 nothing, 1 an error, 2 a NaN observation, 3 an infinite reward, 4 an error without a word, 5 an end of
 * the episode, 6 cut off by the environment itself. The observation is {seed's low 16 bits, steps in this
 * episode}. Reset fails for an odd seed where the parameter `odd_seeds_fail` is 1, always where it is 2. */
#include "corral/env.h"

#include <math.h>
#include <string.h>

typedef struct trouble {
    const corral_env_host *host;
    double odd_seeds_fail;
    float seed, steps;
} trouble;

static void observe(const trouble *t, float *observation)
{
    observation[0] = t->seed;
    observation[1] = t->steps;
}

static int32_t fail(const corral_env_host *host, const char *sentence)
{
    host->error(sentence);
    return 1;
}

static int32_t init_one(void *instance, const corral_env_host *host, const double *values)
{
    trouble *t = instance;
    if (values[1] != 0) return fail(host, "asked not to be created");
    t->host = host;
    t->odd_seeds_fail = values[0];
    return 0;
}

static int32_t reset_one(void *instance, uint64_t seed, void *observation)
{
    trouble *t = instance;
    t->seed = (float)(seed & 0xffff);
    t->steps = 0;
    observe(t, observation);
    if (t->odd_seeds_fail == 2 || (t->odd_seeds_fail == 1 && seed % 2 == 1)) return fail(t->host, "odd seed");
    return 0;
}

static int32_t step_one(void *instance, const void *action, void *observation, corral_env_result *result)
{
    trouble *t = instance;
    const int32_t what = *(const int32_t *)action;
    t->steps += 1;
    observe(t, observation);
    result->reward = 0.5;
    if (what == 1) return fail(t->host, "the motor burnt out");
    if (what == 2) ((float *)observation)[1] = NAN;
    if (what == 3) result->reward = INFINITY;
    if (what == 4) return -7;
    result->terminated = what == 5 ? 255 : 0; /* any non-zero value will do */
    result->truncated = what == 6;
    return 0;
}

/* The same as a batch of at most eight. There an error of instance 0 fails the whole step. */
typedef struct troubles {
    uint32_t count;
    trouble each[8];
} troubles;

static troubles pool[16]; /* the tests use one thread; a real environment has no globals */
static int pool_used;

static int32_t create_many(const corral_env_host *host, uint32_t count, const double *values,
                           void **out_batch)
{
    troubles *all = &pool[pool_used];
    if (count > 8 || pool_used == 16) return fail(host, "too many");
    pool_used++;
    all->count = count;
    for (uint32_t i = 0; i < count; i++)
        if (init_one(&all->each[i], host, values) != 0) return 1;
    *out_batch = all;
    return 0;
}

static void destroy_many(void *batch)
{
    memset(batch, 0, sizeof(troubles));
}

static int32_t reset_many(void *batch, const uint8_t *mask, const uint64_t *seed, const corral_env_step *out)
{
    troubles *all = batch;
    for (uint32_t i = 0; i < all->count; i++) {
        char *row = (char *)out->observation->data + i * out->observation->stride;
        if ((mask == NULL || mask[i]) && reset_one(&all->each[i], seed[i], row) != 0) out->failed[i] = 1;
    }
    return 0;
}

static int32_t step_many(void *batch, const corral_env_step *io)
{
    troubles *all = batch;
    for (uint32_t i = 0; i < all->count; i++) {
        corral_env_result result = {0, 0, 0};
        const int32_t code = step_one(&all->each[i], (const char *)io->action->data + i * io->action->stride,
                                      (char *)io->observation->data + i * io->observation->stride, &result);
        if (code != 0 && i == 0) return code;
        io->failed[i] = code != 0;
        io->reward[i] = result.reward;
        io->terminated[i] = result.terminated;
        io->truncated[i] = result.truncated;
    }
    return 0;
}

static const corral_space observation = {.path = "",
                                         .kind = CORRAL_SPACE_BOX,
                                         .dtype = CORRAL_SPACE_F32,
                                         .dimension_count = 1,
                                         .shape = {2},
                                         .low = 0,
                                         .high = 65536};
static const corral_space action = {
    .path = "", .kind = CORRAL_SPACE_DISCRETE, .dtype = CORRAL_SPACE_I32, .n = 7};
static const corral_env_param params[] = {
    {"odd_seeds_fail", 0, 0, 2, "1: reset fails for odd seeds; 2: for all"},
    {"refuse", 0, 0, 1, "1: cannot be created"}};
static const corral_env_single one = {sizeof(trouble), init_one, NULL, reset_one, step_one};
static const corral_env_batch_functions many = {create_many, destroy_many, reset_many, step_many};

#define TROUBLE(name, single_or_null, batch_or_null)                                                         \
    {                                                                                                        \
        .size = sizeof(corral_env_type), .id = (name), .summary = "fails on demand",                         \
        .spaces = {&observation, 1, &action, 1}, .params = params, .param_count = 2,                         \
        .reward_threshold = NAN, .single = (single_or_null), .batch = (batch_or_null)                        \
    }
static const corral_env_type types[] = {TROUBLE("TroubledOne-v0", &one, NULL),
                                        TROUBLE("TroubledMany-v0", NULL, &many)};
CORRAL_ENV_EXPORT(types, 2);
