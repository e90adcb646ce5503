// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Shared memory with one writer. A memfd: no name, so nothing is left behind whatever dies.
///
/// Created at its full size, allocated and touched, so that running out of memory is an error here and never
/// a SIGBUS later. Sealed against shrinking and growing. Readers get a descriptor that cannot be mapped
/// writable.
#ifndef CORRAL_ACTORS_SEGMENT_H
#define CORRAL_ACTORS_SEGMENT_H

#include "corral/base/status.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct corral_segment {
    int fd;     // -1: none
    void *data; // page-aligned
    size_t size;
    bool writable;
} corral_segment;

/// `name` is what /proc shows. CORRAL_ERROR_FULL names the size that could not be had.
CORRAL_MUST_USE corral_status corral_segment_create(const char *name, size_t size,
                                                    corral_segment *out_segment);
/// A new read-only descriptor of the same memory, to hand to a reader. The caller closes it.
CORRAL_MUST_USE corral_status corral_segment_share(const corral_segment *segment, int *out_fd);
/// Takes over `fd` (closed on failure too). Fails where the file is not a sealed memfd of at least one page,
/// or where `writable` is asked of a read-only one. The size is the file's.
CORRAL_MUST_USE corral_status corral_segment_map(int fd, bool writable, corral_segment *out_segment);
/// Unmaps and closes; the segment is zeroed (fd -1). A zeroed or finished one is fine.
void corral_segment_finish(corral_segment *segment);

#ifdef __cplusplus
}
#endif
#endif
