// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Private to core/base: a file that appears under its name when it is complete, or not at all.
///
/// Open it, write pieces, then end it with commit or with abandon. Abandon after commit, whether that
/// succeeded or not, does nothing; so a writer calls it on every way out.
#ifndef CORRAL_BASE_ATOMIC_FILE_H
#define CORRAL_BASE_ATOMIC_FILE_H

#include "corral/base/status.h"

#include <stddef.h>

typedef struct corral_atomic_file {
    const char *path;     // the caller's, must stay valid
    char *temporary_path; // NULL when nothing is open
    int descriptor;
} corral_atomic_file;

CORRAL_MUST_USE corral_status corral_atomic_file_open(corral_atomic_file *file, const char *path);
CORRAL_MUST_USE corral_status corral_atomic_file_write(corral_atomic_file *file, const void *bytes,
                                                       size_t size);
/// Flushes to the disk and renames. On failure the temporary file is gone and the old file is as it was.
CORRAL_MUST_USE corral_status corral_atomic_file_commit(corral_atomic_file *file);
void corral_atomic_file_abandon(corral_atomic_file *file);

#endif
