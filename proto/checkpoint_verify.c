// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "corral/base/file.h"
#include "corral/proto/checkpoint.h"
#include "file_sum.h"
#include "manifest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static corral_status read_manifest(const char *path, corral_manifest *out_manifest)
{
    char *shown = corral_format("%s/" CORRAL_MANIFEST_NAME, path);
    if (shown == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory to read %s", path);
    char *text = NULL;
    size_t size = 0;
    corral_status status = corral_file_read(shown, CORRAL_MANIFEST_LIMIT, &text, &size);
    if (status == CORRAL_ERROR_NOT_FOUND)
        (void)corral_fail(status, "%s is not a checkpoint: it has no " CORRAL_MANIFEST_NAME, path);
    if (status == CORRAL_OK) status = corral_manifest_parse(shown, text, size, out_manifest);
    free(text);
    free(shown);
    return status;
}

static corral_status check_size(const char *path, int folder, const corral_manifest_file *file)
{
    // Before any byte is read: a wrong size needs no checksum, and must not cost the time of one.
    struct stat about;
    if (fstatat(folder, file->name, &about, AT_SYMLINK_NOFOLLOW) != 0)
        return corral_fail_errno(errno == ENOENT ? CORRAL_ERROR_CORRUPT : CORRAL_ERROR_IO, errno,
                                 "%s/%s is in " CORRAL_MANIFEST_NAME " and cannot be found", path,
                                 file->name);
    if ((uint64_t)about.st_size != file->size && S_ISREG(about.st_mode))
        return corral_fail(CORRAL_ERROR_CORRUPT,
                           "%s/%s: %lld bytes instead of the %llu in " CORRAL_MANIFEST_NAME
                           "; the file is damaged",
                           path, file->name, (long long)about.st_size, (unsigned long long)file->size);
    return CORRAL_OK;
}

static corral_status check_file(const char *path, int folder, const corral_manifest_file *file)
{
    corral_file_sum sum;
    corral_status status = check_size(path, folder, file);
    if (status == CORRAL_OK) status = corral_file_sum_of(folder, path, file->name, &sum);
    if (status != CORRAL_OK) return status;
    if (sum.size == file->size && sum.checksum == file->checksum) return CORRAL_OK;
    return corral_fail(CORRAL_ERROR_CORRUPT,
                       "%s/%s: checksum differs from " CORRAL_MANIFEST_NAME "; the file is damaged", path,
                       file->name);
}

// A file that the manifest does not list has no checksum, yet a loader might pick it up by name. Hidden
// files, which file managers leave behind, are nobody's input.
static corral_status check_nothing_else(const char *path, DIR *entries, const corral_manifest *manifest)
{
    for (const struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        const char *name = entry->d_name;
        if (name[0] == '.' || strcmp(name, CORRAL_MANIFEST_NAME) == 0) continue;
        if (corral_manifest_find(manifest, name) == NULL)
            return corral_fail(CORRAL_ERROR_CORRUPT,
                               "%s/%s is not in " CORRAL_MANIFEST_NAME "; move it out of the checkpoint",
                               path, name);
    }
    return CORRAL_OK;
}

corral_status corral_checkpoint_verify(const char *path)
{
    corral_manifest manifest = {0};
    corral_status status = read_manifest(path, &manifest);
    if (status != CORRAL_OK) return status;
    DIR *entries = opendir(path);
    if (entries == NULL)
        status = corral_fail_errno(CORRAL_ERROR_IO, errno, "cannot open the folder %s", path);
    for (size_t i = 0; i < manifest.count && status == CORRAL_OK; i++)
        status = check_file(path, dirfd(entries), &manifest.files[i]);
    if (status == CORRAL_OK) status = check_nothing_else(path, entries, &manifest);
    if (entries != NULL) closedir(entries);
    corral_manifest_finish(&manifest);
    return status;
}
