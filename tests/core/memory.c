// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// After the first rounds an update asks the system for no memory at all. The linker sends every call of the
// allocator through the counters below (--wrap).

#include "corral/core/capture.h"
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

static corral_tensor *segment(void *context, corral_tape *tape, corral_tensor *const *inputs, size_t count)
{
    (void)context;
    (void)tape;
    (void)count;
    return small_network_apply(inputs[0], 0);
}

static corral_tensor *whole(void *context, corral_tape *tape, corral_tensor *const *inputs, size_t count)
{
    corral_tensor *y = corral_checkpoint(tape, segment, context, inputs, count);
    return corral_sum(corral_square(corral_matmul(corral_transpose(y), y)));
}

/// A recording with all that autograd.h adds, and a capture's replays.
static void warm_recordings_and_replays_allocate_nothing(void)
{
    static small_network n;
    static float gradients[4096];
    size_t before = 0;
    corral_capture *capture = NULL;
    const corral_tensor *loss = NULL;
    corral_tape_use rows[4];
    small_network_start(&n);
    TEST_OK(corral_capture_create(whole, NULL, &capture));
    TEST_OK(corral_tape_set_anomaly(n.tapes[0], true));
    TEST_OK(corral_tape_set_report(n.tapes[0], true));
    const corral_capture_input input = {CORRAL_F32, 2, {NET_ROWS, NET_IN}, n.observation};
    for (int i = 0; i < 16; i++) {
        if (i == 6) before = calls; // anomaly mode keeps two recordings: twice as long until both are warm
        corral_tape_reset(n.tapes[0], n.params, gradients);
        corral_tape_site(n.tapes[0], "all");
        corral_tensor *x = corral_input(n.tapes[0], CORRAL_F32, 2, input.shape, input.data);
        TEST_OK(
            corral_backward_with(whole(NULL, n.tapes[0], &x, 1), &(corral_backward_options){.retain = true}));
        TEST_OK(corral_capture_run(capture, n.params, gradients, &input, 1, &loss));
        CU_ASSERT_TRUE(corral_tape_report(n.tapes[0], rows, 4) > 0);
    }
    CU_ASSERT_EQUAL(calls, before);
    CU_ASSERT_TRUE(corral_capture_replays(capture) >= 14);
    corral_capture_destroy(capture);
    small_network_finish(&n);
}

int main(void)
{
    return test_run("memory",
                    (test_case[]){{"a warm update allocates nothing", a_warm_update_allocates_nothing},
                                  {"warm recordings and replays allocate nothing",
                                   warm_recordings_and_replays_allocate_nothing},
                                  {NULL, NULL}});
}
