// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A folder that a test may fill, gone when the test is over.
#ifndef CORRAL_TEST_TEMPORARY_H
#define CORRAL_TEST_TEMPORARY_H

#include "corral/base/file.h"

#include "test.h"

#include <stdlib.h>

static char temporary_folder[128];

static inline void temporary_begin(void)
{
    const char *parent = getenv("TMPDIR");
    snprintf(temporary_folder, sizeof temporary_folder, "%.100s/corral-test-XXXXXX",
             parent ? parent : "/tmp");
    if (mkdtemp(temporary_folder) == NULL) abort();
}

static inline void temporary_end(void)
{
    TEST_OK(corral_folder_remove(temporary_folder));
}

/// The path of a name inside it; valid until the fourth call after this one.
static inline const char *temporary_path(const char *name)
{
    static char paths[4][256];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", temporary_folder, name);
    return path;
}

#endif
