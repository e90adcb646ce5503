// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "columns.h"

#include <stdlib.h>

int32_t corral_columns_create(const corral_env_host *host, uint32_t count, const double *values,
                              uint32_t value_count, uint32_t width, void **out_columns)
{
    corral_columns *c = calloc(1, sizeof *c);
    double *numbers = calloc(count, width * sizeof *numbers);
    if (c == NULL || numbers == NULL) {
        host->error("no memory for its instances");
        free(c);
        free(numbers);
        return 1;
    }
    c->host = host;
    c->count = count;
    c->width = width;
    for (uint32_t k = 0; k < width; k++)
        c->column[k] = numbers + (size_t)k * count;
    memcpy(c->settings, values, value_count * sizeof *values);
    *out_columns = c;
    return 0;
}

void corral_columns_destroy(void *columns)
{
    corral_columns *c = columns;
    if (c == NULL) return;
    free(c->column[0]);
    free(c);
}

void corral_columns_save(const void *columns, uint32_t index, void *out_state)
{
    const corral_columns *c = columns;
    double state[CORRAL_COLUMNS_MAX];
    for (uint32_t k = 0; k < c->width; k++)
        state[k] = c->column[k][index];
    memcpy(out_state, state, c->width * sizeof *state);
}

int32_t corral_columns_load(void *columns, uint32_t index, const void *saved)
{
    corral_columns *c = columns;
    double state[CORRAL_COLUMNS_MAX];
    memcpy(state, saved, c->width * sizeof *state);
    for (uint32_t k = 0; k < c->width; k++)
        c->column[k][index] = state[k];
    return 0;
}
