// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Manifests of checkpoints: what is accepted names files of its own folder only, each once, and is the same
/// again after it was written and read.
#include "fuzz.h"

#include "../../proto/manifest.h" // private: the folder around it would cost a file system's time per input

#include <stdlib.h>
#include <string.h>

static void check_again(corral_manifest *first)
{
    char *text = NULL;
    corral_manifest second;
    if (corral_manifest_print(first, &text) != CORRAL_OK) abort();
    if (corral_manifest_parse("again", text, strlen(text), &second) != CORRAL_OK) abort();
    if (second.count != first->count) abort();
    for (size_t i = 0; i < first->count; i++) {
        const corral_manifest_file *a = &first->files[i], *b = &second.files[i];
        if (strcmp(a->name, b->name) != 0 || a->size != b->size || a->checksum != b->checksum) abort();
    }
    corral_manifest_finish(&second);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    corral_manifest manifest;
    if (corral_manifest_parse("fuzz", (const char *)bytes, size, &manifest) != CORRAL_OK) {
        if (corral_last_error()[0] == '\0' || manifest.count != 0) abort();
        return 0;
    }
    for (size_t i = 0; i < manifest.count; i++) {
        if (!corral_manifest_name_fits(manifest.files[i].name)) abort();
        if (corral_manifest_find(&manifest, manifest.files[i].name) != &manifest.files[i]) abort();
    }
    check_again(&manifest);
    corral_manifest_finish(&manifest);
    return 0;
}
