// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "exhibit.h"

#include "environment.h"

#include "corral/envs/registry.h"

#include <stdio.h>
#include <string.h>

static corral_status open_player(exhibit *e, const corral_env_type *type, const double *values, int64_t limit,
                                 const exhibit_options *options)
{
    const player_config config = {
        .type = type,
        .param_values = values,
        .max_episode_steps = limit,
        .policy = e->subject.policy,
        .seed = options->seed,
        .first_episode = options->first_episode,
        .stochastic = options->stochastic,
    };
    return player_create(&config, &e->player);
}

static corral_status open_environment(exhibit *e, const exhibit_options *options)
{
    const corral_env_type *type;
    const corral_status status = corral_env_find(options->env, &type);
    if (status != CORRAL_OK) return status;
    snprintf(e->title, sizeof e->title, "%s", type->summary);
    return open_player(e, type, NULL, -1, options);
}

corral_status exhibit_open(exhibit *e, const char *path, const exhibit_options *options)
{
    *e = (exhibit){0};
    if (path == NULL) return open_environment(e, options);
    corral_status status = subject_open(&e->subject, path);
    if (status != CORRAL_OK) return status;
    if (options->env != NULL) e->subject.params.count = 0;
    environment_setup setup;
    status = environment_setup_init(&setup, options->env != NULL ? options->env : e->subject.env,
                                    &e->subject.params);
    if (status != CORRAL_OK) return status;
    snprintf(e->title, sizeof e->title, "%s, policy version %llu", e->subject.checkpoint,
             (unsigned long long)corral_policy_version(e->subject.policy));
    return open_player(e, setup.type, setup.values, options->env != NULL ? -1 : e->subject.max_episode_steps,
                       options);
}

void exhibit_close(exhibit *e)
{
    player_destroy(e->player);
    e->player = NULL;
    subject_close(&e->subject);
}
