// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Chunks hang in a list, newest first. Only the newest is filled; when it is full, a new one of at least
/// twice its size takes its place. A reset that finds more than one chunk replaces them by a single one
/// that would have held the whole round, so that the next round of the same size touches one block.
///
/// Under AddressSanitizer everything that is not handed out is poisoned: memory of an earlier round, and
/// the gap between an allocation's size and the next multiple of the alignment.
#include "corral/base/arena.h"

#include <stdint.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__)
#define HAVE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAVE_ASAN 1
#endif
#endif

#ifdef HAVE_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size)   ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

enum { FIRST_CAPACITY = 64 * 1024 };

struct corral_arena_chunk {
    corral_arena_chunk *previous;
    size_t capacity; // of the bytes behind the header
};

// The header takes one alignment unit, so that the bytes behind it are aligned.
static unsigned char *chunk_bytes(corral_arena_chunk *chunk)
{
    return (unsigned char *)chunk + CORRAL_ARENA_ALIGNMENT;
}

static size_t round_up(size_t size)
{
    return (size + CORRAL_ARENA_ALIGNMENT - 1) & ~(size_t)(CORRAL_ARENA_ALIGNMENT - 1);
}

// The capacity is a multiple of the alignment.
static int push_chunk(corral_arena *arena, size_t capacity)
{
    corral_arena_chunk *chunk = aligned_alloc(CORRAL_ARENA_ALIGNMENT, CORRAL_ARENA_ALIGNMENT + capacity);
    if (chunk == NULL) return 0;
    chunk->previous = arena->chunk;
    chunk->capacity = capacity;
    ASAN_POISON_MEMORY_REGION(chunk_bytes(chunk), capacity);
    arena->chunk = chunk;
    arena->used = 0;
    return 1;
}

static void free_chunks(corral_arena *arena)
{
    while (arena->chunk != NULL) {
        corral_arena_chunk *chunk = arena->chunk;
        arena->chunk = chunk->previous;
        ASAN_UNPOISON_MEMORY_REGION(chunk_bytes(chunk), chunk->capacity);
        free(chunk);
    }
    arena->used = 0;
}

corral_status corral_arena_init(corral_arena *arena, size_t capacity)
{
    *arena = (corral_arena){0};
    if (capacity == 0) return CORRAL_OK;
    if (capacity > SIZE_MAX / 2 || !push_chunk(arena, round_up(capacity)))
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for an arena of %zu bytes", capacity);
    return CORRAL_OK;
}

void *corral_arena_alloc(corral_arena *arena, size_t size)
{
    if (size > SIZE_MAX / 4) return NULL;
    const size_t rounded = round_up(size > 0 ? size : 1);
    if (arena->chunk == NULL || arena->chunk->capacity - arena->used < rounded) {
        size_t capacity = arena->chunk != NULL ? 2 * arena->chunk->capacity : FIRST_CAPACITY;
        if (capacity < rounded) capacity = rounded;
        if (!push_chunk(arena, capacity) && !push_chunk(arena, rounded)) return NULL;
    }
    void *memory = chunk_bytes(arena->chunk) + arena->used;
    arena->used += rounded;
    arena->total += rounded;
    if (arena->total > arena->high_water) arena->high_water = arena->total;
    ASAN_UNPOISON_MEMORY_REGION(memory, size);
    return memory;
}

corral_arena_mark corral_arena_here(const corral_arena *arena)
{
    return (corral_arena_mark){arena->chunk, arena->used, arena->total};
}

void corral_arena_rewind(corral_arena *arena, corral_arena_mark mark)
{
    while (arena->chunk != mark.chunk) {
        corral_arena_chunk *chunk = arena->chunk;
        arena->chunk = chunk->previous;
        ASAN_UNPOISON_MEMORY_REGION(chunk_bytes(chunk), chunk->capacity);
        free(chunk);
    }
    if (arena->chunk != NULL)
        ASAN_POISON_MEMORY_REGION(chunk_bytes(arena->chunk) + mark.used, arena->chunk->capacity - mark.used);
    arena->used = mark.used;
    arena->total = mark.total;
}

void corral_arena_reset(corral_arena *arena)
{
    if (arena->chunk != NULL && arena->chunk->previous != NULL) {
        free_chunks(arena);
        // Without memory the arena is simply empty, and the next allocation tries again.
        (void)push_chunk(arena, arena->high_water);
    }
    if (arena->chunk != NULL) ASAN_POISON_MEMORY_REGION(chunk_bytes(arena->chunk), arena->chunk->capacity);
    arena->used = 0;
    arena->total = 0;
}

void corral_arena_finish(corral_arena *arena)
{
    free_chunks(arena);
    *arena = (corral_arena){0};
}
