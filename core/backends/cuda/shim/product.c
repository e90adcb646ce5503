// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The matrix product in plain C. Operands are first brought to floats, row-major and not transposed; each
// element is then one sum over k ascending.

#include "shim_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static float element(const void *x, bool half, size_t i)
{
    if (!half) return ((const float *)x)[i];
    const uint32_t bits = (uint32_t)((const corral_bf16 *)x)[i] << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/// [rows, columns] of `x`, which is [columns, rows] where it is transposed.
static float *plain_copy(const void *x, bool half, bool transposed, size_t rows, size_t columns)
{
    float *out = malloc((rows * columns + 1) * sizeof *out);
    if (out == NULL) {
        fputs("shim: no memory for a product\n", stderr);
        abort();
    }
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < columns; c++)
            out[r * columns + c] = element(x, half, transposed ? c * rows + r : r * columns + c);
    return out;
}

void shim_product(const corral_product *p)
{
    float *a = plain_copy(p->a, p->half, p->transpose_a, p->m, p->k);
    float *b = plain_copy(p->b, p->half, p->transpose_b, p->k, p->n);
    for (size_t i = 0; i < p->m; i++) {
        float *restrict c = p->c + i * p->n;
        if (!p->add) memset(c, 0, p->n * sizeof *c);
        for (size_t k = 0; k < p->k; k++) {
            const float factor = a[i * p->k + k];
            const float *restrict row = b + k * p->n;
            for (size_t j = 0; j < p->n; j++)
                c[j] += factor * row[j];
        }
    }
    free(a);
    free(b);
}
