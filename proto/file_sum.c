// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "file_sum.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum { PIECE = 1 << 18 };

static corral_status open_file(int folder, const char *shown, const char *name, int *out_descriptor)
{
    // O_NONBLOCK: a named pipe must not hold us here.
    const int descriptor = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (descriptor < 0 && errno == ELOOP)
        return corral_fail(CORRAL_ERROR_CORRUPT, "%s/%s is a link; a checkpoint holds plain files only",
                           shown, name);
    if (descriptor < 0)
        return corral_fail_errno(errno == ENOENT ? CORRAL_ERROR_NOT_FOUND : CORRAL_ERROR_IO, errno,
                                 "cannot open %s/%s", shown, name);
    struct stat about;
    if (fstat(descriptor, &about) != 0 || !S_ISREG(about.st_mode)) {
        close(descriptor);
        return corral_fail(CORRAL_ERROR_CORRUPT, "%s/%s is not a regular file", shown, name);
    }
    *out_descriptor = descriptor;
    return CORRAL_OK;
}

// Gives 0 or an errno.
static int sum_up(int descriptor, XXH3_state_t *state, char *piece, uint64_t *out_size)
{
    uint64_t size = 0;
    for (;;) {
        const ssize_t got = read(descriptor, piece, PIECE);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return errno;
        if (got == 0) break;
        XXH3_64bits_update(state, piece, (size_t)got);
        size += (uint64_t)got;
    }
    *out_size = size;
    return 0;
}

static corral_status sum_file(int folder, const char *shown, const char *name, bool sync,
                              corral_file_sum *out_sum)
{
    int descriptor = -1;
    corral_status status = open_file(folder, shown, name, &descriptor);
    if (status != CORRAL_OK) return status;

    XXH3_state_t *state = XXH3_createState();
    char *piece = malloc(PIECE);
    int error = sync && fsync(descriptor) != 0 ? errno : 0;
    if (state == NULL || piece == NULL) {
        status = corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory to read %s/%s", shown, name);
    } else {
        XXH3_64bits_reset(state);
        if (error == 0) error = sum_up(descriptor, state, piece, &out_sum->size);
        out_sum->checksum = XXH3_64bits_digest(state);
    }
    if (status == CORRAL_OK && error != 0)
        status = corral_fail_errno(error == ENOSPC || error == EDQUOT ? CORRAL_ERROR_FULL : CORRAL_ERROR_IO,
                                   error, "cannot %s %s/%s", sync ? "flush" : "read", shown, name);
    free(piece);
    XXH3_freeState(state);
    close(descriptor);
    return status;
}

corral_status corral_file_sum_of(int folder, const char *shown, const char *name, corral_file_sum *out_sum)
{
    return sum_file(folder, shown, name, false, out_sum);
}

corral_status corral_file_sum_and_sync(int folder, const char *shown, const char *name,
                                       corral_file_sum *out_sum)
{
    return sum_file(folder, shown, name, true, out_sum);
}
