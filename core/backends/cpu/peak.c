// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The machine's peak: twelve chains of multiply-adds per thread, in the widest vectors that the processor
// has. They stay in registers, and hide each other's latency.

#include "corral/core/backend.h"

#include "corral/base/clock.h"
#include "corral/base/threads.h"

enum { CHAINS = 12, ROUNDS = 4000000, LANES = 16 };

typedef float vector __attribute__((vector_size(LANES * sizeof(float))));

static inline __attribute__((always_inline)) float spin(void)
{
    vector chain[CHAINS], factor, addend;
    for (int i = 0; i < LANES; i++) {
        factor[i] = 0.999f;
        addend[i] = 0.001f;
    }
    for (int k = 0; k < CHAINS; k++)
        chain[k] = addend * (float)(k + 1);
    for (int r = 0; r < ROUNDS; r++) {
#pragma GCC unroll 12
        for (int k = 0; k < CHAINS; k++)
            chain[k] = chain[k] * factor + addend;
    }
    float sum = 0;
    for (int k = 0; k < CHAINS; k++)
        sum += chain[k][0];
    return sum;
}

static float spin_portable(void)
{
    return spin();
}

#if defined(__x86_64__)
static __attribute__((target("avx2,fma"))) float spin_v3(void)
{
    return spin();
}

static __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,fma,prefer-vector-width=512"))) float
spin_v4(void)
{
    return spin();
}
#endif

static float (*choose(void))(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) return spin_v4;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return spin_v3;
#endif
    return spin_portable;
}

typedef struct peak_run {
    float (*spin)(void);
    volatile float sink[256];
} peak_run;

static void spin_one(void *context, size_t index, unsigned thread)
{
    (void)thread;
    peak_run *run = context;
    run->sink[index % 256] = run->spin();
}

double corral_cpu_peak_gflops(unsigned threads, unsigned rounds)
{
    corral_team *team;
    if (corral_team_create(threads, &team) != CORRAL_OK) return 0;
    peak_run run = {.spin = choose()};
    double best = 0.0;
    for (unsigned i = 0; i < rounds; i++) {
        const int64_t start = corral_now_ns();
        corral_team_run(team, threads, spin_one, &run);
        const double rate =
            2.0 * LANES * CHAINS * (double)ROUNDS * threads / (double)(corral_now_ns() - start);
        if (rate > best) best = rate;
    }
    corral_team_destroy(team);
    return best;
}
