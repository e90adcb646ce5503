// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "state.h"

#include "corral/base/file.h"

#include <cjson/cJSON.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char format[] = "corral.state.1";
static const size_t size_limit = (size_t)1 << 30;

typedef struct counter {
    const char *name;
    size_t offset;
} counter;

#define COUNTER(member)                                                                                      \
    {                                                                                                        \
#member, offsetof(train_state, member)                                                               \
    }
static const counter counters[] = {
    COUNTER(iteration),      COUNTER(env_steps),      COUNTER(step),
    COUNTER(policy_version), COUNTER(updates),        COUNTER(bad_updates),
    COUNTER(bad_in_a_row),   COUNTER(episodes_total), COUNTER(failures_total),
    COUNTER(evaluations),    COUNTER(streak),         COUNTER(eval_step),
    COUNTER(best_step),      COUNTER(infinite_kl),    COUNTER(pending_iteration),
    COUNTER(pending_step),
};
static const counter numbers[] = {COUNTER(eval_mean),    COUNTER(eval_std),    COUNTER(eval_length),
                                  COUNTER(best_mean),    COUNTER(kl_key),      COUNTER(kl_coefficient),
                                  COUNTER(pending_mean), COUNTER(pending_std), COUNTER(pending_length)};
#undef COUNTER

enum { COUNTERS = sizeof counters / sizeof counters[0], NUMBERS = sizeof numbers / sizeof numbers[0] };

// --- bytes as text ----------------------------------------------------------------------------------------

static char *to_hex(const unsigned char *bytes, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    char *text = malloc(2 * size + 1);
    if (text == NULL) return NULL;
    for (size_t i = 0; i < size; i++) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 15];
    }
    text[2 * size] = '\0';
    return text;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static unsigned char *from_hex(const char *text, size_t *out_size)
{
    const size_t length = text != NULL ? strlen(text) : 1;
    if (length % 2 != 0) return NULL;
    unsigned char *bytes = malloc(length / 2 + 1);
    for (size_t i = 0; bytes != NULL && i < length / 2; i++) {
        const int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);
        if (high < 0 || low < 0) {
            free(bytes);
            return NULL;
        }
        bytes[i] = (unsigned char)(high << 4 | low);
    }
    *out_size = length / 2;
    return bytes;
}

// --- writing ----------------------------------------------------------------------------------------------

static void add_environment(cJSON *root, const corral_train_config *config, const char *env_id)
{
    cJSON *env = cJSON_AddObjectToObject(root, "env");
    char name[CORRAL_ENV_NAME_SIZE];
    if (corral_train_config_env(config, name) == CORRAL_OK) cJSON_AddStringToObject(env, "name", name);
    cJSON_AddStringToObject(env, "id", env_id);
    cJSON *params = cJSON_AddObjectToObject(env, "params");
    for (uint32_t i = 0; i < config->env_params.count; i++)
        cJSON_AddStringToObject(params, config->env_params.pair[i].name, config->env_params.pair[i].value);
    cJSON_AddNumberToObject(env, "max_episode_steps", (double)config->max_episode_steps);
}

static bool add_hex(cJSON *parent, const char *name, const unsigned char *bytes, size_t size)
{
    char *text = to_hex(bytes, size);
    const bool added = text != NULL && cJSON_AddStringToObject(parent, name, text) != NULL;
    free(text);
    return added;
}

static bool add_states(cJSON *root, const train_state_environments *environments)
{
    cJSON *object = cJSON_AddObjectToObject(root, "environments");
    cJSON_AddBoolToObject(object, "exact", environments->exact);
    cJSON *returns = environments->return_count > 0 ? cJSON_AddArrayToObject(object, "returns") : NULL;
    for (size_t i = 0; i < environments->return_count; i++)
        cJSON_AddItemToArray(returns, cJSON_CreateNumber(environments->returns[i]));
    return add_hex(object, "states", environments->states, environments->state_size) &&
           add_hex(object, "observations", environments->observations, environments->observation_size);
}

corral_status train_state_write(const char *path, const train_state *state, const corral_train_config *config,
                                const char *env_id, const train_state_environments *environments)
{
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "format", format);
    cJSON_AddStringToObject(root, "algorithm", corral_algorithm_name(config->algorithm));
    add_environment(root, config, env_id);
    cJSON_AddNumberToObject(root, "seed", (double)config->seed);
    for (int i = 0; i < COUNTERS; i++) {
        uint64_t value;
        memcpy(&value, (const char *)state + counters[i].offset, sizeof value);
        cJSON_AddNumberToObject(root, counters[i].name, (double)value);
    }
    for (int i = 0; i < NUMBERS; i++) {
        double value;
        memcpy(&value, (const char *)state + numbers[i].offset, sizeof value);
        cJSON_AddNumberToObject(root, numbers[i].name, value);
    }
    cJSON *returns = cJSON_AddArrayToObject(root, "window_return"),
          *lengths = cJSON_AddArrayToObject(root, "window_length");
    const uint32_t oldest = state->window_count < STATE_WINDOW ? 0 : state->window_next;
    for (uint32_t i = 0; i < state->window_count; i++) {
        const uint32_t at = (oldest + i) % STATE_WINDOW;
        cJSON_AddItemToArray(returns, cJSON_CreateNumber(state->window_return[at]));
        cJSON_AddItemToArray(lengths, cJSON_CreateNumber(state->window_length[at]));
    }
    const bool complete =
        environments == NULL || environments->states == NULL || add_states(root, environments);
    char *text = complete ? cJSON_Print(root) : NULL;
    cJSON_Delete(root);
    if (text == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "%s: no memory to write the state", path);
    const corral_status status = corral_file_write(path, text, strlen(text));
    cJSON_free(text);
    return status;
}

// --- reading ----------------------------------------------------------------------------------------------

static bool read_counter(const cJSON *root, const char *name, uint64_t *out_value)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, name);
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0 && item->valuedouble <= 9007199254740992.0))
        return false;
    *out_value = (uint64_t)item->valuedouble;
    return true;
}

static corral_status read_numbers(const cJSON *root, const char *path, train_state *state)
{
    for (int i = 0; i < COUNTERS; i++) {
        uint64_t value;
        if (!read_counter(root, counters[i].name, &value))
            return corral_fail(CORRAL_ERROR_CORRUPT, "%s: \"%s\" is missing or not a count", path,
                               counters[i].name);
        memcpy((char *)state + counters[i].offset, &value, sizeof value);
    }
    for (int i = 0; i < NUMBERS; i++) {
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, numbers[i].name);
        if (!cJSON_IsNumber(item) || !isfinite(item->valuedouble))
            return corral_fail(CORRAL_ERROR_CORRUPT, "%s: \"%s\" is missing or not a number", path,
                               numbers[i].name);
        memcpy((char *)state + numbers[i].offset, &item->valuedouble, sizeof(double));
    }
    return CORRAL_OK;
}

static corral_status read_window(const cJSON *root, const char *path, train_state *state)
{
    const cJSON *returns = cJSON_GetObjectItemCaseSensitive(root, "window_return");
    const cJSON *lengths = cJSON_GetObjectItemCaseSensitive(root, "window_length");
    const int count = cJSON_GetArraySize(returns);
    if (!cJSON_IsArray(returns) || !cJSON_IsArray(lengths) || count != cJSON_GetArraySize(lengths) ||
        count > STATE_WINDOW)
        return corral_fail(CORRAL_ERROR_CORRUPT, "%s: the window of episodes is damaged", path);
    const cJSON *r = returns->child, *l = lengths->child;
    for (int i = 0; i < count; i++, r = r->next, l = l->next) {
        if (!cJSON_IsNumber(r) || !cJSON_IsNumber(l) ||
            !(l->valuedouble >= 0 && l->valuedouble <= UINT32_MAX))
            return corral_fail(CORRAL_ERROR_CORRUPT, "%s: the window of episodes is damaged", path);
        state->window_return[i] = r->valuedouble;
        state->window_length[i] = (uint32_t)l->valuedouble;
    }
    state->window_count = (uint32_t)count;
    state->window_next = (uint32_t)count % STATE_WINDOW;
    return CORRAL_OK;
}

void train_state_environments_finish(train_state_environments *environments)
{
    free(environments->states);
    free(environments->observations);
    free(environments->returns);
    *environments = (train_state_environments){0};
}

/// Absent where rewards were not normalised. False where it is damaged.
static bool read_returns(const cJSON *array, train_state_environments *out)
{
    const int count = cJSON_GetArraySize(array);
    if (array == NULL || count == 0) return array == NULL;
    out->returns = calloc((size_t)count, sizeof *out->returns);
    if (out->returns == NULL) return false;
    const cJSON *item = array->child;
    for (; item != NULL && cJSON_IsNumber(item) && isfinite(item->valuedouble); item = item->next)
        out->returns[out->return_count++] = item->valuedouble;
    return item == NULL;
}

static corral_status read_environments(const cJSON *root, const char *path, train_state_environments *out)
{
    *out = (train_state_environments){0};
    const cJSON *object = cJSON_GetObjectItemCaseSensitive(root, "environments");
    if (object == NULL) return CORRAL_OK; // saved before the first round
    out->exact = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(object, "exact"));
    out->states =
        from_hex(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, "states")), &out->state_size);
    out->observations =
        from_hex(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, "observations")),
                 &out->observation_size);
    const cJSON *returns = cJSON_GetObjectItemCaseSensitive(object, "returns");
    if (out->states != NULL && out->observations != NULL && read_returns(returns, out)) return CORRAL_OK;
    train_state_environments_finish(out);
    return corral_fail(CORRAL_ERROR_CORRUPT, "%s: the environments' states are damaged", path);
}

corral_status train_state_read(const char *path, train_state *out_state,
                               train_state_environments *out_environments)
{
    char *text;
    size_t size;
    corral_status status = corral_file_read(path, size_limit, &text, &size);
    if (status != CORRAL_OK) return status;
    cJSON *root = cJSON_ParseWithLength(text, size);
    free(text);
    const char *found = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, "format"));
    *out_state = (train_state){0};
    if (root == NULL)
        status = corral_fail(CORRAL_ERROR_CORRUPT, "%s: not JSON", path);
    else if (found == NULL || strcmp(found, format) != 0)
        status =
            corral_fail(CORRAL_ERROR_VERSION, "%s: not of this version (\"%s\" is expected)", path, format);
    if (status == CORRAL_OK) status = read_numbers(root, path, out_state);
    if (status == CORRAL_OK) status = read_window(root, path, out_state);
    if (status == CORRAL_OK && out_environments != NULL)
        status = read_environments(root, path, out_environments);
    cJSON_Delete(root);
    return status;
}
