// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Tables of numbers whose first line names the columns: progress.csv, episodes.csv, monitor files. Cells
/// hold no commas. One reader is used by one thread.
#ifndef CORRAL_RUN_CSV_H
#define CORRAL_RUN_CSV_H

#include "corral/base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum { CSV_COLUMNS_MAX = 256 };

typedef struct csv {
    char *path, *text, *rest;
    char *note; // the line before the names where that begins with '#', without it; else NULL
    char *name[CSV_COLUMNS_MAX], *cell[CSV_COLUMNS_MAX];
    uint32_t name_count, cell_count;
} csv;

/// Reads the whole file. End it with csv_close(), also after a failure.
CORRAL_MUST_USE corral_status csv_open(csv *table, const char *path);
void csv_close(csv *table);

/// CORRAL_ERROR_NOT_FOUND names the nearest column.
CORRAL_MUST_USE corral_status csv_column(const csv *table, const char *name, uint32_t *out_column);

/// Goes to the next line; false at the end.
bool csv_next(csv *table);
/// A cell of the line; false where it is empty, missing or no finite number.
bool csv_number(const csv *table, uint32_t column, double *out_number);

#endif
