// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "corral/base/arena.h"

#include "test.h"

#include <stdint.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

static void memory_is_aligned_and_apart(void)
{
    corral_arena arena = {0};
    unsigned char *pieces[200];
    for (int i = 0; i < 200; i++) {
        const size_t size = (size_t)i * 37 % 1500;
        pieces[i] = corral_arena_alloc(&arena, size);
        if (pieces[i] == NULL) abort();
        CU_ASSERT_EQUAL((uintptr_t)pieces[i] % CORRAL_ARENA_ALIGNMENT, 0);
        memset(pieces[i], i, size);
    }
    for (int i = 0; i < 200; i++)
        for (size_t j = 0; j < (size_t)i * 37 % 1500; j++)
            CU_ASSERT_EQUAL_FATAL(pieces[i][j], i);
    corral_arena_finish(&arena);
}

// The second round of the same size lies in one block, and so does every later one.
static void a_steady_round_reuses_its_memory(void)
{
    corral_arena arena = {0};
    void *first[3] = {0};
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 50; i++) {
            void *memory = corral_arena_alloc(&arena, 10000);
            CU_ASSERT_PTR_NOT_NULL_FATAL(memory);
            if (i == 0) first[round] = memory;
        }
        corral_arena_reset(&arena);
    }
    CU_ASSERT_PTR_EQUAL(first[1], first[2]);
    CU_ASSERT_EQUAL(arena.total, 0);
    CU_ASSERT_TRUE(arena.high_water >= 500000 && arena.high_water < 600000);
    corral_arena_finish(&arena);
    CU_ASSERT_PTR_NOT_NULL(corral_arena_alloc(&arena, 1)); // usable again
    corral_arena_finish(&arena);
}

static void a_reserved_block_is_not_outgrown(void)
{
    corral_arena arena;
    TEST_OK(corral_arena_init(&arena, 1000));
    const unsigned char *start = corral_arena_alloc(&arena, 500);
    const unsigned char *next = corral_arena_alloc(&arena, 500);
    CU_ASSERT_EQUAL(next - start, 512);
    corral_arena_finish(&arena);
}

static void too_much_is_refused(void)
{
    corral_arena arena = {0};
    CU_ASSERT_PTR_NULL(corral_arena_alloc(&arena, SIZE_MAX));
    CU_ASSERT_PTR_NULL(corral_arena_alloc(&arena, SIZE_MAX / 2));
    CU_ASSERT_PTR_NOT_NULL(corral_arena_alloc(&arena, 0));
    corral_arena_finish(&arena);
    TEST_FAILS(corral_arena_init(&arena, SIZE_MAX), CORRAL_ERROR_NO_MEMORY, "no memory for an arena");
}

static void freed_memory_is_poisoned(void)
{
#if defined(__SANITIZE_ADDRESS__)
    corral_arena arena = {0};
    unsigned char *memory = corral_arena_alloc(&arena, 100);
    CU_ASSERT_FALSE(__asan_address_is_poisoned(memory + 99));
    CU_ASSERT_TRUE(__asan_address_is_poisoned(memory + 104));
    corral_arena_reset(&arena);
    CU_ASSERT_TRUE(__asan_address_is_poisoned(memory));
    corral_arena_finish(&arena);
#endif
}

int main(void)
{
    return test_run("arena",
                    (test_case[]){{"memory is aligned and apart", memory_is_aligned_and_apart},
                                  {"a steady round reuses its memory", a_steady_round_reuses_its_memory},
                                  {"a reserved block is not outgrown", a_reserved_block_is_not_outgrown},
                                  {"too much is refused", too_much_is_refused},
                                  {"freed memory is poisoned", freed_memory_is_poisoned},
                                  {NULL, NULL}});
}
