// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What independent chains of fused multiply-adds reach in registers, on one thread: the limit beside which
/// figures of products are worth something.
#ifndef CORRAL_BENCHMARK_PEAK_H
#define CORRAL_BENCHMARK_PEAK_H

#include "corral/base/clock.h"

enum { CHAINS = 12, PEAK_STEPS = 20000, PEAK_ROUNDS = 60 };

#define PEAK_LOOP(LANES)                                                                                     \
    typedef float lanes __attribute__((vector_size(4 * (LANES))));                                           \
    lanes sum[CHAINS], factor = {0}, term = {0};                                                             \
    factor += seed;                                                                                          \
    for (int c = 0; c < CHAINS; c++)                                                                         \
        sum[c] = term + (float)c * seed;                                                                     \
    for (int i = 0; i < PEAK_STEPS; i++) {                                                                   \
        _Pragma("GCC unroll 12") for (int c = 0; c < CHAINS; c++) sum[c] = sum[c] * factor + factor;         \
    }                                                                                                        \
    for (int c = 1; c < CHAINS; c++)                                                                         \
        sum[0] += sum[c];                                                                                    \
    return sum[0][0]

static float peak_portable(float seed)
{
    PEAK_LOOP(4);
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"), optimize("O3,fp-contract=fast"))) static float peak_v3(float seed)
{
    PEAK_LOOP(8);
}

__attribute__((target("avx512f"), optimize("O3,fp-contract=fast"))) static float peak_v4(float seed)
{
    PEAK_LOOP(16);
}
#endif

/// GFLOP/s of the widest loop that the processor can run.
static inline double measure_peak(void)
{
    float (*loop)(float) = peak_portable;
    double lanes = 4.0;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) loop = peak_v3, lanes = 8.0;
    if (__builtin_cpu_supports("avx512f")) loop = peak_v4, lanes = 16.0;
#endif
    double best = 1e30;
    volatile float kept = 0.0f;
    for (int round = 0; round < PEAK_ROUNDS; round++) {
        const int64_t start = corral_now_ns();
        kept = kept + loop(0.5f);
        const double ns = (double)(corral_now_ns() - start);
        if (ns < best) best = ns;
    }
    return 2.0 * lanes * CHAINS * PEAK_STEPS / best;
}

#endif
