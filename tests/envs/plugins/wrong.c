/* SPDX-License-Identifier: Apache-2.0
 * Copyright (c) 2026 The Corral authors
 *
 * One environment library that is built many times, each time with one thing wrong: CMakeLists.txt replaces
 * one of the values below by -D. As it stands here, it is right. */
#include "corral/env.h"

#include <string.h>

#ifndef ABI
#define ABI CORRAL_ENV_ABI_MAJOR
#endif
#ifndef SYMBOL
#define SYMBOL corral_env_plugin
#endif
#ifndef TYPE_COUNT
#define TYPE_COUNT 2
#endif
#ifndef TYPE_SIZE
#define TYPE_SIZE sizeof(corral_env_type)
#endif
#ifndef SECOND_ID
#define SECOND_ID "Other-v0"
#endif
#ifndef SINGLE
#define SINGLE &single
#endif
#ifndef BATCH
#define BATCH NULL
#endif
#ifndef STEP
#define STEP step
#endif
#ifndef INSTANCE_SIZE
#define INSTANCE_SIZE 8
#endif
#ifndef ACTION
#define ACTION &action
#endif
#ifndef ACTION_DTYPE
#define ACTION_DTYPE CORRAL_SPACE_I32
#endif
#ifndef LOW
#define LOW 0
#endif
#ifndef GRAVITY
#define GRAVITY 9.8
#endif
#ifndef LOAD
#define LOAD load
#endif

static int32_t init(void *instance, const corral_env_host *host, const double *values)
{
    (void)instance, (void)host, (void)values;
#ifdef CALLED
    int32_t CALLED(void);
    return CALLED();
#else
    return 0;
#endif
}

static int32_t reset(void *instance, uint64_t seed, void *observation)
{
    memset(instance, 0, 8);
    *(float *)observation = (float)(seed % 2);
    return 0;
}

static int32_t step(void *instance, const void *action, void *observation, corral_env_result *result)
{
    uint64_t *steps = instance;
    *steps += 1;
    *(float *)observation = (float)*(const int32_t *)action;
    result->reward = 1;
    result->terminated = *steps == 10;
    return 0;
}

static void save(const void *instance, uint32_t index, void *out_state)
{
    (void)index;
    memcpy(out_state, instance, 8);
}

static int32_t load(void *instance, uint32_t index, const void *state)
{
    (void)index;
    memcpy(instance, state, 8);
    return 0;
}

#ifndef INFO_NAME
#define INFO_NAME "height"
#endif

static void info(const void *batch, uint32_t index, double *out_values)
{
    (void)batch;
    (void)index;
    out_values[0] = 1;
}

static const void *extension(const char *name)
{
    static const char *const info_names[] = {INFO_NAME};
    static const corral_env_info numbers = {sizeof(corral_env_info), 1, info_names, info};
    if (strcmp(name, CORRAL_ENV_INFO) == 0) return &numbers;
    static const corral_env_state state = {sizeof(corral_env_state), 8, save, LOAD};
    return strcmp(name, CORRAL_ENV_STATE) == 0 ? &state : NULL;
}

static const corral_env_single single = {INSTANCE_SIZE, init, NULL, reset, STEP};
static const corral_env_batch_functions batch = {NULL, NULL, NULL, NULL};
static const corral_space observation = {.path = "",
                                         .kind = CORRAL_SPACE_BOX,
                                         .dtype = CORRAL_SPACE_F32,
                                         .dimension_count = 1,
                                         .shape = {1},
                                         .low = LOW,
                                         .high = 1};
static const corral_space action = {.path = "", .kind = CORRAL_SPACE_DISCRETE, .dtype = ACTION_DTYPE, .n = 2};
static const corral_env_param params[] = {{"gravity", GRAVITY, 0, 10, "metres per second squared"}};

#define TYPE(name)                                                                                           \
    {                                                                                                        \
        .size = TYPE_SIZE, .id = (name), .summary = "for tests", .spaces = {&observation, 1, ACTION, 1},     \
        .params = params, .param_count = 1, .single = SINGLE, .batch = BATCH, .extension = extension         \
    }
static const corral_env_type types[] = {TYPE("Right-v0"), TYPE(SECOND_ID)};

CORRAL_ENV_PUBLIC extern const corral_env_plugin_descriptor SYMBOL;
const corral_env_plugin_descriptor SYMBOL = {ABI, 0, sizeof(corral_env_plugin_descriptor), TYPE_COUNT, types};
