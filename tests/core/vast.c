// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Tensors of more than 2^31 elements: what lies beyond is found, by address arithmetic alone. The memory is
// reserved, and only the pages that are read or written exist.

#include "ops/layer_kernels.h"

#include "corral/core/shapes.h"
#include "test.h"

#include <sys/mman.h>

enum { ROWS = 3 };
static const size_t width = ((size_t)1 << 30) + 7; // the last row begins beyond 2^31
static float *x;

static void *reserve(size_t bytes)
{
    void *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/// Element `i` from the end of row `row`.
static float number(size_t row, size_t i)
{
    return (float)(10 * row + i + 1);
}

static void elements_beyond_are_found(void)
{
    const int32_t last = (int32_t)(width - 1), index[ROWS] = {last, last - 1, last - 2};
    corral_tape *tape = NULL;
    TEST_OK(corral_tape_create(&tape));
    corral_tape_reset(tape, NULL, NULL);
    corral_tensor *all = corral_input(tape, CORRAL_F32, 2, (const size_t[]){ROWS, width}, x);
    const float *gathered = corral_gather(all, index)->data;
    const float *along = corral_gather_along(all, 1, index, 1)->data;
    const float *selected = corral_index_select(all, 1, &last, 1)->data;
    const float *slice = corral_slice(all, 1, width - 2, 2)->data;
    const float *row = corral_slice(corral_slice(all, 1, width - 4, 4), 0, 2, 1)->data;
    TEST_OK(corral_tape_status(tape));
    for (size_t r = 0; r < ROWS; r++) {
        CU_ASSERT_EQUAL(gathered[r], number(r, r));
        CU_ASSERT_EQUAL(along[r], number(r, r));
        CU_ASSERT_EQUAL(selected[r], number(r, 0));
        CU_ASSERT_EQUAL(slice[2 * r], number(r, 1));
    }
    CU_ASSERT_EQUAL(row[0], number(2, 3));
    corral_tape_destroy(tape);
}

/// Rows of both sides lie 2^30 and more apart.
static void products_reach_beyond(void)
{
    enum { INNER = 4, COLUMNS = 2 };
    static const float b[INNER * COLUMNS] = {1, 0, 0, 1, 1, 0, 0, 1};
    float *c = reserve(ROWS * width * sizeof *c);
    const corral_backend *tables[8];
    const size_t count = corral_backend_list(tables, 8);
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    for (size_t t = 0; t < count; t++) {
        for (size_t r = 0; r < ROWS; r++)
            c[r * width] = c[r * width + 1] = 0.0f;
        corral_layer_table_beside(tables[t])->product(&(corral_product){.rows = ROWS,
                                                                        .columns = COLUMNS,
                                                                        .outer = 1,
                                                                        .inner = INNER,
                                                                        .a = x + width - INNER,
                                                                        .a_row = width,
                                                                        .a_step = 1,
                                                                        .b = b,
                                                                        .b_step = COLUMNS,
                                                                        .c = c,
                                                                        .c_row = width});
        for (size_t r = 0; r < ROWS; r++) {
            CU_ASSERT_EQUAL(c[r * width], number(r, 3) + number(r, 1));
            CU_ASSERT_EQUAL(c[r * width + 1], number(r, 2) + number(r, 0));
        }
    }
    munmap(c, ROWS * width * sizeof *c);
}

int main(void)
{
    x = reserve(ROWS * width * sizeof *x);
    if (x == NULL) {
        puts("skipped: no 12 GiB of addresses to reserve");
        return 77;
    }
    for (size_t r = 0; r < ROWS; r++) {
        for (size_t i = 0; i < 8; i++)
            x[(r + 1) * width - 1 - i] = number(r, i);
    }
    return test_run("vast", (test_case[]){{"elements beyond are found", elements_beyond_are_found},
                                          {"products reach beyond", products_reach_beyond},
                                          {NULL, NULL}});
}
