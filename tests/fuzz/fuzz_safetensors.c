// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Tensor files: what is accepted has aligned data of the promised size, all of it readable, and in sum not
/// more than there was.
#include "fuzz.h"

#include "corral/base/safetensors.h"

#include <stdlib.h>
#include <string.h>

static volatile unsigned sink; // so that the reads are not optimised away

static unsigned sum_bytes(const unsigned char *bytes, size_t size)
{
    unsigned sum = 0;
    for (size_t i = 0; i < size; i++)
        sum += bytes[i];
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    corral_safetensors *file = NULL;
    if (corral_safetensors_parse("fuzz", bytes, size, &file) != CORRAL_OK) {
        if (corral_last_error()[0] == '\0') abort();
        return 0;
    }
    size_t total = 0;
    for (size_t i = 0; i < corral_safetensors_count(file); i++) {
        const corral_stored_tensor *tensor = corral_safetensors_at(file, i);
        if ((uintptr_t)tensor->data % 64 != 0 || corral_safetensors_find(file, tensor->name) != tensor)
            abort();
        sink += sum_bytes(tensor->data, tensor->size);
        total += tensor->size;
    }
    if (total > size) abort();
    const char *text = corral_safetensors_metadata(file, "algo");
    sink += text != NULL ? (unsigned)strlen(text) : 0;
    corral_safetensors_destroy(file);
    return 0;
}
