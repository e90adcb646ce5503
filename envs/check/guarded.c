// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "guarded.h"

#include <stdlib.h>
#include <string.h>

enum { GUARD = 64, PATTERN = 0xc5 };

bool corral_guarded_create(guarded *rows, uint32_t count, size_t width)
{
    const size_t stride = (width + GUARD + 7) / 8 * 8;
    *rows = (guarded){.width = width, .stride = stride, .count = count};
    rows->memory = malloc(GUARD + count * stride);
    if (rows->memory == NULL) return false;
    memset(rows->memory, PATTERN, GUARD + count * stride);
    rows->data = rows->memory + GUARD;
    for (uint32_t i = 0; i < count; i++)
        memset(guarded_row(rows, i), 0, width);
    return true;
}

void corral_guarded_destroy(guarded *rows)
{
    free(rows->memory);
    *rows = (guarded){0};
}

static bool is_pattern(const uint8_t *from, const uint8_t *to)
{
    uint8_t difference = 0;
    for (; from < to; from++)
        difference |= *from ^ PATTERN;
    return difference == 0;
}

bool corral_guarded_intact(const guarded *rows, uint32_t *out_row)
{
    *out_row = UINT32_MAX;
    if (!is_pattern(rows->memory, rows->data)) return false;
    for (uint32_t i = 0; i < rows->count; i++) {
        const uint8_t *row = guarded_row(rows, i);
        *out_row = i;
        if (!is_pattern(row + rows->width, row + rows->stride)) return false;
    }
    return true;
}
