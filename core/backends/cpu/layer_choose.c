// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The plain table of layer_table.h, which defines what the others compute, and which table stands beside
// which.

#include "backends/cpu/layer_table.h"

#include <string.h>

typedef float real;
#include "backends/cpu/plain_product.h"

extern const corral_cell_table corral_cell_table_portable;

static void plain_relu(size_t count, float *y)
{
    for (size_t i = 0; i < count; i++)
        y[i] = y[i] > 0 || y[i] != y[i] ? y[i] : 0;
}

static const corral_layer_table portable = {
    .name = "portable",
    .product = plain_product,
    .relu = plain_relu,
    .cells = &corral_cell_table_portable,
};

#if defined(__x86_64__)
extern const corral_layer_table corral_layer_table_v2, corral_layer_table_v3, corral_layer_table_v4;
#endif

const corral_layer_table *corral_layer_table_beside(const corral_backend *backend)
{
    static const corral_layer_table *const tables[] = {
        &portable,
#if defined(__x86_64__)
        &corral_layer_table_v2,
        &corral_layer_table_v3,
        &corral_layer_table_v4,
#endif
    };
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        if (strcmp(tables[i]->name, backend->name) == 0) return tables[i];
    }
    return &portable;
}

const corral_layer_table *corral_layer_table_cpu(void)
{
    return corral_layer_table_beside(corral_backend_cpu());
}
