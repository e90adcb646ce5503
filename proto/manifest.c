// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "manifest.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT_NAME "corral-checkpoint"

enum { FORMAT_VERSION = 1, NAME_LIMIT = 255, CHECKSUM_DIGITS = 16 };

static const double largest_exact = 9007199254740992.0; // 2^53: JSON numbers are doubles

bool corral_manifest_name_fits(const char *name)
{
    const size_t length = strlen(name);
    return length > 0 && length <= NAME_LIMIT && strchr(name, '/') == NULL && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0 && strcmp(name, CORRAL_MANIFEST_NAME) != 0;
}

corral_status corral_manifest_add(corral_manifest *manifest, const char *name, uint64_t size,
                                  uint64_t checksum)
{
    if (manifest->count == CORRAL_MANIFEST_FILES)
        return corral_fail(CORRAL_ERROR_INVALID, "more than %d files in one checkpoint",
                           CORRAL_MANIFEST_FILES);
    corral_manifest_file *files = realloc(manifest->files, (manifest->count + 1) * sizeof *files);
    if (files != NULL) manifest->files = files;
    char *copy = files != NULL ? strdup(name) : NULL;
    if (copy == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a checkpoint's manifest");
    files[manifest->count++] = (corral_manifest_file){.name = copy, .size = size, .checksum = checksum};
    return CORRAL_OK;
}

const corral_manifest_file *corral_manifest_find(const corral_manifest *manifest, const char *name)
{
    for (size_t i = 0; i < manifest->count; i++)
        if (strcmp(manifest->files[i].name, name) == 0) return &manifest->files[i];
    return NULL;
}

void corral_manifest_finish(corral_manifest *manifest)
{
    for (size_t i = 0; i < manifest->count; i++)
        free(manifest->files[i].name);
    free(manifest->files);
    *manifest = (corral_manifest){0};
}

// --- reading
// ---------------------------------------------------------------------------------------------------------

static bool read_size(const cJSON *entry, uint64_t *out_size)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(entry, "size");
    if (!cJSON_IsNumber(item)) return false;
    const double size = item->valuedouble;
    if (!(size >= 0.0 && size <= largest_exact) || size != floor(size)) return false;
    *out_size = (uint64_t)size;
    return true;
}

static bool read_checksum(const cJSON *entry, uint64_t *out_checksum)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(entry, "xxh3");
    if (!cJSON_IsString(item)) return false;
    const char *digits = item->valuestring;
    if (strlen(digits) != CHECKSUM_DIGITS || strspn(digits, "0123456789abcdef") != CHECKSUM_DIGITS)
        return false;
    *out_checksum = strtoull(digits, NULL, 16);
    return true;
}

static corral_status read_entry(const char *shown, const cJSON *entry, corral_manifest *manifest)
{
    const char *name = entry->string;
    uint64_t size = 0, checksum = 0;
    if (!corral_manifest_name_fits(name))
        return corral_fail(CORRAL_ERROR_CORRUPT, "%s: \"%.80s\" is not a name of a file in this folder",
                           shown, name);
    if (!read_size(entry, &size) || !read_checksum(entry, &checksum))
        return corral_fail(CORRAL_ERROR_CORRUPT, "%s: %.80s has no proper size and checksum", shown, name);
    if (corral_manifest_find(manifest, name) != NULL)
        return corral_fail(CORRAL_ERROR_CORRUPT, "%s: %.80s is listed twice", shown, name);
    return corral_manifest_add(manifest, name, size, checksum);
}

static corral_status read_files(const char *shown, const cJSON *root, corral_manifest *manifest)
{
    const cJSON *format = cJSON_GetObjectItemCaseSensitive(root, "format");
    const cJSON *version = cJSON_GetObjectItemCaseSensitive(root, "version");
    const cJSON *files = cJSON_GetObjectItemCaseSensitive(root, "files");
    if (!cJSON_IsString(format) || strcmp(format->valuestring, FORMAT_NAME) != 0 || !cJSON_IsNumber(version))
        return corral_fail(CORRAL_ERROR_CORRUPT, "%s is not the manifest of a checkpoint", shown);
    if (version->valuedouble != FORMAT_VERSION)
        return corral_fail(CORRAL_ERROR_VERSION, "%s has version %g, this program reads %d", shown,
                           version->valuedouble, FORMAT_VERSION);
    if (!cJSON_IsObject(files) || files->child == NULL)
        return corral_fail(CORRAL_ERROR_CORRUPT, "%s lists no files", shown);
    corral_status status = CORRAL_OK;
    for (const cJSON *entry = files->child; entry != NULL && status == CORRAL_OK; entry = entry->next)
        status = read_entry(shown, entry, manifest);
    return status;
}

corral_status corral_manifest_parse(const char *shown, const char *text, size_t size,
                                    corral_manifest *out_manifest)
{
    *out_manifest = (corral_manifest){0};
    cJSON *root = cJSON_ParseWithLength(text, size);
    if (root == NULL) return corral_fail(CORRAL_ERROR_CORRUPT, "%s is not JSON; the file is damaged", shown);
    const corral_status status = read_files(shown, root, out_manifest);
    cJSON_Delete(root);
    if (status != CORRAL_OK) corral_manifest_finish(out_manifest);
    return status;
}

// --- writing
// ---------------------------------------------------------------------------------------------------------

static int by_name(const void *a, const void *b)
{
    return strcmp(((const corral_manifest_file *)a)->name, ((const corral_manifest_file *)b)->name);
}

static bool print_entry(cJSON *files, const corral_manifest_file *file)
{
    char digits[CHECKSUM_DIGITS + 1];
    snprintf(digits, sizeof digits, "%016" PRIx64, file->checksum);
    cJSON *entry = cJSON_AddObjectToObject(files, file->name);
    return entry != NULL && cJSON_AddNumberToObject(entry, "size", (double)file->size) != NULL &&
           cJSON_AddStringToObject(entry, "xxh3", digits) != NULL;
}

corral_status corral_manifest_print(corral_manifest *manifest, char **out_text)
{
    if (manifest->count > 0) qsort(manifest->files, manifest->count, sizeof *manifest->files, by_name);
    cJSON *root = cJSON_CreateObject();
    bool complete = cJSON_AddStringToObject(root, "format", FORMAT_NAME) != NULL &&
                    cJSON_AddNumberToObject(root, "version", FORMAT_VERSION) != NULL;
    cJSON *files = cJSON_AddObjectToObject(root, "files");
    for (size_t i = 0; i < manifest->count && complete; i++)
        complete = print_entry(files, &manifest->files[i]);
    *out_text = complete ? cJSON_Print(root) : NULL;
    cJSON_Delete(root);
    if (*out_text == NULL)
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a checkpoint's manifest");
    return CORRAL_OK;
}
