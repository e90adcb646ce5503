// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Numbers out of a file of tests/golden: algo_numerics.json, which NumPy and PyTorch's formulas made, or
/// another. No JSON library, because core has none: a case is found by its name, a list by its key behind it,
/// and read up to its closing bracket.
#ifndef CORRAL_TEST_GOLDEN_NUMBERS_H
#define CORRAL_TEST_GOLDEN_NUMBERS_H

#include "test.h"

static char *golden_text;

static inline void golden_load_file(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", GOLDEN_DIR, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL) return;
    golden_text = calloc(1, 1 << 16);
    if (golden_text != NULL && fread(golden_text, 1, (1 << 16) - 1, file) == 0) golden_text[0] = '\0';
    fclose(file);
}

static inline void golden_load(void)
{
    golden_load_file("algo_numerics.json");
}

/// All numbers of the value of `key` in `case_name`, nested lists flattened, where `behind` is not NULL the
/// first ones after that text. Returns how many.
static size_t golden(const char *case_name, const char *behind, const char *key, double *out, size_t limit)
{
    char name[64];
    CU_ASSERT_PTR_NOT_NULL_FATAL(golden_text);
    snprintf(name, sizeof name, "\"%s\":", case_name);
    const char *at = strstr(golden_text, name);
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    if (behind != NULL) at = strstr(at, behind);
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    snprintf(name, sizeof name, "\"%s\":", key);
    at = strstr(at, name);
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    at += strlen(name);
    size_t count = 0;
    int depth = 0;
    do {
        at += strspn(at, " \n\t,");
        if (*at == '[' || *at == ']') {
            depth += *at++ == '[' ? 1 : -1;
            continue;
        }
        char *end = NULL;
        const double value = strtod(at, &end);
        CU_ASSERT_TRUE_FATAL(end != at && count < limit);
        out[count++] = value;
        at = end;
    } while (depth > 0);
    return count;
}

static inline double golden_number(const char *case_name, const char *key)
{
    double value = 0.0;
    CU_ASSERT_EQUAL_FATAL(golden(case_name, NULL, key, &value, 1), 1);
    return value;
}

#endif
