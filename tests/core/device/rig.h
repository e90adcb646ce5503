// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A device under test: the plug-in that CORRAL_CUDA_LIBRARY names, arrays in its memory, and what the
/// kernels are compared with. The same programs test the shim every day, and a GPU where tests/gpu/check
/// finds one.
#ifndef CORRAL_TEST_DEVICE_RIG_H
#define CORRAL_TEST_DEVICE_RIG_H

#include "test.h"

#include "device/device.h"

#include <stdarg.h>

static corral_device *device;
static const corral_device_table *table;
static corral_stream *stream;

/// 77, which CTest counts as skipped, where there is nothing to test on.
static inline int rig_open(void)
{
    if (corral_device_open(&device) != CORRAL_OK) {
        printf("skipped: %s\n", corral_last_error());
        return 77;
    }
    table = device->table;
    stream = table->stream_create();
    printf("on %s\n", corral_device_name(device));
    return stream != NULL ? 0 : 1;
}

static inline int rig_close(int result)
{
    table->stream_destroy(stream);
    corral_device_close(device);
    return result;
}

static inline void rig_wait(void)
{
    const char *failure = table->wait(stream);
    if (failure != NULL) fprintf(stderr, "%s\n", failure);
    CU_ASSERT_PTR_NULL_FATAL(failure);
}

// --- arrays -----------------------------------------------------------------------------------------------

/// Numbers in [-1, 1), the same for a seed.
static inline void noise(float *x, size_t count, uint32_t seed)
{
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)(seed >> 8) / 8388608.0f - 1.0f;
    }
}

/// Exactly as large as asked, so that AddressSanitizer sees the first byte too many; also what is freed here.
enum { KEPT = 4096 };
static void *kept_host[KEPT], *kept_device[KEPT];
static size_t host_count, device_count;

static inline void *host_bytes(size_t size)
{
    void *memory = malloc(size + (size == 0));
    CU_ASSERT_TRUE_FATAL(memory != NULL && host_count < KEPT);
    return kept_host[host_count++] = memory;
}

static inline float *host_noise(size_t count, uint32_t seed)
{
    float *x = host_bytes(count * sizeof *x);
    noise(x, count, seed);
    return x;
}

static inline void *device_bytes(size_t size)
{
    void *memory = table->allocate(size);
    CU_ASSERT_TRUE_FATAL(memory != NULL && device_count < KEPT);
    return kept_device[device_count++] = memory;
}

static inline void *upload(const void *host, size_t size)
{
    void *memory = device_bytes(size);
    table->copy(stream, memory, host, size);
    rig_wait();
    return memory;
}

static inline void *download(const void *memory, size_t size)
{
    void *host = host_bytes(size);
    table->copy(stream, host, memory, size);
    rig_wait();
    return host;
}

static inline void free_arrays(void)
{
    while (host_count > 0)
        free(kept_host[--host_count]);
    while (device_count > 0)
        table->release(kept_device[--device_count]);
}

#define FLOATS(count) ((count) * sizeof(float))

// --- comparing --------------------------------------------------------------------------------------------

/// How many of `count` numbers are further apart than `relative` of their size plus `absolute`. Numbers that
/// are not finite have to be equal.
static inline size_t differences(size_t count, const float *expected, const float *found, double relative,
                                 double absolute)
{
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++) {
        const double e = (double)expected[i], f = (double)found[i];
        if ((isnan(e) && isnan(f)) || e == f) continue;
        if (fabs(e - f) <= relative * fabs(e) + absolute) continue;
        if (wrong++ < 3) fprintf(stderr, "element %zu: %.9g expected, %.9g found\n", i, e, f);
    }
    return wrong;
}

static inline float from_bf16(corral_bf16 x)
{
    const uint32_t bits = (uint32_t)x << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#endif
