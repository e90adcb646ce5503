// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Whole files, safely: reads are bounded, writes are all or nothing.
#ifndef CORRAL_BASE_FILE_H
#define CORRAL_BASE_FILE_H

#include "corral/base/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Reads a regular file of at most `limit` bytes. The buffer has one zero byte more than `*out_size`;
/// the caller frees it.
CORRAL_MUST_USE corral_status corral_file_read(const char *path, size_t limit, char **out_bytes,
                                               size_t *out_size);

/// Writes to a temporary name beside `path`, fsyncs and renames: a reader sees the old file or the new one.
/// On failure nothing is left behind and the old file is intact.
CORRAL_MUST_USE corral_status corral_file_write(const char *path, const void *bytes, size_t size);

/// Creates a folder and its parents (mode 0777 less the umask). Already there is fine.
CORRAL_MUST_USE corral_status corral_folder_create(const char *path);

/// Removes a folder and what is in it, without following links. Not there is fine.
CORRAL_MUST_USE corral_status corral_folder_remove(const char *path);

/// fsyncs the folder itself, so that a rename inside it survives a power loss.
CORRAL_MUST_USE corral_status corral_folder_sync(const char *path);

/// printf into fresh memory that the caller frees; NULL without memory.
char *corral_format(const char *format, ...) CORRAL_PRINTF(1, 2);

/// The folder of the running executable, without a slash at the end. The caller frees it.
CORRAL_MUST_USE corral_status corral_program_folder(char **out_path);

/// Another program of this installation ("corral-worker"): beside the running executable, else, where this
/// code is in libcorral.so, in the bin folder beside the library's. The caller frees it.
/// CORRAL_ERROR_NOT_FOUND says where it was looked for.
CORRAL_MUST_USE corral_status corral_program_find(const char *name, char **out_path);

/// A library of this installation that is opened at run time ("corral_box2d.so"), or NULL where it was not
/// built. The caller frees it.
char *corral_library_find(const char *name);

/// 64-bit XXH3 of the bytes: the checksum of manifests and frames.
uint64_t corral_checksum(const void *bytes, size_t size);

#ifdef __cplusplus
}
#endif
#endif
