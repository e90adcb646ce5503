// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "corral/proto/fragment.h"

#include <stdbool.h>

#define BLOCK_LIMIT (UINT64_C(1) << 40)

enum { COLUMN_ALIGNMENT = 64, RECORD_ALIGNMENT = 8 };

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "fragments are little endian and are read in place");

static uint64_t round_up(uint64_t value, uint64_t multiple)
{
    return (value + multiple - 1) / multiple * multiple;
}

// Puts `rows` rows of `row_bytes` behind `*end`, at the next multiple of 64. `*end` never exceeds the limit,
// so that no sum here can overflow; false when the column would.
static bool place(uint64_t *end, uint64_t rows, uint64_t row_bytes, size_t *out_offset)
{
    const uint64_t begin = round_up(*end, COLUMN_ALIGNMENT);
    if (begin > BLOCK_LIMIT) return false;
    if (row_bytes != 0 && rows > (BLOCK_LIMIT - begin) / row_bytes) return false;
    *out_offset = (size_t)begin;
    *end = begin + rows * row_bytes;
    return true;
}

// The order of the columns is the format: see WIRE.md.
static bool place_columns(corral_fragment_layout *layout)
{
    const corral_fragment_spec *spec = &layout->spec;
    const uint64_t envs = spec->env_count;
    const uint64_t rows = envs * spec->steps; // below 2^64, as is the next one
    const uint64_t rows_and_next = envs * (spec->steps + UINT64_C(1));
    const uint64_t logits_bytes = sizeof(float) * (uint64_t)spec->action_count;
    const uint64_t action_bytes = sizeof(int32_t) * (uint64_t)corral_fragment_action_words(spec);
    const uint64_t memories = envs * spec->memory_rows;
    uint64_t end = sizeof(corral_fragment_header);
    const bool fits = place(&end, rows_and_next, spec->observation_bytes, &layout->observation) &&
                      place(&end, rows, action_bytes, &layout->action) &&
                      place(&end, rows, logits_bytes, &layout->logits) &&
                      place(&end, rows, sizeof(float), &layout->log_prob) &&
                      place(&end, rows_and_next, sizeof(float), &layout->value) &&
                      place(&end, rows, sizeof(float), &layout->reward) &&
                      place(&end, rows, sizeof(uint8_t), &layout->terminated) &&
                      place(&end, rows, sizeof(uint8_t), &layout->truncated) &&
                      place(&end, rows, sizeof(uint8_t), &layout->valid) &&
                      place(&end, rows_and_next, spec->mask_bytes, &layout->mask) &&
                      place(&end, memories, spec->memory_bytes, &layout->memory) &&
                      place(&end, envs, spec->state_bytes, &layout->state) &&
                      place(&end, 1, CORRAL_FRAGMENT_TEXT, &layout->failure) &&
                      place(&end, rows, layout->ended_stride, &layout->ended);
    layout->capacity = (size_t)end;
    return fits;
}

corral_status corral_fragment_layout_init(const corral_fragment_spec *spec,
                                          corral_fragment_layout *out_layout)
{
    if (spec->env_count == 0 || spec->steps == 0 || spec->observation_bytes == 0 || spec->action_count == 0)
        return corral_fail(
            CORRAL_ERROR_INVALID,
            "a fragment of %u environments, %u steps, %u bytes per observation and %u actions: "
            "none of these may be zero",
            spec->env_count, spec->steps, spec->observation_bytes, spec->action_count);
    if (spec->memory_bytes % sizeof(float) != 0 || (spec->memory_bytes > 0) != (spec->memory_rows > 0) ||
        spec->memory_rows > spec->steps)
        return corral_fail(CORRAL_ERROR_INVALID,
                           "a fragment with %u states of %u bytes of a recurrent policy in %u steps",
                           spec->memory_rows, spec->memory_bytes, spec->steps);
    *out_layout = (corral_fragment_layout){
        .spec = *spec,
        .run_count = 1,
        .run = {{corral_fragment_action_words(spec), spec->action_count}},
    };
    const uint64_t info =
        round_up(sizeof(corral_fragment_ended) + (uint64_t)spec->observation_bytes, RECORD_ALIGNMENT);
    out_layout->ended_info = (size_t)info;
    out_layout->ended_stride = (size_t)(info + (uint64_t)spec->info_count * sizeof(double));
    if (place_columns(out_layout)) return CORRAL_OK;
    return corral_fail(
        CORRAL_ERROR_INVALID,
        "a fragment of %u environments, %u steps and %u bytes per observation would exceed 2^40 "
        "bytes; use fewer steps per fragment",
        spec->env_count, spec->steps, spec->observation_bytes);
}

void corral_fragment_layout_set_runs(corral_fragment_layout *layout, uint32_t count,
                                     const corral_fragment_run *runs)
{
    uint64_t words = 0;
    CORRAL_ASSERT(count <= CORRAL_FRAGMENT_RUNS);
    for (uint32_t i = 0; i < count; i++) {
        layout->run[i] = runs[i];
        words += runs[i].words;
    }
    CORRAL_ASSERT(words == corral_fragment_action_words(&layout->spec));
    layout->run_count = count;
}
