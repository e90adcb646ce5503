// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "beacon.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

_Static_assert(sizeof(corral_beacon) == 192 + 4 * 8, "the beacon is shared between processes");

static bool is_printable(char c)
{
    return (unsigned char)c >= 0x20 && c != 0x7f; // UTF-8 passes
}

void corral_beacon_format(const corral_beacon *beacon, char *out_text, size_t size)
{
    if (size == 0) return;
    // Copied first: the owner may change it between two looks.
    char text[sizeof beacon->text + 1] = {0};
    const volatile char *shared = beacon->text;
    for (size_t i = 0; i < sizeof beacon->text; i++)
        text[i] = shared[i];

    size_t used = 0;
    for (const char *c = text; *c != '\0' && used + 1 < size; c++) {
        if (c[0] == '%' && c[1] >= '0' && c[1] <= '3') {
            const uint64_t word = atomic_load_explicit(&beacon->word[c[1] - '0'], memory_order_relaxed);
            const int length = snprintf(out_text + used, size - used, "%llu", (unsigned long long)word);
            used += (size_t)length < size - used ? (size_t)length : size - used - 1;
            c++;
        } else {
            out_text[used++] = is_printable(*c) ? *c : '?';
        }
    }
    out_text[used] = '\0';
}
