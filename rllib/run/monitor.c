// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "monitor.h"

#include "csv.h"

#include "corral/base/file.h"
#include "corral/rllib/config.h"

#include <cjson/cJSON.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char file_name[] = "monitor.csv";

static bool is_file(const char *path)
{
    const size_t length = strlen(path), end = sizeof file_name - 1;
    return length >= end && strcmp(path + length - end, file_name) == 0;
}

static bool find_files(const char *folder, glob_t *out_found)
{
    char *pattern = corral_format("%s/*%s", folder, file_name);
    *out_found = (glob_t){0};
    const bool found = pattern != NULL && glob(pattern, 0, NULL, out_found) == 0;
    free(pattern);
    return found;
}

bool monitor_is_at(const char *path)
{
    glob_t found;
    if (is_file(path)) return true;
    const bool any = find_files(path, &found);
    globfree(&found);
    return any;
}

// --- reading ----------------------------------------------------------------------------------------------

typedef struct episode_list {
    monitor_episode *episode;
    size_t count, limit;
} episode_list;

static corral_status add(episode_list *list, const monitor_episode *episode)
{
    if (list->count == list->limit) {
        const size_t limit = list->limit == 0 ? 1024 : 2 * list->limit;
        monitor_episode *grown = realloc(list->episode, limit * sizeof *grown);
        if (grown == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for %zu episodes", limit);
        list->episode = grown;
        list->limit = limit;
    }
    list->episode[list->count++] = *episode;
    return CORRAL_OK;
}

/// The time from which a file's seconds count; 0 where it does not say so.
static double start_of(const csv *table)
{
    cJSON *note = table->note != NULL ? cJSON_Parse(table->note) : NULL;
    const double start = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(note, "t_start"));
    cJSON_Delete(note);
    return isfinite(start) ? start : 0;
}

/// Seconds are of the world's clock at first.
static corral_status read_file(const char *path, episode_list *list, double *earliest)
{
    csv table;
    uint32_t r = 0, l = 0, t = 0;
    corral_status status = csv_open(&table, path);
    if (status == CORRAL_OK) status = csv_column(&table, "r", &r);
    if (status == CORRAL_OK) status = csv_column(&table, "l", &l);
    if (status == CORRAL_OK) status = csv_column(&table, "t", &t);
    const double start = status == CORRAL_OK ? start_of(&table) : 0;
    *earliest = fmin(*earliest, start);
    while (status == CORRAL_OK && csv_next(&table)) {
        monitor_episode episode;
        if (!csv_number(&table, r, &episode.episode_return) || !csv_number(&table, l, &episode.length) ||
            !csv_number(&table, t, &episode.seconds))
            continue; // the last line may be half written
        episode.seconds += start;
        status = add(list, &episode);
    }
    csv_close(&table);
    return status;
}

static int by_time(const void *left, const void *right)
{
    const monitor_episode *a = left, *b = right;
    return a->seconds < b->seconds ? -1 : a->seconds > b->seconds;
}

corral_status monitor_read(const char *path, monitor_episode **out_episodes, size_t *out_count)
{
    episode_list list = {0};
    glob_t found = {0};
    char *alone[] = {(char *)(uintptr_t)path};
    const bool many = !is_file(path) && find_files(path, &found);
    char **files = many ? found.gl_pathv : alone;
    const size_t file_count = many ? found.gl_pathc : 1;
    corral_status status = CORRAL_OK;
    double start = INFINITY;
    for (size_t i = 0; i < file_count && status == CORRAL_OK; i++) {
        status = read_file(files[i], &list, &start);
    }
    globfree(&found);
    if (status != CORRAL_OK) {
        free(list.episode);
        return status;
    }
    if (list.count > 1) qsort(list.episode, list.count, sizeof *list.episode, by_time);
    for (size_t i = 0; i < list.count; i++)
        list.episode[i].seconds -= start;
    *out_episodes = list.episode;
    *out_count = list.count;
    return CORRAL_OK;
}

// --- writing ----------------------------------------------------------------------------------------------

/// When a run had made so many steps: progress.csv, read along with the episodes.
typedef struct clock_of_run {
    csv progress;
    uint32_t step_column, time_column;
    double step, seconds;
} clock_of_run;

static corral_status clock_open(clock_of_run *c, const char *run)
{
    char *path = corral_format("%s/progress.csv", run);
    corral_status status =
        path != NULL ? csv_open(&c->progress, path) : corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory");
    free(path);
    if (status == CORRAL_OK) status = csv_column(&c->progress, "time/total_timesteps", &c->step_column);
    if (status == CORRAL_OK) status = csv_column(&c->progress, "time/time_elapsed", &c->time_column);
    return status;
}

static double clock_at(clock_of_run *c, double step)
{
    while (c->step < step && csv_next(&c->progress)) {
        double at, seconds;
        if (!csv_number(&c->progress, c->step_column, &at) ||
            !csv_number(&c->progress, c->time_column, &seconds))
            continue;
        c->step = at;
        c->seconds = seconds;
    }
    return c->seconds;
}

static corral_status write_episodes(FILE *out, csv *episodes, clock_of_run *clock)
{
    uint32_t step, value, length;
    corral_status status = csv_column(episodes, "step", &step);
    if (status == CORRAL_OK) status = csv_column(episodes, "return", &value);
    if (status == CORRAL_OK) status = csv_column(episodes, "length", &length);
    if (status != CORRAL_OK) return status;
    fprintf(out, "r,l,t\n");
    while (csv_next(episodes)) {
        double at, r, l;
        if (!csv_number(episodes, step, &at) || !csv_number(episodes, value, &r) ||
            !csv_number(episodes, length, &l))
            continue;
        fprintf(out, "%.9g,%.0f,%.6f\n", r, l, clock_at(clock, at));
    }
    return CORRAL_OK;
}

static double started(const char *run)
{
    char *path = corral_format("%s/run.json", run), *text = NULL;
    size_t size;
    cJSON *root = NULL;
    if (path != NULL && corral_file_read(path, 1 << 20, &text, &size) == CORRAL_OK) root = cJSON_Parse(text);
    const double seconds = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(root, "started"));
    cJSON_Delete(root);
    free(text);
    free(path);
    return isfinite(seconds) ? seconds : 0;
}

static corral_status environment_of(const char *run, char *out_id, size_t size)
{
    corral_train_config config = corral_train_config_default();
    char *path = corral_format("%s/config.yaml", run);
    const corral_status status = path != NULL ? corral_config_read(corral_train_fields, &config, path)
                                              : corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a path");
    free(path);
    snprintf(out_id, size, "%s", config.env);
    return status;
}

static void write_head(FILE *out, const char *run, const char *env)
{
    cJSON *head = cJSON_CreateObject();
    cJSON_AddNumberToObject(head, "t_start", started(run));
    cJSON_AddStringToObject(head, "env_id", env);
    char *text = cJSON_PrintUnformatted(head);
    fprintf(out, "#%s\n", text != NULL ? text : "{}");
    cJSON_free(text);
    cJSON_Delete(head);
}

corral_status monitor_write(const char *run, const char *path)
{
    char env[CORRAL_ENV_NAME_SIZE], *name = corral_format("%s/episodes.csv", run), *text = NULL;
    size_t size = 0;
    csv episodes = {0};
    clock_of_run clock = {0};
    FILE *out = open_memstream(&text, &size);
    corral_status status = out != NULL && name != NULL
                               ? CORRAL_OK
                               : corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for %s", path);
    if (status == CORRAL_OK) status = environment_of(run, env, sizeof env);
    if (status == CORRAL_OK) status = csv_open(&episodes, name);
    if (status == CORRAL_OK) status = clock_open(&clock, run);
    if (status == CORRAL_OK) {
        write_head(out, run, env);
        status = write_episodes(out, &episodes, &clock);
    }
    if (out != NULL && fclose(out) != 0 && status == CORRAL_OK)
        status = corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for %s", path);
    if (status == CORRAL_OK) status = corral_file_write(path, text, size);
    csv_close(&episodes);
    csv_close(&clock.progress);
    free(name);
    free(text);
    return status;
}
