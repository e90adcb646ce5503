// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "corral/base/file.h"

#include "atomic_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static corral_status open_regular(const char *path, size_t limit, int *out_descriptor, size_t *out_size)
{
    // Without O_NONBLOCK a named pipe would hold us here before we can see that it is one.
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        return corral_fail_errno(errno == ENOENT ? CORRAL_ERROR_NOT_FOUND : CORRAL_ERROR_IO, errno,
                                 "cannot open %s", path);
    struct stat about;
    corral_status status = CORRAL_OK;
    if (fstat(descriptor, &about) != 0)
        status = corral_fail_errno(CORRAL_ERROR_IO, errno, "cannot look at %s", path);
    else if (!S_ISREG(about.st_mode))
        status = corral_fail(CORRAL_ERROR_INVALID, "%s is not a regular file", path);
    else if ((uint64_t)about.st_size > limit)
        status = corral_fail(CORRAL_ERROR_INVALID, "%s has %lld bytes, more than the %zu that are read here",
                             path, (long long)about.st_size, limit);
    if (status != CORRAL_OK) {
        close(descriptor);
        return status;
    }
    *out_descriptor = descriptor;
    *out_size = (size_t)about.st_size;
    return CORRAL_OK;
}

// Up to `size` bytes; fewer when the file ends earlier.
static corral_status read_bytes(int descriptor, const char *path, char *bytes, size_t size, size_t *out_size)
{
    size_t have = 0;
    while (have < size) {
        const ssize_t got = read(descriptor, bytes + have, size - have);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return corral_fail_errno(CORRAL_ERROR_IO, errno, "cannot read %s", path);
        if (got == 0) break;
        have += (size_t)got;
    }
    *out_size = have;
    return CORRAL_OK;
}

corral_status corral_file_read(const char *path, size_t limit, char **out_bytes, size_t *out_size)
{
    int descriptor = -1;
    size_t size = 0;
    corral_status status = open_regular(path, limit, &descriptor, &size);
    if (status != CORRAL_OK) return status;

    char *bytes = malloc(size + 1);
    if (bytes == NULL) {
        close(descriptor);
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for the %zu bytes of %s", size, path);
    }
    status = read_bytes(descriptor, path, bytes, size, &size);
    close(descriptor);
    if (status != CORRAL_OK) {
        free(bytes);
        return status;
    }
    bytes[size] = '\0';
    *out_bytes = bytes;
    *out_size = size;
    return CORRAL_OK;
}

corral_status corral_file_write(const char *path, const void *bytes, size_t size)
{
    corral_atomic_file file;
    corral_status status = corral_atomic_file_open(&file, path);
    if (status == CORRAL_OK) status = corral_atomic_file_write(&file, bytes, size);
    if (status == CORRAL_OK) status = corral_atomic_file_commit(&file);
    corral_atomic_file_abandon(&file);
    return status;
}

static corral_status make_one_folder(const char *path)
{
    struct stat about;
    if (mkdir(path, 0777) == 0) return CORRAL_OK;
    const int error = errno; // some systems say EROFS or EACCES for a folder that is already there
    if (stat(path, &about) == 0 && S_ISDIR(about.st_mode)) return CORRAL_OK;
    return corral_fail_errno(CORRAL_ERROR_IO, error, "cannot create the folder %s", path);
}

corral_status corral_folder_create(const char *path)
{
    char *prefix = strdup(path);
    if (prefix == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory to create %s", path);
    corral_status status = CORRAL_OK;
    for (char *slash = strchr(prefix + (prefix[0] != '\0'), '/'); slash != NULL && status == CORRAL_OK;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        status = make_one_folder(prefix);
        *slash = '/';
    }
    if (status == CORRAL_OK) status = make_one_folder(prefix);
    free(prefix);
    return status;
}

static int remove_entries(int folder);

// Gives 0 or an errno. Everything goes through descriptors of folders that were opened without following
// links, so that a link put in place meanwhile leads nowhere.
static int remove_entry(int parent, const char *name)
{
    if (unlinkat(parent, name, 0) == 0) return 0;
    if (errno != EISDIR && errno != EPERM) return errno;
    const int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0) return errno;
    const int error = remove_entries(folder);
    if (error != 0) return error;
    return unlinkat(parent, name, AT_REMOVEDIR) == 0 ? 0 : errno;
}

// Takes the descriptor over.
static int remove_entries(int folder)
{
    DIR *entries = fdopendir(folder);
    if (entries == NULL) {
        const int error = errno;
        close(folder);
        return error;
    }
    int error = 0;
    while (error == 0) {
        errno = 0;
        const struct dirent *entry = readdir(entries);
        if (entry == NULL) {
            error = errno;
            break;
        }
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        error = remove_entry(dirfd(entries), entry->d_name);
        if (error == ENOENT) error = 0; // somebody else was faster
    }
    closedir(entries);
    return error;
}

corral_status corral_folder_remove(const char *path)
{
    const int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0 && errno == ENOENT) return CORRAL_OK;
    int error = folder < 0 ? errno : remove_entries(folder);
    if (error == 0 && rmdir(path) != 0) error = errno;
    if (error == 0) return CORRAL_OK;
    return corral_fail_errno(CORRAL_ERROR_IO, error, "cannot remove the folder %s", path);
}

corral_status corral_folder_sync(const char *path)
{
    const int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return corral_fail_errno(CORRAL_ERROR_IO, errno, "cannot open the folder %s", path);
    // Some file systems cannot sync a folder and say EINVAL: there is nothing more to be done there.
    const int error = fsync(folder) == 0 || errno == EINVAL ? 0 : errno;
    close(folder);
    if (error == 0) return CORRAL_OK;
    return corral_fail_errno(CORRAL_ERROR_IO, error, "cannot flush the folder %s to the disk", path);
}

char *corral_format(const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    const int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    return length >= 0 ? text : NULL;
}

corral_status corral_program_folder(char **out_path)
{
    char path[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length < 0) return corral_fail_errno(CORRAL_ERROR_IO, errno, "cannot find this program's own file");
    path[length] = '\0';
    char *slash = strrchr(path, '/');
    if (slash == NULL) return corral_fail(CORRAL_ERROR_IO, "this program's own file has no folder: %s", path);
    *slash = '\0';
    char *copy = strdup(path);
    if (copy == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a path");
    *out_path = copy;
    return CORRAL_OK;
}
