// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Recorded episodes of the reference, read from tests/golden. Numbers are exact: a double is written so that
/// it reads back to the same bits; what is not finite is a string.
#ifndef CORRAL_TEST_GOLDEN_H
#define CORRAL_TEST_GOLDEN_H

#include "bits.h"

#include "corral/base/file.h"

#include "test.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

/// The caller deletes it with cJSON_Delete().
static inline cJSON *golden_read(const char *name)
{
    char path[512], *text;
    size_t size;
    snprintf(path, sizeof path, "%s/tests/golden/%s", CORRAL_SOURCE_DIR, name);
    TEST_OK(corral_file_read(path, 8 << 20, &text, &size));
    cJSON *root = cJSON_ParseWithLength(text, size);
    free(text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(root);
    return root;
}

/// A member that has to be there.
static inline const cJSON *golden_at(const cJSON *parent, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(parent, name);
    if (item == NULL) fprintf(stderr, "golden: no %s\n", name);
    CU_ASSERT_PTR_NOT_NULL_FATAL(item);
    return item;
}

static inline double golden_number(const cJSON *item)
{
    return cJSON_IsString(item) ? strtod(item->valuestring, NULL) : item->valuedouble;
}

static inline void golden_numbers(const cJSON *array, double *out, int count)
{
    CU_ASSERT_EQUAL_FATAL(cJSON_GetArraySize(array), count);
    int i = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, array) out[i++] = golden_number(item);
}

#endif
