// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The strided product of every table of this machine: against plain loops in f64, over ragged sizes and every
// kind of stride; tables of one level give the same bits; a row does not depend on its neighbours.

#include "backends/cpu/layer_table.h"

#include "test.h"

enum { TABLES = 8, MOST = 1 << 16 };

static float a[MOST], b[MOST], bias[256];

/// The corral_product of one case; `kind` 0: rows of a, 1: columns of a, 2: windows of an image.
typedef struct product_case {
    size_t rows, columns, outer, inner;
    int kind;
    bool from_bias;
} product_case;

static corral_product product_of(const product_case *c, float *result)
{
    corral_product p = {.rows = c->rows,
                        .columns = c->columns,
                        .outer = c->outer,
                        .inner = c->inner,
                        .a = a,
                        .b = b,
                        .b_step = c->columns + 3,
                        .b_outer = c->inner * (c->columns + 3),
                        .bias = c->from_bias ? bias : NULL,
                        .c = result,
                        .c_row = c->columns + 5};
    const size_t depth = c->outer * c->inner;
    p.a_row = c->kind == 0 ? depth + 2 : c->kind == 1 ? 1 : 4;
    p.a_step = c->kind == 1 ? c->rows + 1 : 1;
    p.a_outer = c->kind == 0 ? c->inner : c->kind == 1 ? c->inner * (c->rows + 1) : 4 * c->rows + c->inner;
    return p;
}

static float *run(const corral_backend *backend, const product_case *c)
{
    float *result = malloc(c->rows * (c->columns + 5) * sizeof *result);
    CU_ASSERT_PTR_NOT_NULL_FATAL(result);
    for (size_t i = 0; i < c->rows * (c->columns + 5); i++)
        result[i] = (float)i * 0.001f;
    const corral_product p = product_of(c, result);
    corral_layer_table_beside(backend)->product(&p);
    return result;
}

static void check_values(const product_case *c, const float *found)
{
    const corral_product p = product_of(c, NULL);
    for (size_t m = 0; m < c->rows; m++) {
        for (size_t n = 0; n < c->columns + 5; n++) {
            const size_t at = m * p.c_row + n;
            double sum = n < c->columns && c->from_bias ? (double)bias[n] : (double)((float)at * 0.001f);
            double size = fabs(sum);
            for (size_t j = 0; j < c->outer && n < c->columns; j++) {
                for (size_t k = 0; k < c->inner; k++) {
                    const double term = (double)a[m * p.a_row + j * p.a_outer + k * p.a_step] *
                                        (double)b[j * p.b_outer + k * p.b_step + n];
                    sum += term;
                    size += fabs(term);
                }
            }
            CU_ASSERT_TRUE(n < c->columns ? fabs(sum - (double)found[at]) <=
                                                4e-7 * sqrt((double)(c->outer * c->inner + 1)) * size
                                          : (double)found[at] == sum); // the gap is left alone
        }
    }
}

static void every_table_over_ragged_sizes(void)
{
    static const size_t rows[] = {0, 1, 2, 5, 7, 13, 100}, columns[] = {1, 3, 8, 16, 17, 33, 64, 100};
    static const size_t depths[][2] = {{1, 0}, {1, 1}, {3, 5}, {4, 32}};
    const corral_backend *tables[TABLES];
    const size_t table_count = corral_backend_list(tables, TABLES);
    for (size_t i = 0; i < MOST; i++) {
        a[i] = (float)sin(1.7 * (double)i);
        b[i] = (float)cos(0.9 * (double)i);
        bias[i % 256] = (float)sin((double)i);
    }
    for (size_t i = 0; i < 7 * 8 * 4 * 6; i++) {
        const product_case c = {rows[i % 7],           columns[i / 7 % 8], depths[i / 56 % 4][0],
                                depths[i / 56 % 4][1], (int)(i / 224 % 3), i / 672 % 2 == 1};
        float *fused = NULL;
        for (size_t t = 0; t < table_count; t++) {
            float *found = run(tables[t], &c);
            check_values(&c, found);
            const size_t bytes = c.rows * (c.columns + 5) * sizeof *found;
            if (fused != NULL && tables[t]->level == 1 && bytes > 0)
                CU_ASSERT_EQUAL(memcmp(found, fused, bytes), 0);
            if (fused == NULL && tables[t]->level == 1)
                fused = found;
            else
                free(found);
        }
        free(fused);
    }
}

static void rows_are_independent(void)
{
    const product_case whole = {13, 40, 3, 7, 0, true}, alone = {1, 40, 3, 7, 0, true};
    const corral_backend *tables[TABLES];
    const size_t table_count = corral_backend_list(tables, TABLES);
    for (size_t t = 0; t < table_count; t++) {
        float *together = run(tables[t], &whole), *one = run(tables[t], &alone);
        for (size_t r = 0; r < whole.rows; r++) {
            corral_product p = product_of(&alone, one);
            p.a = a + r * p.a_row;
            corral_layer_table_beside(tables[t])->product(&p);
            CU_ASSERT_EQUAL(memcmp(one, together + r * p.c_row, alone.columns * sizeof *one), 0);
        }
        free(together);
        free(one);
    }
}

int main(void)
{
    return test_run("products",
                    (test_case[]){{"every table over ragged sizes", every_table_over_ragged_sizes},
                                  {"rows are independent", rows_are_independent},
                                  {NULL, NULL}});
}
