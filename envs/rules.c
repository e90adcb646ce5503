// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "rules.h"

#include "corral/envs/registry.h"

#include <stdbool.h>

/// Types of plug-ins that were built for version 1.0 end before these members.
static bool is_made_at_run_time(const corral_env_type *type)
{
    return type->size >= sizeof *type && type->create_for != NULL;
}

const void *corral_env_extension(const corral_env_type *type, const char *name)
{
    if (type->size >= sizeof *type && type->extension_for != NULL) return type->extension_for(type, name);
    return type->extension != NULL ? type->extension(name) : NULL;
}

int32_t corral_rules_create(corral_rules *rules, const corral_env_type *type, const corral_env_host *host,
                            uint32_t count, const double *values)
{
    *rules = (corral_rules){.type = type, .count = count};
    int32_t result;
    if (type->single != NULL)
        result = corral_single_create(type, host, count, values, &rules->single);
    else if (is_made_at_run_time(type))
        result = type->create_for(type, host, count, values, &rules->batch);
    else
        result = type->batch->create(host, count, values, &rules->batch);
    if (result != 0) *rules = (corral_rules){0}; // a failed create owns what it may have left there
    return result == 0 && rules->single == NULL && rules->batch == NULL ? CORRAL_RULES_NOTHING : result;
}

void corral_rules_destroy(corral_rules *rules)
{
    if (rules->batch != NULL) rules->type->batch->destroy(rules->batch);
    corral_single_destroy(rules->single);
    *rules = (corral_rules){0};
}

int32_t corral_rules_reset(const corral_rules *rules, const uint8_t *mask, const uint64_t *seed,
                           const corral_env_step *out)
{
    if (rules->single == NULL) return rules->type->batch->reset(rules->batch, mask, seed, out);
    corral_single_reset(rules->single, mask, seed, out);
    return 0;
}

int32_t corral_rules_step(const corral_rules *rules, const corral_env_step *io)
{
    if (rules->single == NULL) return rules->type->batch->step(rules->batch, io);
    corral_single_step(rules->single, io);
    return 0;
}

void *corral_rules_handle(const corral_rules *rules, uint32_t row, uint32_t *out_index)
{
    *out_index = rules->single != NULL ? 0 : row;
    return rules->single != NULL ? corral_single_instance(rules->single, row) : rules->batch;
}
