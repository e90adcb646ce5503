/* SPDX-License-Identifier: Apache-2.0
 * Copyright (c) 2026 The Corral authors
 *
 * An environment in one file: a corridor. You start somewhere in the left half and want to get out by the
 * door at the right end, against the wind. Build it, then train an agent that walks out:
 *
 *     cc -O2 -shared -fPIC -I envs/include examples/walk.c -o walk.so
 *     corral train --algo ppo --env ./walk.so:Walk-v0
 * Copy this file to begin an environment of your own. */
#include <corral/env.h>
enum { LEFT, STAY, RIGHT, ACTIONS };

/* One instance. The host zeroes it, makes many of them and decides when an episode is over by time. */
typedef struct walk {
    const corral_env_host *host;
    corral_env_rng rng; /* the only source of chance */
    double length, wind;
    double position;
} walk;

/* What the agent sees: where it is, from 0 (left wall) to 1 (door). */
static void observe(const walk *w, void *observation)
{
    *(float *)observation = (float)(w->position / w->length);
}

static int32_t walk_init(void *instance, const corral_env_host *host, const double *values)
{
    walk *w = instance;
    w->host = host;
    w->length = (double)(int)values[0]; /* in the order of `params` */
    w->wind = values[1];
    return 0;
}

static int32_t walk_reset(void *instance, uint64_t seed, void *observation)
{
    walk *w = instance;
    w->host->rng_seed(&w->rng, seed);
    w->position = (double)w->host->rng_integer(&w->rng, (int64_t)(w->length / 2));
    observe(w, observation);
    return 0;
}

static int32_t walk_step(void *instance, const void *action, void *observation, corral_env_result *result)
{
    walk *w = instance;
    w->position += *(const int32_t *)action - STAY;
    if (w->host->rng_double(&w->rng) < w->wind) w->position -= 1;
    if (w->position < 0) w->position = 0;
    result->terminated = w->position >= w->length;
    result->reward = result->terminated ? 1 : -0.02; /* hurry */
    observe(w, observation);
    return 0;
}

static const corral_space position = {.path = "",
                                      .kind = CORRAL_SPACE_BOX,
                                      .dtype = CORRAL_SPACE_F32,
                                      .dimension_count = 1,
                                      .shape = {1},
                                      .high = 1};
static const corral_space move = {
    .path = "", .kind = CORRAL_SPACE_DISCRETE, .dtype = CORRAL_SPACE_I32, .n = ACTIONS};

static const corral_env_param params[] = {{"length", 10, 2, 1000, "cells between the wall and the door"},
                                          {"wind", 0.1, 0, 1, "chance of being pushed back in a step"}};
static const corral_env_single functions = {sizeof(walk), walk_init, NULL, walk_reset, walk_step};

static const corral_env_type types[] = {{.size = sizeof(corral_env_type),
                                         .id = "Walk-v0",
                                         .summary = "walk along a corridor to the door, against the wind",
                                         .spaces = {&position, 1, &move, 1},
                                         .params = params,
                                         .param_count = 2,
                                         .max_episode_steps = 100,
                                         .reward_threshold = 0.7,
                                         .single = &functions}};
CORRAL_ENV_EXPORT(types, 1);
