// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Writing a checkpoint so that a power loss at any moment leaves the old one or the new one, never half of
// either:
//
//   1. a folder with a temporary name beside the final one; the caller writes its files into it
//   2. each file is flushed and summed, then the manifest is written, then the folder itself is flushed
//   3. one rename gives it its name; where an older checkpoint has that name the two are exchanged in one
//   call, and
//      the older one, now under the temporary name, is removed
//   4. the parent folder is flushed

#include "corral/base/file.h"
#include "corral/proto/checkpoint.h"
#include "file_sum.h"
#include "manifest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct corral_checkpoint_writer {
    char *path; // the final name, without a slash at the end
    char *temporary_path;
};

static corral_status status_of_errno(int error)
{
    return error == ENOSPC || error == EDQUOT ? CORRAL_ERROR_FULL : CORRAL_ERROR_IO;
}

static void writer_free(corral_checkpoint_writer *writer)
{
    if (writer == NULL) return;
    free(writer->path);
    free(writer->temporary_path);
    free(writer);
}

static char *copy_without_end_slashes(const char *path)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    return strndup(path, length);
}

static corral_status make_temporary_folder(corral_checkpoint_writer *writer)
{
    static _Atomic unsigned serial; // with the process's number it makes the name ours
    int error = EEXIST;
    for (int attempt = 0; attempt < 100 && error == EEXIST; attempt++) {
        free(writer->temporary_path);
        writer->temporary_path =
            corral_format("%s.tmp-%ld-%u", writer->path, (long)getpid(), atomic_fetch_add(&serial, 1));
        if (writer->temporary_path == NULL)
            return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory to write %s", writer->path);
        error = mkdir(writer->temporary_path, 0777) == 0 ? 0 : errno;
    }
    if (error == 0) return CORRAL_OK;
    return corral_fail_errno(status_of_errno(error), error, "cannot create the checkpoint %s", writer->path);
}

corral_status corral_checkpoint_begin(const char *path, corral_checkpoint_writer **out_writer)
{
    corral_checkpoint_writer *writer = calloc(1, sizeof *writer);
    if (writer != NULL) writer->path = copy_without_end_slashes(path);
    if (writer == NULL || writer->path == NULL) {
        writer_free(writer);
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory to write %s", path);
    }
    const corral_status status = make_temporary_folder(writer);
    if (status != CORRAL_OK) {
        writer_free(writer);
        return status;
    }
    *out_writer = writer;
    return CORRAL_OK;
}

char *corral_checkpoint_file(const corral_checkpoint_writer *writer, const char *name)
{
    CORRAL_ASSERT(corral_manifest_name_fits(name));
    return corral_format("%s/%s", writer->temporary_path, name);
}

static corral_status list_files(const char *shown, DIR *entries, corral_manifest *manifest)
{
    corral_status status = CORRAL_OK;
    for (const struct dirent *entry; status == CORRAL_OK && (entry = readdir(entries)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        corral_file_sum sum;
        status = corral_file_sum_and_sync(dirfd(entries), shown, entry->d_name, &sum);
        if (status == CORRAL_OK)
            status = corral_manifest_add(manifest, entry->d_name, sum.size, sum.checksum);
    }
    return status;
}

static corral_status write_manifest(const corral_checkpoint_writer *writer)
{
    DIR *entries = opendir(writer->temporary_path);
    if (entries == NULL)
        return corral_fail_errno(CORRAL_ERROR_IO, errno, "cannot open the folder %s", writer->temporary_path);
    corral_manifest manifest = {0};
    corral_status status = list_files(writer->temporary_path, entries, &manifest);
    closedir(entries);
    if (status == CORRAL_OK && manifest.count == 0)
        status = corral_fail(CORRAL_ERROR_INVALID, "the checkpoint %s holds no files", writer->path);

    char *text = NULL;
    if (status == CORRAL_OK) status = corral_manifest_print(&manifest, &text);
    corral_manifest_finish(&manifest);
    char *path = corral_format("%s/" CORRAL_MANIFEST_NAME, writer->temporary_path);
    if (status == CORRAL_OK && path == NULL)
        status = corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory to write %s", writer->path);
    if (status == CORRAL_OK) status = corral_file_write(path, text, strlen(text));
    free(path);
    free(text);
    return status;
}

// For file systems that cannot exchange: the older one steps aside first. A crash between the two renames
// leaves both, complete, under other names.
static int replace_in_two_steps(const corral_checkpoint_writer *writer)
{
    char *aside = corral_format("%s-old", writer->temporary_path);
    if (aside == NULL) return ENOMEM;
    int error = rename(writer->path, aside) == 0 ? 0 : errno;
    if (error == 0 && rename(writer->temporary_path, writer->path) != 0) {
        error = errno;
        if (rename(aside, writer->path) != 0) error = errno;
    } else if (error == 0 && rename(aside, writer->temporary_path) != 0) {
        error = errno;
    }
    free(aside);
    return error;
}

// Afterwards the new one has its name; `*out_replaced` where the older one is under the temporary name now.
static int give_name(const corral_checkpoint_writer *writer, bool *out_replaced)
{
    *out_replaced = false;
    if (rename(writer->temporary_path, writer->path) == 0) return 0;
    if (errno != ENOTEMPTY && errno != EEXIST) return errno;
    *out_replaced = true;
    if (renameat2(AT_FDCWD, writer->temporary_path, AT_FDCWD, writer->path, RENAME_EXCHANGE) == 0) return 0;
    return errno == EINVAL || errno == ENOSYS ? replace_in_two_steps(writer) : errno;
}

static corral_status sync_parent(const char *path)
{
    char *parent = strdup(path);
    if (parent == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory to write %s", path);
    char *slash = strrchr(parent, '/');
    if (slash == parent) slash++; // the root's own name is the slash
    if (slash != NULL) *slash = '\0';
    const corral_status status = corral_folder_sync(slash != NULL ? parent : ".");
    free(parent);
    return status;
}

static corral_status publish(const corral_checkpoint_writer *writer)
{
    bool replaced = false;
    const int error = give_name(writer, &replaced);
    if (error != 0)
        return corral_fail_errno(status_of_errno(error), error, "cannot give the checkpoint its name %s",
                                 writer->path);
    corral_status status = sync_parent(writer->path);
    if (status == CORRAL_OK && replaced) status = corral_folder_remove(writer->temporary_path);
    return status;
}

corral_status corral_checkpoint_commit(corral_checkpoint_writer *writer)
{
    corral_status status = write_manifest(writer);
    if (status == CORRAL_OK) status = corral_folder_sync(writer->temporary_path);
    if (status == CORRAL_OK) status = publish(writer);
    if (status == CORRAL_OK)
        writer_free(writer);
    else
        corral_checkpoint_abandon(writer);
    return status;
}

void corral_checkpoint_abandon(corral_checkpoint_writer *writer)
{
    if (writer == NULL) return;
    // The sentence of the failure that led here is worth more than one about the leftovers.
    char *sentence = strdup(corral_last_error());
    if (corral_folder_remove(writer->temporary_path) != CORRAL_OK && sentence != NULL && sentence[0] != '\0')
        (void)corral_fail(CORRAL_ERROR_IO, "%s", sentence);
    free(sentence);
    writer_free(writer);
}
