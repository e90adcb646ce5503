// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Every table of loops is whole, in f32 as in f64: a missing loop would only be found by who calls it.

#include "ops/distribution_kernels.h"
#include "ops/element_kernels.h"
#include "ops/kernels.h"
#include "ops/layer_kernels.h"
#include "ops/loss_kernels.h"
#include "ops/shape_kernels.h"

#include "test.h"

/// How many of a table's functions are missing. Tables hold nothing but pointers to functions.
static size_t holes(const void *table, size_t size)
{
    size_t count = 0;
    for (size_t at = 0; at < size; at += sizeof(void (*)(void))) {
        void (*function)(void);
        memcpy(&function, (const char *)table + at, sizeof function);
        count += function == NULL;
    }
    return count;
}

#define WHOLE(tables, allowed)                                                                               \
    CU_ASSERT_EQUAL(holes(&tables##_f32, sizeof tables##_f32), allowed);                                     \
    CU_ASSERT_EQUAL(holes(&tables##_f64, sizeof tables##_f64), allowed)

static void no_loop_is_missing(void)
{
    WHOLE(corral_kernels, 0);
    WHOLE(corral_elements, CORRAL_FUNCTION_COUNT - CORRAL_FUNCTION_SIGN); // these have no slope
    WHOLE(corral_shapes, 0);
    WHOLE(corral_layers, 0);
    WHOLE(corral_losses, 0);
    WHOLE(corral_distributions, 0);
}

static void every_level_has_its_layers(void)
{
    const corral_backend *tables[8];
    const size_t count = corral_backend_list(tables, 8);
    for (size_t i = 0; i < count; i++) {
        const corral_layer_table *layers = corral_layer_table_beside(tables[i]);
        CU_ASSERT_STRING_EQUAL(layers->name, tables[i]->name);
        CU_ASSERT_PTR_NOT_NULL(layers->product);
        CU_ASSERT_PTR_NOT_NULL(layers->relu);
        CU_ASSERT_EQUAL(holes(layers->cells, sizeof *layers->cells), 0);
    }
}

int main(void)
{
    return test_run("tables", (test_case[]){{"no loop is missing", no_loop_is_missing},
                                            {"every level has its layers", every_level_has_its_layers},
                                            {NULL, NULL}});
}
