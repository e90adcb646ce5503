// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// From the JSON that bridge.py writes to a corral_env_type.

#include "type.h"

#include "corral/base/clock.h"
#include "corral/base/file.h"
#include "corral/base/log.h"

#include <cjson/cJSON.h>

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const int64_t describe_limit_ns = 120 * CORRAL_SECOND;
enum { DESCRIPTION_MAX = 1 << 28 };

void gym_log_traceback(const char *name, const char *traceback)
{
    while (*traceback != '\0') {
        const size_t length = strcspn(traceback, "\n");
        if (length > 0) corral_log(CORRAL_LOG_WARNING, "gym:%s: %.*s", name, (int)length, traceback);
        traceback += length + (traceback[length] != '\0');
    }
}

// --- processes

corral_status gym_type_take(gym_type *type, gym_python **out_python)
{
    *out_python = NULL;
    pthread_mutex_lock(&type->lock);
    if (type->idle_owner == getpid() && type->idle_count > 0) *out_python = type->idle[--type->idle_count];
    pthread_mutex_unlock(&type->lock);
    return *out_python != NULL ? CORRAL_OK : gym_python_start(type->program, out_python);
}

void gym_type_give(gym_type *type, gym_python *python)
{
    pthread_mutex_lock(&type->lock);
    if (type->idle_owner != getpid()) type->idle_count = 0; // those of the process that forked us
    type->idle_owner = getpid();
    if (type->idle_count < GYM_IDLE_MAX) {
        type->idle[type->idle_count++] = python;
        python = NULL;
    }
    pthread_mutex_unlock(&type->lock);
    gym_python_end(python);
}

// --- JSON

static double number_of(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

static bool flag_of(const cJSON *object, const char *key)
{
    return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(object, key));
}

static const char *text_of(const cJSON *object, const char *key)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
    return text != NULL ? text : "";
}

static uint32_t kind_of(const char *word)
{
    static const char *const words[] = {"", "box", "discrete", "multi_discrete", "multi_binary"};
    for (uint32_t i = 1; i < sizeof words / sizeof *words; i++)
        if (strcmp(word, words[i]) == 0) return i;
    return 0;
}

static uint32_t dtype_of(const char *word)
{
    static const char *const words[] = {
        [CORRAL_SPACE_F32] = "f32", [CORRAL_SPACE_U8] = "u8", [CORRAL_SPACE_I32] = "i32"};
    for (uint32_t i = 1; i < sizeof words / sizeof *words; i++)
        if (words[i] != NULL && strcmp(word, words[i]) == 0) return i;
    return 0;
}

/// JSON has no infinity, and a float less room than Python's numbers.
static double bound_of(const corral_space *leaf, double value)
{
    if (leaf->dtype == CORRAL_SPACE_I32) return fmin(fmax(value, INT32_MIN), INT32_MAX);
    if (leaf->dtype == CORRAL_SPACE_F32 && fabs(value) > FLT_MAX) return copysign(INFINITY, value);
    return value;
}

static bool read_bounds(const cJSON *json, const corral_space *leaf, double *out_one, const double **out_each)
{
    if (!cJSON_IsArray(json)) {
        *out_one = bound_of(leaf, cJSON_IsNumber(json) ? json->valuedouble : 0);
        return true;
    }
    double *each = calloc((size_t)cJSON_GetArraySize(json) + 1, sizeof *each);
    if (each == NULL) return false;
    size_t count = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, json) each[count++] = bound_of(leaf, item->valuedouble);
    *out_each = each;
    return true;
}

static bool read_values(const cJSON *json, const int64_t **out_values)
{
    int64_t *values = calloc((size_t)cJSON_GetArraySize(json) + 1, sizeof *values);
    if (values == NULL) return false;
    size_t count = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, json) values[count++] = (int64_t)item->valuedouble;
    *out_values = values;
    return true;
}

/// What has more dimensions than a leaf can have becomes longer in the last one.
static void read_shape(const cJSON *json, corral_space *leaf)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, json)
    {
        const uint32_t size = item->valuedouble >= 0 ? (uint32_t)item->valuedouble : 0;
        if (leaf->dimension_count < CORRAL_SPACE_DIMENSIONS)
            leaf->shape[leaf->dimension_count++] = size;
        else
            leaf->shape[CORRAL_SPACE_DIMENSIONS - 1] *= size;
    }
}

static bool read_leaf(const cJSON *json, corral_space *leaf)
{
    leaf->path = strdup(text_of(json, "path"));
    leaf->kind = kind_of(text_of(json, "kind"));
    leaf->dtype = dtype_of(text_of(json, "dtype"));
    leaf->n = (int64_t)number_of(json, "n");
    leaf->start = (int64_t)number_of(json, "start");
    read_shape(cJSON_GetObjectItemCaseSensitive(json, "shape"), leaf);
    const cJSON *low = cJSON_GetObjectItemCaseSensitive(json, "low"),
                *high = cJSON_GetObjectItemCaseSensitive(json, "high"),
                *nvec = cJSON_GetObjectItemCaseSensitive(json, "nvec");
    return leaf->path != NULL && read_bounds(low, leaf, &leaf->low, &leaf->low_each) &&
           read_bounds(high, leaf, &leaf->high, &leaf->high_each) &&
           (nvec == NULL || read_values(nvec, &leaf->nvec));
}

static bool read_spaces(const cJSON *json, gym_type *type)
{
    const cJSON *parts[] = {cJSON_GetObjectItemCaseSensitive(json, "observation"),
                            cJSON_GetObjectItemCaseSensitive(json, "action")};
    const uint32_t observations = (uint32_t)cJSON_GetArraySize(parts[0]),
                   actions = (uint32_t)cJSON_GetArraySize(parts[1]);
    type->leaves = calloc((size_t)observations + actions + 1, sizeof *type->leaves);
    if (type->leaves == NULL) return false;
    corral_space *leaf = type->leaves;
    for (size_t p = 0; p < 2; p++) {
        const cJSON *item;
        cJSON_ArrayForEach(item, parts[p]) if (!read_leaf(item, leaf++)) return false;
    }
    type->type.spaces = (corral_env_spaces){.observation = type->leaves,
                                            .observation_count = observations,
                                            .action = type->leaves + observations,
                                            .action_count = actions};
    return true;
}

static bool read_params(const cJSON *json, gym_type *type)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(json, "params"), *item;
    type->params = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof *type->params);
    if (type->params == NULL) return false;
    uint32_t count = 0;
    cJSON_ArrayForEach(item, list)
    {
        const bool flag = flag_of(item, "flag");
        char *name = strdup(text_of(item, "name"));
        if (name == NULL) return false;
        if (strcmp(name, "timeout") == 0) { // ours
            free(name);
            continue;
        }
        type->params[count++] =
            (corral_env_param){.name = name,
                               .default_value = number_of(item, "default"),
                               .min = flag ? 0 : -INFINITY,
                               .max = flag ? 1 : INFINITY,
                               .help = flag ? "a flag of the Python class" : "a number of the Python class"};
    }
    type->params[count++] = (corral_env_param){
        .name = "timeout",
        .default_value = 60,
        .min = 0.01,
        .max = 1e6,
        .help = "seconds that one step or reset of a batch may take before its Python is ended"};
    type->type.params = type->params;
    type->type.param_count = count;
    return true;
}

/// "Pong-v5" of "ALE/Pong-v5", "package.module:Pong-v5" and "Pong-v5?mode=1".
static void set_id(gym_type *type)
{
    const size_t length = strcspn(type->name, "?");
    const char *begin = type->name;
    for (const char *c = type->name; c < type->name + length; c++)
        if (*c == '/' || *c == ':') begin = c + 1;
    snprintf(type->id, sizeof type->id, "%.*s", (int)(type->name + length - begin), begin);
}

static bool read_description(const cJSON *json, gym_type *type)
{
    set_id(type);
    snprintf(type->summary, sizeof type->summary, "of Gymnasium %s, played by %s", text_of(json, "gymnasium"),
             text_of(json, "python"));
    snprintf(type->digest, sizeof type->digest, "%s", text_of(json, "spaces"));
    type->has_mask = flag_of(json, "mask");
    type->wide_seeds = flag_of(json, "wide_seeds");
    type->has_pictures = flag_of(json, "pictures");
    const cJSON *threshold = cJSON_GetObjectItemCaseSensitive(json, "reward_threshold");
    const double limit = number_of(json, "max_episode_steps");
    type->type.size = sizeof type->type;
    type->type.id = type->id;
    type->type.summary = type->summary;
    type->type.max_episode_steps = limit > 0 && limit < UINT32_MAX ? (uint32_t)limit : 0;
    type->type.reward_threshold = cJSON_IsNumber(threshold) ? threshold->valuedouble : NAN;
    type->type.render_fps = number_of(json, "fps");
    return read_spaces(json, type) && read_params(json, type);
}

// --- asking

static corral_status refused(const char *name, int file)
{
    char text[GYM_TEXT_SIZE + 2] = "";
    if (pread(file, text, GYM_TEXT_SIZE, 0) < 0) text[0] = '\0';
    gym_log_traceback(name, text + strlen(text) + 1);
    return corral_fail(CORRAL_ERROR_ENVIRONMENT, "gym:%s: %s", name, text);
}

/// Sends {"name": NAME} behind a letter, with a memory for what comes back.
static corral_status ask_about(const gym_type *type, gym_python *python, char letter, int file,
                               uint32_t *out_number)
{
    cJSON *order = cJSON_CreateObject();
    cJSON_AddStringToObject(order, "name", type->name);
    char *json = cJSON_PrintUnformatted(order);
    char *message = json != NULL ? corral_format("%c%s", letter, json) : NULL;
    cJSON_Delete(order);
    cJSON_free(json);
    if (message == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "gym:%s: no memory", type->name);
    gym_answer answer;
    corral_status status = gym_python_ask(python, message, strlen(message), file, describe_limit_ns, &answer);
    free(message);
    if (status != CORRAL_OK) return corral_fail_within(status, "gym:%s", type->name);
    *out_number = answer.number;
    return answer.mark == '+' ? CORRAL_OK : refused(type->name, file);
}

static corral_status read_answer(gym_type *type, int file, uint32_t size)
{
    char *text = size <= DESCRIPTION_MAX ? malloc((size_t)size + 1) : NULL;
    if (text == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "gym:%s: no memory", type->name);
    const ssize_t got = pread(file, text, size, 0);
    cJSON *json = got == (ssize_t)size ? cJSON_ParseWithLength(text, size) : NULL;
    const bool whole = json != NULL && read_description(json, type);
    cJSON_Delete(json);
    free(text);
    return whole ? CORRAL_OK
                 : corral_fail(CORRAL_ERROR_CORRUPT,
                               "gym:%s: Python describes it in a way that is not understood", type->name);
}

static corral_status describe(gym_type *type)
{
    gym_python *python = NULL;
    corral_status status = gym_type_take(type, &python);
    if (status != CORRAL_OK) return corral_fail_within(status, "gym:%s", type->name);
    const int file = memfd_create("corral-gym", MFD_CLOEXEC);
    uint32_t size = 0;
    status = file >= 0 ? ask_about(type, python, 'd', file, &size)
                       : corral_fail_errno(CORRAL_ERROR_IO, errno, "gym:%s: no shared memory", type->name);
    if (status == CORRAL_OK) status = read_answer(type, file, size);
    if (file >= 0) close(file);
    if (status == CORRAL_OK)
        gym_type_give(type, python);
    else
        gym_python_end(python);
    return status;
}

corral_status gym_type_describe(const char *name, gym_type **out_type)
{
    gym_type *type = calloc(1, sizeof *type);
    if (type == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "gym:%s: no memory", name);
    pthread_mutex_init(&type->lock, NULL);
    type->name = strdup(name);
    type->program = gym_python_choose();
    const corral_status status = type->name != NULL && type->program != NULL
                                     ? describe(type)
                                     : corral_fail(CORRAL_ERROR_NO_MEMORY, "gym:%s: no memory", name);
    if (status == CORRAL_OK) {
        *out_type = type;
        return CORRAL_OK;
    }
    free(type->name);
    free(type->program);
    free(type);
    return status;
}

bool gym_type_can_draw(gym_type *type)
{
    static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&once);
    if (type->has_pictures && type->render.width == 0) {
        gym_python *python = NULL;
        uint32_t size = 0;
        const int file = memfd_create("corral-gym", MFD_CLOEXEC);
        corral_status status = file >= 0 ? gym_type_take(type, &python) : CORRAL_ERROR_IO;
        if (status == CORRAL_OK) status = ask_about(type, python, 'p', file, &size);
        if (file >= 0) close(file);
        type->render.width = (float)(size & 0xffff);
        type->render.height = (float)(size >> 16);
        type->has_pictures = status == CORRAL_OK && type->render.width >= 1 && type->render.height >= 1;
        if (type->has_pictures) {
            gym_type_give(type, python);
        } else {
            corral_log(CORRAL_LOG_WARNING, "%s (so there are no pictures)", corral_last_error());
            gym_python_end(python);
        }
    }
    pthread_mutex_unlock(&once);
    return type->has_pictures;
}
