// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "csv.h"

#include "corral/base/config.h"
#include "corral/base/file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const size_t bytes_max = (size_t)256 << 20;

/// Cuts a line at its commas. Returns how many cells there are.
static uint32_t split(char *line, char **cells)
{
    uint32_t count = 0;
    line[strcspn(line, "\r")] = '\0';
    for (char *rest = line; rest != NULL && count < CSV_COLUMNS_MAX;)
        cells[count++] = strsep(&rest, ",");
    return count;
}

corral_status csv_open(csv *t, const char *path)
{
    size_t size;
    *t = (csv){.path = corral_format("%s", path)};
    if (t->path == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a path");
    const corral_status status = corral_file_read(path, bytes_max, &t->text, &size);
    if (status != CORRAL_OK) return status;
    t->rest = t->text;
    char *line = strsep(&t->rest, "\n");
    if (line[0] == '#') {
        t->note = line + 1;
        line = t->rest != NULL ? strsep(&t->rest, "\n") : line + strlen(line);
    }
    t->name_count = split(line, t->name);
    return CORRAL_OK;
}

void csv_close(csv *t)
{
    free(t->path);
    free(t->text);
    *t = (csv){0};
}

corral_status csv_column(const csv *t, const char *name, uint32_t *out_column)
{
    for (uint32_t i = 0; i < t->name_count; i++) {
        if (strcmp(t->name[i], name) != 0) continue;
        *out_column = i;
        return CORRAL_OK;
    }
    const char *near = corral_nearest(name, (const char *const *)t->name, t->name_count);
    if (near != NULL)
        return corral_fail(CORRAL_ERROR_NOT_FOUND, "%s has no column %s; did you mean %s?", t->path, name,
                           near);
    return corral_fail(CORRAL_ERROR_NOT_FOUND, "%s has no column %s; its first line lists them", t->path,
                       name);
}

bool csv_next(csv *t)
{
    if (t->rest == NULL) return false;
    t->cell_count = split(strsep(&t->rest, "\n"), t->cell);
    return true;
}

bool csv_number(const csv *t, uint32_t column, double *out)
{
    if (column >= t->cell_count || t->cell[column][0] == '\0') return false;
    char *end;
    *out = strtod(t->cell[column], &end);
    return *end == '\0' && isfinite(*out);
}
