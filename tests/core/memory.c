// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// After the first rounds an update asks the system for no memory at all. The linker sends every call of the
// allocator through the counters below (--wrap).

#include "small_network.h"

static size_t calls;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

void *__wrap_malloc(size_t size)
{
    calls++;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    calls++;
    return __real_calloc(count, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    calls++;
    return __real_aligned_alloc(alignment, size);
}

static void a_warm_update_allocates_nothing(void)
{
    static small_network n;
    small_network_start(&n);
    CU_ASSERT_TRUE(calls > 0); // the counters do count
    for (int i = 0; i < 3; i++)
        small_network_update(&n, NULL);
    const size_t before = calls, peak = corral_tape_peak_bytes(n.tapes[0]);
    for (int i = 0; i < 10; i++)
        small_network_update(&n, NULL);
    CU_ASSERT_EQUAL(calls, before);
    CU_ASSERT_EQUAL(corral_tape_peak_bytes(n.tapes[0]), peak);
    CU_ASSERT_TRUE(peak > 0 && peak < 256 * 1024);
    small_network_finish(&n);
}

int main(void)
{
    return test_run(
        "memory",
        (test_case[]){{"a warm update allocates nothing", a_warm_update_allocates_nothing}, {NULL, NULL}});
}
