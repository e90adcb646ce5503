// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Private to proto: the list of a checkpoint's files, with the size and checksum of each.
///
///     {"format": "corral-checkpoint", "version": 1,
///      "files": {"policy.safetensors": {"size": 18432, "xxh3": "00f1e2d3c4b5a697"}, ...}}
#ifndef CORRAL_PROTO_MANIFEST_H
#define CORRAL_PROTO_MANIFEST_H

#include "corral/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CORRAL_MANIFEST_NAME "manifest.json"

enum { CORRAL_MANIFEST_LIMIT = 1 << 20, CORRAL_MANIFEST_FILES = 1024 };

typedef struct corral_manifest_file {
    char *name;
    uint64_t size;
    uint64_t checksum; // 64-bit XXH3 of the contents
} corral_manifest_file;

/// Zero-initialised is a valid empty manifest.
typedef struct corral_manifest {
    corral_manifest_file *files;
    size_t count;
} corral_manifest;

/// A name that stays inside its folder and is not the manifest's own.
bool corral_manifest_name_fits(const char *name);

/// Appends an entry; `name` is copied.
CORRAL_MUST_USE corral_status corral_manifest_add(corral_manifest *manifest, const char *name, uint64_t size,
                                                  uint64_t checksum);
/// NULL when the file is not listed.
const corral_manifest_file *corral_manifest_find(const corral_manifest *manifest, const char *name);

/// Trusts nothing of the text. `shown` is what messages call it. The caller finishes `*out_manifest`.
CORRAL_MUST_USE corral_status corral_manifest_parse(const char *shown, const char *text, size_t size,
                                                    corral_manifest *out_manifest);
/// Sorted by name, so that equal files give equal bytes. The caller frees `*out_text`.
CORRAL_MUST_USE corral_status corral_manifest_print(corral_manifest *manifest, char **out_text);

void corral_manifest_finish(corral_manifest *manifest);

#endif
