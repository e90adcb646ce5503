// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// What the host offers to environments: NumPy's generator, the error sentence and the log.
//
// The first sentence of a call wins until it is taken: where several instances of a batch fail in one step,
// the host reports the first of them and needs that one's words.

#include "corral/base/log.h"
#include "corral/base/rng.h"
#include "corral/envs/registry.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

// The plug-in header stands alone, so it has a twin of corral_rng; one is copied into the other.
static_assert(sizeof(corral_env_rng) == sizeof(corral_rng), "the plug-in's generator mirrors corral_rng");
static_assert(offsetof(corral_env_rng, word) == offsetof(corral_rng, state_high), "words come first");
static_assert(offsetof(corral_env_rng, spare) == offsetof(corral_rng, spare), "then the buffered half");
static_assert(offsetof(corral_env_rng, has_spare) == offsetof(corral_rng, has_spare), "then its flag");

static corral_rng take_rng(const corral_env_rng *rng)
{
    corral_rng own;
    memcpy(&own, rng, sizeof own);
    return own;
}

static void put_rng(corral_env_rng *rng, const corral_rng *own)
{
    memcpy(rng, own, sizeof *own);
}

static void host_rng_seed(corral_env_rng *rng, uint64_t seed)
{
    corral_rng own;
    corral_rng_seed(&own, seed);
    put_rng(rng, &own);
}

static double host_rng_double(corral_env_rng *rng)
{
    corral_rng own = take_rng(rng);
    const double value = corral_rng_double(&own);
    put_rng(rng, &own);
    return value;
}

static double host_rng_uniform(corral_env_rng *rng, double low, double high)
{
    corral_rng own = take_rng(rng);
    const double value = corral_rng_uniform(&own, low, high);
    put_rng(rng, &own);
    return value;
}

static int64_t host_rng_integer(corral_env_rng *rng, int64_t count)
{
    if (count <= 1) return 0;
    corral_rng own = take_rng(rng);
    const uint64_t value = corral_rng_integer(&own, (uint64_t)count);
    put_rng(rng, &own);
    return (int64_t)value;
}

static _Thread_local char pending_error[256];
static _Thread_local char taken_error[256];

static void host_error(const char *sentence)
{
    if (pending_error[0] != '\0' || sentence == NULL) return;
    snprintf(pending_error, sizeof pending_error, "%s", sentence);
}

const char *corral_env_host_take_error(void)
{
    memcpy(taken_error, pending_error, sizeof taken_error);
    pending_error[0] = '\0';
    return taken_error;
}

static void host_log(int32_t level, const char *line)
{
    static const corral_log_level levels[] = {
        [CORRAL_ENV_LOG_DEBUG] = CORRAL_LOG_DEBUG,
        [CORRAL_ENV_LOG_INFO] = CORRAL_LOG_INFO,
        [CORRAL_ENV_LOG_WARNING] = CORRAL_LOG_WARNING,
        [CORRAL_ENV_LOG_ERROR] = CORRAL_LOG_ERROR,
    };
    if (line == NULL) return;
    const int32_t last = CORRAL_ENV_LOG_ERROR;
    corral_log(levels[level < 0 ? 0 : level > last ? last : level], "%s", line);
}

const corral_env_host *corral_env_host_default(void)
{
    static const corral_env_host host = {
        .size = sizeof(corral_env_host),
        .abi_minor = CORRAL_ENV_ABI_MINOR,
        .rng_seed = host_rng_seed,
        .rng_double = host_rng_double,
        .rng_uniform = host_rng_uniform,
        .rng_integer = host_rng_integer,
        .error = host_error,
        .log = host_log,
    };
    return &host;
}
