// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// What a step of a recurrent layer begins with, in `real`.

static inline real *state_row(const void *array, const corral_cell_run *run, size_t s)
{
    return (real *)(uintptr_t)array + s * run->stride * run->hidden;
}

static void begin_step(const corral_cell_run *run, const uint8_t *reset, const void *h_last,
                       const void *c_last, size_t last_stride)
{
    const size_t bytes = run->hidden * sizeof(real);
    for (size_t s = 0; s < run->sequences; s++) {
        const bool fresh = reset != NULL && reset[s * run->stride] != 0;
        const void *lasts[2] = {h_last, c_last};
        const void *to[2] = {run->h_before, run->c_before};
        for (int i = 0; i < 2; i++) {
            if (to[i] == NULL) continue;
            real *state = state_row(to[i], run, s);
            if (fresh || lasts[i] == NULL)
                memset(state, 0, bytes);
            else
                memcpy(state, (const real *)lasts[i] + s * last_stride * run->hidden, bytes);
        }
    }
}
