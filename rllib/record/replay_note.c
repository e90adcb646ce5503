// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "replay_note.h"

#include "corral/base/file.h"

#include <cjson/cJSON.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Two hexadecimal digits for each byte.
static char *to_digits(const unsigned char *bytes, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    char *text = malloc(size * 2 + 1);
    if (text == NULL) return NULL;
    for (size_t i = 0; i < size; i++) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 15];
    }
    text[size * 2] = '\0';
    return text;
}

static int value_of(char digit)
{
    return digit >= '0' && digit <= '9' ? digit - '0' : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

corral_status replay_note_write(const char *path, const replay_note *n)
{
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "env", n->env);
    cJSON *params = cJSON_AddObjectToObject(root, "params");
    for (uint32_t i = 0; i < n->params.count; i++)
        cJSON_AddStringToObject(params, n->params.pair[i].name, n->params.pair[i].value);
    cJSON_AddNumberToObject(root, "max_episode_steps", (double)n->max_episode_steps);
    char seed[32]; // as a text: cJSON keeps 15 digits
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)n->seed);
    cJSON_AddStringToObject(root, "seed", seed);
    cJSON_AddNumberToObject(root, "environment", n->environment);
    cJSON_AddNumberToObject(root, "number", (double)n->number);
    char *digits = to_digits(n->actions, (size_t)n->count * n->action_bytes);
    cJSON_AddNumberToObject(root, "action_bytes", n->action_bytes);
    cJSON_AddStringToObject(root, "actions", digits != NULL ? digits : "");
    free(digits);
    char *text = cJSON_PrintUnformatted(root);
    cJSON_Delete(root);
    const corral_status status = text != NULL ? corral_file_write(path, text, strlen(text))
                                              : corral_fail(CORRAL_ERROR_NO_MEMORY, "%s: no memory", path);
    cJSON_free(text);
    return status;
}

static double number_of(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsNumber(item) ? item->valuedouble : -1;
}

static bool read_params(const cJSON *params, corral_pairs *out)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, params)
    {
        if (out->count == CORRAL_PAIRS_MAX || !cJSON_IsString(item)) return false;
        snprintf(out->pair[out->count].name, sizeof out->pair[0].name, "%s", item->string);
        snprintf(out->pair[out->count].value, sizeof out->pair[0].value, "%s", item->valuestring);
        out->count++;
    }
    return true;
}

static bool read_actions(const char *text, double action_bytes, replay_note *out)
{
    if (text == NULL || action_bytes < 1 || action_bytes > 1 << 20) return false;
    const size_t size = strlen(text) / 2, each = (size_t)action_bytes;
    if (size == 0 || size % each != 0 || size / each > REPLAY_NOTE_STEPS_MAX) return false;
    out->action_bytes = (uint32_t)each;
    out->count = (uint32_t)(size / each);
    out->actions = malloc(size);
    for (size_t i = 0; out->actions != NULL && i < size; i++) {
        const int high = value_of(text[2 * i]), low = value_of(text[2 * i + 1]);
        if (high < 0 || low < 0) return false;
        out->actions[i] = (unsigned char)(high << 4 | low);
    }
    return out->actions != NULL;
}

static bool understand(const cJSON *root, replay_note *out)
{
    const char *env = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, "env"));
    const char *seed = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, "seed"));
    const double environment = number_of(root, "environment"), number = number_of(root, "number"),
                 limit = number_of(root, "max_episode_steps");
    if (env == NULL || strlen(env) >= sizeof out->env || seed == NULL || seed[0] < '0' || seed[0] > '9' ||
        environment < 0 || environment > 65536 || number < 0 || limit > UINT32_MAX)
        return false;
    snprintf(out->env, sizeof out->env, "%s", env);
    out->seed = strtoull(seed, NULL, 10);
    out->environment = (uint32_t)environment;
    out->number = (uint64_t)number;
    out->max_episode_steps = limit < 0 ? -1 : (int64_t)limit;
    return read_params(cJSON_GetObjectItemCaseSensitive(root, "params"), &out->params) &&
           read_actions(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, "actions")),
                        number_of(root, "action_bytes"), out);
}

corral_status replay_note_read(const char *path, replay_note *out)
{
    char *text;
    size_t size;
    *out = (replay_note){0};
    const corral_status status = corral_file_read(path, (size_t)1 << 26, &text, &size);
    if (status != CORRAL_OK) return status;
    cJSON *root = cJSON_ParseWithLength(text, size);
    const bool understood = root != NULL && understand(root, out);
    cJSON_Delete(root);
    free(text);
    return understood
               ? CORRAL_OK
               : corral_fail(CORRAL_ERROR_CORRUPT, "%s: not an episode that `corral train` has noted", path);
}

void replay_note_finish(replay_note *n)
{
    free(n->actions);
    n->actions = NULL;
}
