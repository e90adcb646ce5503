// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Chooses the table once, by what the processor has and what CORRAL_CPU_LEVEL asks for.

#include "backends/cpu/tables.h"

#include "corral/base/log.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef struct candidate {
    const char *level; // as CORRAL_CPU_LEVEL names it
    const corral_backend *table;
    bool usable;
} candidate;

enum { CANDIDATES = 4 };

/// All tables of this build, the portable one first and the fastest last.
static size_t list_candidates(candidate out_list[CANDIDATES])
{
    size_t count = 0;
    out_list[count++] = (candidate){"portable", &corral_backend_portable, true};
#if defined(__x86_64__)
    __builtin_cpu_init();
    const bool v2 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
    const bool v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl");
    out_list[count++] = (candidate){"v2", &corral_backend_x86_64_v2, v2};
    out_list[count++] = (candidate){"v3", &corral_backend_x86_64_v3, v3};
    out_list[count++] = (candidate){"v4", &corral_backend_x86_64_v4, v4};
#endif
    return count;
}

static const corral_backend *chosen;

static void choose(void)
{
    candidate list[CANDIDATES];
    const size_t count = list_candidates(list);
    for (size_t i = 0; i < count; i++) {
        if (list[i].usable) chosen = list[i].table;
    }
    const char *wanted = getenv("CORRAL_CPU_LEVEL");
    if (wanted == NULL || wanted[0] == '\0') return;
    for (size_t i = 0; i < count; i++) {
        if (list[i].usable && strcmp(list[i].level, wanted) == 0) {
            chosen = list[i].table;
            return;
        }
    }
    corral_log(CORRAL_LOG_WARNING, "CORRAL_CPU_LEVEL=%s: this machine cannot use it; %s is used instead",
               wanted, chosen->name);
}

const corral_backend *corral_backend_cpu(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, choose);
    return chosen;
}

size_t corral_backend_list(const corral_backend **out_tables, size_t limit)
{
    candidate list[CANDIDATES];
    const size_t count = list_candidates(list);
    size_t written = 0;
    for (size_t i = 0; i < count && written < limit; i++) {
        if (list[i].usable) out_tables[written++] = list[i].table;
    }
    return written;
}
