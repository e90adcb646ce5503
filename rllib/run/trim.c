// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Rows are written in order of time, and steps never fall from one row to the next. So each file is cut once,
// before its first row of a later step: a single truncation, which needs no copy and cannot be half done.
// Text files have their step at the start of each line, behind a prefix that is the same for all;
// TensorBoard's files have it in the record (the format is in tfevents.c).

#include "trim.h"

#include "tfevents.h"

#include "corral/base/file.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/// Reads one row. False where it is damaged, or at the end. A head line counts as step 0.
typedef bool row_reader(FILE *file, void *context, uint64_t *out_step);

static corral_status cut(const char *path, row_reader *read_row, void *context, uint64_t last_step)
{
    FILE *file = fopen(path, "r+e");
    if (file == NULL && errno == ENOENT) return CORRAL_OK;
    if (file == NULL) return corral_fail_errno(CORRAL_ERROR_IO, errno, "cannot open %s", path);
    off_t keep = 0;
    for (uint64_t step; read_row(file, context, &step) && step <= last_step;)
        keep = ftello(file);
    const int error = ftruncate(fileno(file), keep) == 0 ? 0 : errno;
    fclose(file);
    if (error == 0) return CORRAL_OK;
    return corral_fail_errno(CORRAL_ERROR_IO, error, "cannot cut %s at step %llu", path,
                             (unsigned long long)last_step);
}

// --- lines
// ----------------------------------------------------------------------------------------------------------

typedef struct line_format {
    const char *prefix;
    char *line; // getline's
    size_t room;
    bool started;
} line_format;

static bool read_line(FILE *file, void *context, uint64_t *out_step)
{
    line_format *format = context;
    const ssize_t length = getline(&format->line, &format->room, file);
    if (length <= 0 || format->line[length - 1] != '\n') return false;
    const bool first = !format->started;
    format->started = true;
    const size_t prefix = strlen(format->prefix);
    const char *digits = format->line + prefix;
    *out_step = 0;
    if ((size_t)length <= prefix || strncmp(format->line, format->prefix, prefix) != 0) return first;
    if (*digits < '0' || *digits > '9') return first;
    *out_step = strtoull(digits, NULL, 10);
    return true;
}

static corral_status cut_lines(const char *path, const char *prefix, uint64_t last_step)
{
    line_format format = {.prefix = prefix};
    const corral_status status = cut(path, read_line, &format, last_step);
    free(format.line);
    return status;
}

// --- TensorBoard's records
// -------------------------------------------------------------------------------------------

static bool read_event(FILE *file, void *context, uint64_t *out_step)
{
    (void)context;
    return tfevents_read_step(file, out_step);
}

// --- the folder
// ------------------------------------------------------------------------------------------------------

static corral_status cut_entry(const char *folder, const char *name, uint64_t last_step)
{
    static const char *const lines[][2] = {
        {"progress.csv", ""}, {"metrics.jsonl", "{\"time/total_timesteps\": "}, {"episodes.csv", ""}};
    char *path = corral_format("%s/%s", folder, name);
    if (path == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a path");
    corral_status status = CORRAL_OK;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0] && status == CORRAL_OK; i++)
        if (strcmp(name, lines[i][0]) == 0) status = cut_lines(path, lines[i][1], last_step);
    if (strncmp(name, TFEVENTS_PREFIX, strlen(TFEVENTS_PREFIX)) == 0)
        status = cut(path, read_event, NULL, last_step);
    free(path);
    return status;
}

corral_status run_trim(const char *folder, uint64_t last_step)
{
    DIR *entries = opendir(folder);
    if (entries == NULL)
        return corral_fail_errno(CORRAL_ERROR_IO, errno, "cannot open the run folder %s", folder);
    corral_status status = CORRAL_OK;
    for (const struct dirent *entry; status == CORRAL_OK && (entry = readdir(entries)) != NULL;)
        status = cut_entry(folder, entry->d_name, last_step);
    closedir(entries);
    return status;
}
