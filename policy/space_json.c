// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A policy's spaces in the configuration that its file holds:
///   "observation": {"row_bytes": 16, "parts": [{"kind": "numbers", "dtype": "f32", "offset": 0, ...}]}
/// What is 0 is left out, and so are bounds that are infinite.
#include "policy_internal.h"

#include <cjson/cJSON.h>

#include <math.h>
#include <string.h>

static const char *const kinds[] = {"", "numbers", "binary", "choices", "image"};
static const char *const dtypes[] = {"", "f32", "f64", "u8", "i32"};

/// The members that are counts, by name.
static const struct {
    const char *name;
    size_t at;
} counts[] = {
    {"offset", offsetof(corral_part, offset)},
    {"count", offsetof(corral_part, count)},
    {"choices", offsetof(corral_part, choices)},
    {"channels", offsetof(corral_part, channels)},
    {"height", offsetof(corral_part, height)},
    {"width", offsetof(corral_part, width)},
    {"channels_last", offsetof(corral_part, channels_last)},
};
enum { COUNTS = sizeof counts / sizeof counts[0] };

static void part_to_json(cJSON *parts, const corral_part *part)
{
    cJSON *item = cJSON_CreateObject();
    cJSON_AddStringToObject(item, "kind", kinds[part->kind]);
    cJSON_AddStringToObject(item, "dtype", dtypes[part->dtype]);
    for (int i = 0; i < COUNTS; i++) {
        const uint32_t value = *(const uint32_t *)(const void *)((const char *)part + counts[i].at);
        if (value != 0) cJSON_AddNumberToObject(item, counts[i].name, value);
    }
    if (part->start != 0) cJSON_AddNumberToObject(item, "start", part->start);
    if (isfinite(part->low) && part->low != 0) cJSON_AddNumberToObject(item, "low", part->low);
    if (isfinite(part->high) && part->high != 0) cJSON_AddNumberToObject(item, "high", part->high);
    if (isinf(part->low)) cJSON_AddBoolToObject(item, "no_low", true);
    if (isinf(part->high)) cJSON_AddBoolToObject(item, "no_high", true);
    cJSON_AddItemToArray(parts, item);
}

void policy_space_to_json(struct cJSON *parent, const char *name, const corral_policy_space *space)
{
    if (space->part_count == 0) return;
    cJSON *object = cJSON_AddObjectToObject(parent, name);
    cJSON_AddNumberToObject(object, "row_bytes", space->row_bytes);
    cJSON *parts = cJSON_AddArrayToObject(object, "parts");
    for (uint32_t k = 0; k < space->part_count; k++)
        part_to_json(parts, &space->part[k]);
}

/// A whole number of at most 32 bits; absent: 0.
static bool read_count(const cJSON *object, const char *name, uint32_t *out_value)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    *out_value = 0;
    if (item == NULL) return true;
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0 && item->valuedouble <= UINT32_MAX)) return false;
    *out_value = (uint32_t)item->valuedouble;
    return *out_value == item->valuedouble;
}

/// Any number; absent: 0.
static bool read_number(const cJSON *object, const char *name, double *out_value)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    *out_value = item != NULL ? item->valuedouble : 0;
    return item == NULL || (cJSON_IsNumber(item) && isfinite(item->valuedouble));
}

static bool read_name(const cJSON *object, const char *name, const char *const *names, uint32_t count,
                      uint32_t *out_index)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
    for (uint32_t i = 1; text != NULL && i < count; i++) {
        if (strcmp(names[i], text) != 0) continue;
        *out_index = i;
        return true;
    }
    return false;
}

static bool part_from_json(const cJSON *item, corral_part *part)
{
    double start = 0;
    bool good = read_name(item, "kind", kinds, sizeof kinds / sizeof kinds[0], &part->kind) &&
                read_name(item, "dtype", dtypes, sizeof dtypes / sizeof dtypes[0], &part->dtype);
    for (int i = 0; i < COUNTS; i++)
        good = good && read_count(item, counts[i].name, (uint32_t *)(void *)((char *)part + counts[i].at));
    good = good && read_number(item, "start", &start) && fabs(start) <= INT32_MAX &&
           read_number(item, "low", &part->low) && read_number(item, "high", &part->high);
    if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(item, "no_low"))) part->low = -INFINITY;
    if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(item, "no_high"))) part->high = INFINITY;
    part->start = (int32_t)start;
    return good;
}

bool policy_space_from_json(const struct cJSON *parent, const char *name, corral_policy_space *space)
{
    const cJSON *object = cJSON_GetObjectItemCaseSensitive(parent, name), *item;
    if (object == NULL) return true;
    const cJSON *parts = cJSON_GetObjectItemCaseSensitive(object, "parts");
    if (!cJSON_IsArray(parts) || cJSON_GetArraySize(parts) > CORRAL_PARTS_MAX ||
        !read_count(object, "row_bytes", &space->row_bytes))
        return false;
    cJSON_ArrayForEach(item, parts)
    {
        if (!part_from_json(item, &space->part[space->part_count++])) return false;
    }
    return corral_policy_space_check(space) == CORRAL_OK;
}
