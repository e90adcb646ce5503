// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Reads tests/golden/networks.txt, which make_networks.py beside it made with PyTorch and explains.
#ifndef CORRAL_TEST_GOLDEN_NETWORKS_H
#define CORRAL_TEST_GOLDEN_NETWORKS_H

#include "corral/core/tensor.h"
#include "test.h"

/// One line of the file.
typedef struct golden_line {
    char network[24], kind[16], name[24];
    uint32_t dimension_count;
    size_t shape[CORRAL_MAX_DIMENSIONS], count;
    double *numbers;  // [count]
    float *floats;    // the same, rounded
    int32_t *indices; // the same, as whole numbers
} golden_line;

enum { GOLDEN_LINES = 400 };

static golden_line golden_lines[GOLDEN_LINES];
static size_t golden_count;

/// "3,4" or "-" for a single number.
static void golden_shape(golden_line *line, const char *text)
{
    line->count = 1;
    while (*text >= '0' && *text <= '9') {
        char *end;
        const size_t size = strtoul(text, &end, 10);
        line->shape[line->dimension_count++] = size;
        line->count *= size;
        text = *end == ',' ? end + 1 : end;
    }
}

static void golden_read_line(char *text, golden_line *line)
{
    char shape[32];
    int used = 0;
    CU_ASSERT_EQUAL_FATAL(
        sscanf(text, "%23s %15s %23s %31s%n", line->network, line->kind, line->name, shape, &used), 4);
    golden_shape(line, shape);
    line->numbers = calloc(line->count, sizeof *line->numbers);
    line->floats = calloc(line->count, sizeof *line->floats);
    line->indices = calloc(line->count, sizeof *line->indices);
    CU_ASSERT_TRUE_FATAL(line->numbers != NULL && line->floats != NULL && line->indices != NULL);
    char *at = text + used;
    for (size_t i = 0; i < line->count; i++) {
        char *end;
        line->numbers[i] = strtod(at, &end);
        line->floats[i] = (float)line->numbers[i];
        line->indices[i] = (int32_t)line->numbers[i];
        CU_ASSERT_TRUE_FATAL(end != at);
        at = end;
    }
}

static void golden_load(void)
{
    FILE *file = fopen(GOLDEN_DIR "/networks.txt", "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    char *text = NULL;
    size_t capacity = 0;
    while (getline(&text, &capacity, file) > 0) {
        if (text[0] == '#') continue;
        CU_ASSERT_TRUE_FATAL(golden_count < GOLDEN_LINES);
        golden_read_line(text, &golden_lines[golden_count++]);
    }
    free(text);
    fclose(file);
}

static void golden_free(void)
{
    for (size_t i = 0; i < golden_count; i++) {
        free(golden_lines[i].numbers);
        free(golden_lines[i].floats);
        free(golden_lines[i].indices);
    }
}

/// The `number`-th line of a network and kind with this name (NULL: any); NULL where there is none.
static const golden_line *golden_find(const char *network, const char *kind, const char *name, size_t number)
{
    for (size_t i = 0; i < golden_count; i++) {
        const golden_line *line = &golden_lines[i];
        if (strcmp(line->network, network) != 0 || strcmp(line->kind, kind) != 0) continue;
        if (name != NULL && strcmp(line->name, name) != 0) continue;
        if (number-- == 0) return line;
    }
    return NULL;
}

#endif
