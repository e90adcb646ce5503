// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "corral/base/file.h"
#include "corral/proto/checkpoint.h"
#include "manifest.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FOLDER_NAME "checkpoints"
#define BEST_NAME   "best.json"

enum { BEST_LIMIT = 4096, STEP_DIGITS = 20 };

static bool exists(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0;
}

static bool holds(const char *path, const char *name)
{
    char *inside = corral_format("%s/%s", path, name);
    const bool found = inside != NULL && exists(inside);
    free(inside);
    return found;
}

// The number of a folder called just "20480". Other names, "020480" among them, are not ours.
static bool read_step(const char *name, uint64_t *out_step)
{
    const size_t length = strlen(name);
    if (length == 0 || length > STEP_DIGITS || strspn(name, "0123456789") != length) return false;
    if (name[0] == '0' && length > 1) return false;
    errno = 0;
    *out_step = strtoull(name, NULL, 10);
    return errno == 0;
}

typedef struct step_list {
    uint64_t *steps; // ascending
    size_t count;
} step_list;

static int ascending(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static corral_status collect_steps(DIR *entries, step_list *list)
{
    size_t room = 0;
    for (const struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        uint64_t step = 0;
        if (!read_step(entry->d_name, &step)) continue;
        if (list->count == room) {
            room = room == 0 ? 16 : room * 2;
            uint64_t *steps = realloc(list->steps, room * sizeof *steps);
            if (steps == NULL)
                return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a list of checkpoints");
            list->steps = steps;
        }
        list->steps[list->count++] = step;
    }
    if (list->count > 0) qsort(list->steps, list->count, sizeof *list->steps, ascending);
    return CORRAL_OK;
}

static corral_status list_steps(const char *run_path, step_list *out_list)
{
    *out_list = (step_list){0};
    char *path = corral_format("%s/" FOLDER_NAME, run_path);
    if (path == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a path");
    DIR *entries = opendir(path);
    corral_status status = CORRAL_OK;
    if (entries == NULL && errno != ENOENT)
        status = corral_fail_errno(CORRAL_ERROR_IO, errno, "cannot open the folder %s", path);
    if (entries != NULL) {
        status = collect_steps(entries, out_list);
        closedir(entries);
    }
    free(path);
    return status;
}

// --- the best one
// ----------------------------------------------------------------------------------------------------

static bool parse_best(const char *text, size_t size, uint64_t *out_step)
{
    cJSON *root = cJSON_ParseWithLength(text, size);
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, "step");
    const double step = cJSON_IsNumber(item) ? item->valuedouble : -1.0;
    cJSON_Delete(root);
    if (!(step >= 0.0 && step < 9007199254740992.0) || step != floor(step)) return false;
    *out_step = (uint64_t)step;
    return true;
}

static corral_status read_best(const char *run_path, uint64_t *out_step)
{
    char *path = corral_format("%s/" FOLDER_NAME "/" BEST_NAME, run_path);
    if (path == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a path");
    char *text = NULL;
    size_t size = 0;
    corral_status status = corral_file_read(path, BEST_LIMIT, &text, &size);
    if (status == CORRAL_ERROR_NOT_FOUND)
        (void)corral_fail(status, "%s has no best checkpoint: it was not evaluated yet", run_path);
    if (status == CORRAL_OK && !parse_best(text, size, out_step))
        status = corral_fail(CORRAL_ERROR_CORRUPT, "%s does not hold {\"step\": N}", path);
    free(text);
    free(path);
    return status;
}

corral_status corral_checkpoint_set_best(const char *run_path, uint64_t step)
{
    char *path = corral_format("%s/" FOLDER_NAME "/" BEST_NAME, run_path);
    char *text = corral_format("{\"step\": %" PRIu64 "}\n", step);
    corral_status status = CORRAL_OK;
    if (path == NULL || text == NULL) status = corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a path");
    if (status == CORRAL_OK) status = corral_file_write(path, text, strlen(text));
    free(text);
    free(path);
    return status;
}

// --- finding
// ---------------------------------------------------------------------------------------------------------

static corral_status find_last(const char *run_path, uint64_t *out_step)
{
    step_list list;
    corral_status status = list_steps(run_path, &list);
    if (status == CORRAL_OK && list.count == 0)
        status = corral_fail(CORRAL_ERROR_NOT_FOUND, "%s holds no checkpoint; name a run or a checkpoint",
                             run_path);
    if (status == CORRAL_OK) *out_step = list.steps[list.count - 1];
    free(list.steps);
    return status;
}

corral_status corral_checkpoint_find(const char *path, int best, char **out_path)
{
    if (!exists(path))
        return corral_fail_errno(CORRAL_ERROR_NOT_FOUND, errno, "no run or checkpoint at %s", path);
    char *found = NULL;
    if (holds(path, CORRAL_MANIFEST_NAME)) {
        found = strdup(path);
    } else {
        uint64_t step = 0;
        const corral_status status = best ? read_best(path, &step) : find_last(path, &step);
        if (status != CORRAL_OK) return status;
        found = corral_format("%s/" FOLDER_NAME "/%" PRIu64, path, step);
    }
    if (found == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a path");
    *out_path = found;
    return CORRAL_OK;
}

// --- pruning
// ---------------------------------------------------------------------------------------------------------

static bool is_named(const char *name, const char *const *names)
{
    for (; names != NULL && *names != NULL; names++)
        if (strcmp(name, *names) == 0) return true;
    return false;
}

static corral_status remove_step(const char *run_path, uint64_t step, const char *const *also_keep)
{
    char name[STEP_DIGITS + 1];
    snprintf(name, sizeof name, "%" PRIu64, step);
    if (is_named(name, also_keep)) return CORRAL_OK;
    char *path = corral_format("%s/" FOLDER_NAME "/%s", run_path, name);
    if (path == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a path");
    const corral_status status = corral_folder_remove(path);
    free(path);
    return status;
}

// A run has one writer, and it is here now: a folder with a temporary name was left by a process that is
// gone.
static corral_status remove_leftovers(const char *run_path)
{
    char *folder = corral_format("%s/" FOLDER_NAME, run_path);
    DIR *entries = folder != NULL ? opendir(folder) : NULL;
    corral_status status = CORRAL_OK;
    for (const struct dirent *entry;
         entries != NULL && status == CORRAL_OK && (entry = readdir(entries)) != NULL;) {
        const char *mark = strstr(entry->d_name, ".tmp-");
        if (mark == NULL || mark == entry->d_name || entry->d_type == DT_REG) continue;
        char *path = corral_format("%s/%s", folder, entry->d_name);
        if (path != NULL) status = corral_folder_remove(path);
        free(path);
    }
    if (entries != NULL) closedir(entries);
    free(folder);
    return status;
}

corral_status corral_checkpoint_prune(const char *run_path, uint32_t keep, const char *const *also_keep)
{
    uint64_t best = 0;
    const bool has_best = read_best(run_path, &best) == CORRAL_OK;
    step_list list;
    corral_status status = list_steps(run_path, &list);
    const size_t kept = keep > 0 ? keep : 1; // never without the newest
    for (size_t i = 0; i + kept < list.count && status == CORRAL_OK; i++)
        if (!has_best || list.steps[i] != best) status = remove_step(run_path, list.steps[i], also_keep);
    free(list.steps);
    if (status == CORRAL_OK) status = remove_leftovers(run_path);
    return status;
}
