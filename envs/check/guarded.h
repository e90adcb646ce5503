// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Rows of memory with guards between them: bytes of a pattern that nobody may change.
#ifndef CORRAL_ENVS_CHECK_GUARDED_H
#define CORRAL_ENVS_CHECK_GUARDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct guarded {
    uint8_t *memory; // guard, row, guard, row, ... guard
    uint8_t *data;   // row 0
    size_t width;    // bytes of a row
    size_t stride;   // from row to row
    uint32_t count;
} guarded;

/// Rows are aligned to 8 bytes. False without memory.
bool corral_guarded_create(guarded *rows, uint32_t count, size_t width);
void corral_guarded_destroy(guarded *rows);

static inline void *guarded_row(const guarded *rows, uint32_t row)
{
    return rows->data + row * rows->stride;
}

/// True where all guards are as they were; else the row before the first damaged one, or UINT32_MAX where
/// that is the guard before row 0.
bool corral_guarded_intact(const guarded *rows, uint32_t *out_row);

#endif
