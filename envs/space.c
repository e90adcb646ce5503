// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The size of a leaf of a space, and its text.

#include "corral/envs/registry.h"

#include <stdio.h>
#include <stdlib.h>

static size_t dtype_bytes(uint32_t dtype)
{
    static const size_t bytes[] = {
        [CORRAL_SPACE_F32] = 4, [CORRAL_SPACE_F64] = 8, [CORRAL_SPACE_U8] = 1, [CORRAL_SPACE_I32] = 4};
    return dtype < sizeof bytes / sizeof *bytes ? bytes[dtype] : 0;
}

size_t corral_space_count(const corral_space *space)
{
    size_t count = 1;
    if (space->kind == CORRAL_SPACE_DISCRETE) return count;
    for (uint32_t d = 0; d < space->dimension_count && d < CORRAL_SPACE_DIMENSIONS; d++)
        count *= space->shape[d];
    return count;
}

size_t corral_space_bytes(const corral_space *space)
{
    return corral_space_count(space) * dtype_bytes(space->dtype);
}

static void describe_shape(FILE *out, const corral_space *space)
{
    for (uint32_t d = 0; d < space->dimension_count && d < CORRAL_SPACE_DIMENSIONS; d++)
        fprintf(out, d == 0 ? "%u" : "x%u", space->shape[d]);
}

static void describe_box(FILE *out, const corral_space *space)
{
    static const char *const names[] = {"", "f32", "f64", "u8", "i32"};
    double low = space->low_each != NULL ? space->low_each[0] : space->low;
    double high = space->high_each != NULL ? space->high_each[0] : space->high;
    for (size_t i = 1, count = corral_space_count(space); i < count; i++) {
        if (space->low_each != NULL && space->low_each[i] < low) low = space->low_each[i];
        if (space->high_each != NULL && space->high_each[i] > high) high = space->high_each[i];
    }
    fputs("Box(", out);
    describe_shape(out, space);
    fprintf(out, ") %s [%g, %g]", space->dtype <= CORRAL_SPACE_I32 ? names[space->dtype] : "", low, high);
}

static void describe_multi_discrete(FILE *out, const corral_space *space)
{
    const size_t count = corral_space_count(space);
    enum { SHOWN = 8 };
    fputs("MultiDiscrete(", out);
    for (size_t i = 0; i < count && i < SHOWN; i++)
        fprintf(out, i == 0 ? "%lld" : ", %lld", (long long)space->nvec[i]);
    fputs(count > SHOWN ? ", ...)" : ")", out);
}

char *corral_space_describe(const corral_space *space)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL) return NULL;
    switch (space->kind) {
    case CORRAL_SPACE_BOX:
        describe_box(out, space);
        break;
    case CORRAL_SPACE_DISCRETE:
        fprintf(out, "Discrete(%lld", (long long)space->n);
        if (space->start != 0) fprintf(out, ", start %lld", (long long)space->start);
        fputc(')', out);
        break;
    case CORRAL_SPACE_MULTI_DISCRETE:
        describe_multi_discrete(out, space);
        break;
    case CORRAL_SPACE_MULTI_BINARY:
        fputs("MultiBinary(", out);
        describe_shape(out, space);
        fputc(')', out);
        break;
    default:
        fprintf(out, "space of unknown kind %u", space->kind);
    }
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
