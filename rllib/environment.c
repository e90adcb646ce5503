// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "environment.h"

#include "corral/envs/registry.h"
#include "corral/rllib/config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

corral_status corral_train_config_env(const corral_train_config *config, char out_name[CORRAL_ENV_NAME_SIZE])
{
    const bool isolated = config->isolation == CORRAL_ISOLATION_PROCESS;
    size_t used =
        (size_t)snprintf(out_name, CORRAL_ENV_NAME_SIZE, "%s%s", config->env, isolated ? "+process" : "");
    for (uint32_t i = 0; i < config->wrappers.count && used < CORRAL_ENV_NAME_SIZE; i++)
        used +=
            (size_t)snprintf(out_name + used, CORRAL_ENV_NAME_SIZE - used, "+%s", config->wrappers.word[i]);
    return used < CORRAL_ENV_NAME_SIZE
               ? CORRAL_OK
               : corral_fail(CORRAL_ERROR_INVALID,
                             "wrappers: with all of them the environment's name is too long");
}

static const corral_env_param *find_param(const corral_env_type *type, const char *name, uint32_t *out_index)
{
    for (uint32_t i = 0; i < type->param_count; i++) {
        if (strcmp(type->params[i].name, name) == 0) {
            *out_index = i;
            return &type->params[i];
        }
    }
    return NULL;
}

static corral_status unknown_param(const corral_env_type *type, const char *name)
{
    const char *names[64];
    for (uint32_t i = 0; i < type->param_count; i++)
        names[i] = type->params[i].name;
    const char *near = corral_nearest(name, names, type->param_count);
    if (near != NULL)
        return corral_fail(CORRAL_ERROR_INVALID,
                           "env_params.%s: %s has no such parameter; did you mean \"%s\"?", name, type->id,
                           near);
    return corral_fail(CORRAL_ERROR_INVALID,
                       "env_params.%s: %s has no such parameter; `corral envs %s` lists them", name, type->id,
                       type->id);
}

static corral_status read_params(environment_setup *setup, const corral_pairs *params)
{
    const corral_env_type *type = setup->type;
    if (type->param_count > sizeof setup->values / sizeof setup->values[0])
        return corral_fail(CORRAL_ERROR_UNSUPPORTED, "%s: %u parameters, at most 64 are possible", type->id,
                           type->param_count);
    for (uint32_t i = 0; i < type->param_count; i++)
        setup->values[i] = type->params[i].default_value;
    for (uint32_t i = 0; params != NULL && i < params->count; i++) {
        const char *name = params->pair[i].name, *text = params->pair[i].value;
        uint32_t index = 0;
        const corral_env_param *param = find_param(type, name, &index);
        if (param == NULL) return unknown_param(type, name);
        char *end;
        double value = strtod(text, &end);
        if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0) {
            value = text[0] == 't';
        } else if (end == text || *end != '\0') {
            return corral_fail(CORRAL_ERROR_INVALID, "env_params.%s: \"%s\" is not a number", name, text);
        }
        if (!(value >= param->min && value <= param->max))
            return corral_fail(CORRAL_ERROR_INVALID, "env_params.%s: %s is outside %g to %g", name, text,
                               param->min, param->max);
        setup->values[index] = value;
    }
    return CORRAL_OK;
}

corral_status environment_setup_init(environment_setup *setup, const char *name, const corral_pairs *params)
{
    *setup = (environment_setup){0};
    corral_status status = corral_fail_within(corral_env_find(name, &setup->type), "env");
    if (status == CORRAL_OK) status = read_params(setup, params);
    if (status == CORRAL_OK) status = environment_spaces_init(&setup->spaces, setup->type);
    return status;
}
