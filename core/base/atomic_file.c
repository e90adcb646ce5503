// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "atomic_file.h"

#include "corral/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static corral_status write_failed(const corral_atomic_file *file, int error)
{
    const corral_status status = error == ENOSPC || error == EDQUOT ? CORRAL_ERROR_FULL : CORRAL_ERROR_IO;
    return corral_fail_errno(status, error, "cannot write %s", file->path);
}

corral_status corral_atomic_file_open(corral_atomic_file *file, const char *path)
{
    // Process and serial number make the name ours; a leftover of a dead process with our number is passed
    // over.
    static _Atomic unsigned serial;
    *file = (corral_atomic_file){.path = path, .descriptor = -1};
    int error = EEXIST;
    for (int attempt = 0; attempt < 100 && error == EEXIST; attempt++) {
        free(file->temporary_path);
        file->temporary_path =
            corral_format("%s.tmp-%ld-%u", path, (long)getpid(), atomic_fetch_add(&serial, 1));
        if (file->temporary_path == NULL)
            return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory to write %s", path);
        file->descriptor = open(file->temporary_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        error = file->descriptor >= 0 ? 0 : errno;
    }
    if (error == 0) return CORRAL_OK;
    free(file->temporary_path);
    file->temporary_path = NULL;
    return write_failed(file, error);
}

corral_status corral_atomic_file_write(corral_atomic_file *file, const void *bytes, size_t size)
{
    const char *next = bytes;
    while (size > 0) {
        const ssize_t written = write(file->descriptor, next, size);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return write_failed(file, errno);
        next += written;
        size -= (size_t)written;
    }
    return CORRAL_OK;
}

corral_status corral_atomic_file_commit(corral_atomic_file *file)
{
    int error = fsync(file->descriptor) == 0 ? 0 : errno;
    if (close(file->descriptor) != 0 && error == 0) error = errno;
    file->descriptor = -1;
    if (error == 0 && rename(file->temporary_path, file->path) != 0) error = errno;
    if (error == 0) {
        free(file->temporary_path);
        file->temporary_path = NULL;
        return CORRAL_OK;
    }
    corral_atomic_file_abandon(file);
    return write_failed(file, error);
}

void corral_atomic_file_abandon(corral_atomic_file *file)
{
    if (file->temporary_path == NULL) return;
    if (file->descriptor >= 0) close(file->descriptor);
    unlink(file->temporary_path);
    free(file->temporary_path);
    file->temporary_path = NULL;
}
