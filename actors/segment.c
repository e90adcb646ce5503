// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A segment's life: memfd_create, posix_fallocate (which says ENOSPC or ENOMEM where a store would raise
/// SIGBUS), seals against shrinking and growing, and a mapping that is populated at once. A reader's
/// descriptor is the same file opened again, O_RDONLY, through /proc/self/fd: the kernel refuses a writable
/// mapping of it.
#include "corral/actors/segment.h"

#include "corral/actors/host_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIZE_SEALS = F_SEAL_SHRINK | F_SEAL_GROW };

static corral_status check_room(const char *name, size_t size)
{
    const uint64_t available = corral_host_memory_available();
    if (size > available || size > INT64_MAX)
        return corral_fail(
            CORRAL_ERROR_FULL,
            "shared memory \"%s\": %zu MiB asked for, %llu MiB left on this host or in its control "
            "group; use fewer or smaller blocks",
            name, size >> 20, (unsigned long long)available >> 20);
    // Growing a file beyond this limit raises SIGXFSZ, which nobody expects of an allocation.
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && size > limit.rlim_cur)
        return corral_fail(
            CORRAL_ERROR_FULL,
            "shared memory \"%s\": %zu bytes asked for, the file size limit is %llu (ulimit -f)", name, size,
            (unsigned long long)limit.rlim_cur);
    return CORRAL_OK;
}

static corral_status allocate(int fd, const char *name, size_t size)
{
    int error = 0;
    do {
        error = posix_fallocate(fd, 0, (off_t)size);
    } while (error == EINTR);
    if (error != 0)
        return corral_fail_errno(CORRAL_ERROR_FULL, error, "shared memory \"%s\": no room for %zu bytes",
                                 name, size);
    if (fcntl(fd, F_ADD_SEALS, SIZE_SEALS | F_SEAL_SEAL) != 0)
        return corral_fail_errno(CORRAL_ERROR_IO, errno, "shared memory \"%s\": cannot seal its size", name);
    // A reader could open its descriptor again with other rights. Not ours to give.
    if (fchmod(fd, 0400) != 0)
        return corral_fail_errno(CORRAL_ERROR_IO, errno, "shared memory \"%s\": cannot set its mode", name);
    return CORRAL_OK;
}

// Fills *out_segment, and takes over `fd` only then.
static corral_status map_pages(int fd, size_t size, bool writable, corral_segment *out_segment)
{
    const int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
    void *data = mmap(NULL, size, protection, MAP_SHARED | MAP_POPULATE, fd, 0);
    if (data == MAP_FAILED)
        return corral_fail_errno(CORRAL_ERROR_FULL, errno, "cannot map %zu bytes of shared memory", size);
    *out_segment = (corral_segment){.fd = fd, .data = data, .size = size, .writable = writable};
    return CORRAL_OK;
}

corral_status corral_segment_create(const char *name, size_t size, corral_segment *out_segment)
{
    *out_segment = (corral_segment){.fd = -1};
    if (size == 0) return corral_fail(CORRAL_ERROR_INVALID, "shared memory \"%s\": a size of 0", name);
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    corral_status status = check_room(name, size);
    if (status != CORRAL_OK) return status;
    size = (size + page - 1) / page * page;

    const int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) return corral_fail_errno(CORRAL_ERROR_IO, errno, "shared memory \"%s\": memfd_create", name);
    status = allocate(fd, name, size);
    if (status == CORRAL_OK) status = map_pages(fd, size, true, out_segment);
    if (status != CORRAL_OK) close(fd);
    return status;
}

corral_status corral_segment_share(const corral_segment *segment, int *out_fd)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", segment->fd);
    *out_fd = open(path, O_RDONLY | O_CLOEXEC);
    if (*out_fd < 0)
        return corral_fail_errno(CORRAL_ERROR_IO, errno, "cannot open shared memory for a reader");
    return CORRAL_OK;
}

static corral_status check_sealed(int fd, bool writable, size_t *out_size)
{
    struct stat about;
    const int seals = fcntl(fd, F_GET_SEALS);
    const int flags = fcntl(fd, F_GETFL);
    if (seals < 0 || flags < 0 || fstat(fd, &about) != 0 || (seals & SIZE_SEALS) != SIZE_SEALS)
        return corral_fail(CORRAL_ERROR_INVALID, "descriptor %d is not shared memory of a sealed size", fd);
    if (about.st_size < sysconf(_SC_PAGESIZE))
        return corral_fail(CORRAL_ERROR_INVALID, "descriptor %d: shared memory of less than one page", fd);
    if (writable && (flags & O_ACCMODE) != O_RDWR)
        return corral_fail(CORRAL_ERROR_REFUSED, "descriptor %d: this shared memory is for reading only", fd);
    *out_size = (size_t)about.st_size;
    return CORRAL_OK;
}

corral_status corral_segment_map(int fd, bool writable, corral_segment *out_segment)
{
    *out_segment = (corral_segment){.fd = -1};
    size_t size = 0;
    corral_status status = check_sealed(fd, writable, &size);
    if (status == CORRAL_OK) status = map_pages(fd, size, writable, out_segment);
    if (status != CORRAL_OK && fd >= 0) close(fd);
    return status;
}

void corral_segment_finish(corral_segment *segment)
{
    if (segment->data != NULL) { // a zeroed one has a descriptor of 0 that is not ours
        munmap(segment->data, segment->size);
        if (segment->fd >= 0) close(segment->fd);
    }
    *segment = (corral_segment){.fd = -1};
}
