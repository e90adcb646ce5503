// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What the checkpoint tests share: a scratch folder, small files, one way to make a checkpoint.
#ifndef CORRAL_TEST_PROTO_FOLDER_H
#define CORRAL_TEST_PROTO_FOLDER_H

#include "corral/base/file.h"
#include "corral/proto/checkpoint.h"
#include "test.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

static char scratch[64];

static inline void scratch_make(void)
{
    snprintf(scratch, sizeof scratch, "%s", "/tmp/corral-proto-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(scratch));
}

static inline void scratch_remove(void)
{
    TEST_OK(corral_folder_remove(scratch));
}

/// A path in the scratch folder, good until four more were asked for.
static inline const char *in_scratch(const char *name)
{
    static char paths[4][512];
    static unsigned turn;
    char *path = paths[turn++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", scratch, name);
    return path;
}

static inline void write_file(const char *path, const char *text)
{
    TEST_OK(corral_file_write(path, text, strlen(text)));
}

static inline void add_file(corral_checkpoint_writer *writer, const char *name, const char *text)
{
    char *path = corral_checkpoint_file(writer, name);
    write_file(path, text);
    free(path);
}

/// A checkpoint at `path` with a weight file and a state file, the latter holding `text`.
static inline void make_checkpoint(const char *path, const char *text)
{
    corral_checkpoint_writer *writer = NULL;
    TEST_OK(corral_checkpoint_begin(path, &writer));
    add_file(writer, "policy.safetensors", "weights, for all that a manifest knows");
    add_file(writer, "state.json", text);
    TEST_OK(corral_checkpoint_commit(writer));
}

static inline int entry_count(const char *path)
{
    DIR *entries = opendir(path);
    CU_ASSERT_PTR_NOT_NULL_FATAL(entries);
    int count = -2; // "." and ".."
    while (readdir(entries) != NULL)
        count++;
    closedir(entries);
    return count;
}

static inline int is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

#endif
