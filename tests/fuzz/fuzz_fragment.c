// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Fragments: what is accepted can be read to its last row and record without leaving the block.
#include "fuzz.h"

#include "corral/proto/fragment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static volatile unsigned sink; // so that the reads are not optimised away

static void read_rows(const corral_fragment *fragment)
{
    const corral_fragment_spec *spec = &fragment->layout->spec;
    const size_t rows = (size_t)spec->env_count * spec->steps;
    for (size_t i = 0; i < rows; i++) {
        if (fragment->action[i] < 0 || (uint32_t)fragment->action[i] >= spec->action_count) abort();
        if (fragment->terminated[i] > 1 || fragment->truncated[i] > 1 || fragment->valid[i] > 1) abort();
        if (fragment->valid[i] && !isfinite(fragment->reward[i] + fragment->log_prob[i])) abort();
        sink += fragment->observation[i * spec->observation_bytes];
    }
    for (size_t i = 0; i < (size_t)spec->env_count * spec->state_bytes; i++)
        sink += fragment->state[i];
}

static void read_records(const corral_fragment *fragment)
{
    const corral_fragment_spec *spec = &fragment->layout->spec;
    for (uint32_t k = 0; k < fragment->header.ended_count; k++) {
        const unsigned char *observation;
        const corral_fragment_ended ended = corral_fragment_ended_at(fragment, k, &observation);
        if (ended.environment >= spec->env_count || ended.step >= spec->steps) abort();
        sink += observation[spec->observation_bytes - 1];
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const corral_fragment_spec spec = {
        .env_count = 2, .steps = 3, .observation_bytes = 4, .action_count = 2, .state_bytes = 4};
    corral_fragment_layout layout;
    if (corral_fragment_layout_init(&spec, &layout) != CORRAL_OK) abort();
    // As large as the input and no larger: a read beyond it is seen.
    void *block = NULL;
    if (posix_memalign(&block, 64, size + 1) != 0) return 0;
    memcpy(block, bytes, size);
    corral_fragment fragment;
    if (corral_fragment_open(&layout, block, size, &fragment) == CORRAL_OK) {
        read_rows(&fragment);
        read_records(&fragment);
    } else if (corral_last_error()[0] == '\0') {
        abort();
    }
    free(block);
    return 0;
}
