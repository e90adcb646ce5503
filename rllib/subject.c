// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "subject.h"

#include "corral/base/file.h"
#include "corral/policy/import.h"
#include "corral/proto/checkpoint.h"

#include <cjson/cJSON.h>

#include <stdlib.h>
#include <string.h>

static void read_params(const cJSON *params, corral_pairs *out)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, params)
    {
        if (out->count == CORRAL_PAIRS_MAX || !cJSON_IsString(item)) continue;
        snprintf(out->pair[out->count].name, sizeof out->pair[0].name, "%s", item->string);
        snprintf(out->pair[out->count].value, sizeof out->pair[0].value, "%s", item->valuestring);
        out->count++;
    }
}

/// What the checkpoint says about its environment, in state.json.
static corral_status read_environment(subject *s, const char *path)
{
    char *text;
    size_t size;
    corral_status status = corral_file_read(path, (size_t)1 << 30, &text, &size);
    if (status != CORRAL_OK) return status;
    cJSON *root = cJSON_ParseWithLength(text, size);
    const cJSON *env = cJSON_GetObjectItemCaseSensitive(root, "env");
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(env, "name"));
    const cJSON *limit = cJSON_GetObjectItemCaseSensitive(env, "max_episode_steps");
    if (name == NULL || strlen(name) >= sizeof s->env || !cJSON_IsNumber(limit)) {
        status =
            corral_fail(CORRAL_ERROR_CORRUPT, "%s: it does not say which environment was trained on", path);
    } else {
        snprintf(s->env, sizeof s->env, "%s", name);
        s->max_episode_steps = (int64_t)limit->valuedouble;
        read_params(cJSON_GetObjectItemCaseSensitive(env, "params"), &s->params);
    }
    cJSON_Delete(root);
    free(text);
    return status;
}

corral_status subject_open(subject *s, const char *path)
{
    *s = (subject){.max_episode_steps = -1};
    corral_status status = corral_checkpoint_find(path, 0, &s->checkpoint);
    if (status == CORRAL_OK) status = corral_checkpoint_verify(s->checkpoint);
    if (status != CORRAL_OK) return status;
    char *policy = corral_format("%s/policy.safetensors", s->checkpoint);
    char *state = corral_format("%s/state.json", s->checkpoint);
    status = policy != NULL && state != NULL ? read_environment(s, state)
                                             : corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a path");
    if (status == CORRAL_OK) status = corral_policy_read(policy, &s->policy);
    free(policy);
    free(state);
    return status;
}

corral_status subject_import(subject *s, const char *path, const corral_policy_config *spaces)
{
    *s = (subject){.max_episode_steps = -1, .checkpoint = strdup(path)};
    if (s->checkpoint == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a path");
    return corral_policy_import_sb3(path, spaces, &s->policy);
}

void subject_close(subject *s)
{
    corral_policy_destroy(s->policy);
    free(s->checkpoint);
    *s = (subject){0};
}
