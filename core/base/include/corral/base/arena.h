// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Bump memory for one step of work: many allocations, one reset.
///
/// A reset after growth merges the chunks into one of the high-water size, so that a steady workload
/// allocates nothing from the system after its first rounds.
#ifndef CORRAL_BASE_ARENA_H
#define CORRAL_BASE_ARENA_H

#include "corral/base/status.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CORRAL_ARENA_ALIGNMENT = 64 };

typedef struct corral_arena_chunk corral_arena_chunk;

/// Zero-initialised is a valid empty arena. Fields are private.
typedef struct corral_arena {
    corral_arena_chunk *chunk; // the one that is being filled; older ones hang behind it
    size_t used;               // bytes used in `chunk`
    size_t total;              // bytes handed out since the last reset
    size_t high_water;         // largest `total` ever seen
} corral_arena;

/// Reserves `capacity` bytes at once (0: on first use).
CORRAL_MUST_USE corral_status corral_arena_init(corral_arena *arena, size_t capacity);

/// 64-byte aligned, not zeroed, valid until the next reset. NULL when the system has no memory left.
/// [one thread at a time]
void *corral_arena_alloc(corral_arena *arena, size_t size);

/// A place in the arena, to go back to: what is allocated after it is given up, what was before it stays.
typedef struct corral_arena_mark {
    corral_arena_chunk *chunk;
    size_t used, total;
} corral_arena_mark;

corral_arena_mark corral_arena_here(const corral_arena *arena);
/// `mark` is of this arena since its last reset. Chunks that came after it are freed.
void corral_arena_rewind(corral_arena *arena, corral_arena_mark mark);

/// Every earlier pointer becomes invalid; the memory is kept for the next round (poisoned under ASan).
void corral_arena_reset(corral_arena *arena);

/// Frees everything. The arena is empty and usable again.
void corral_arena_finish(corral_arena *arena);

#ifdef __cplusplus
}
#endif
#endif
