// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Every table that this machine can run, against plain loops in f64, over ragged sizes; that a row does not
// depend on its neighbours; and that tables of one level give the same bits.

#include "corral/core/backend.h"
#include "test.h"

#include <float.h>

enum { TABLES = 8 };

static const corral_backend *tables[TABLES];
static size_t table_count;

static void noise(float *x, size_t count, uint32_t seed)
{
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)(seed >> 8) / 8388608.0f - 1.0f;
    }
}

/// Exactly as large as asked, so that AddressSanitizer sees the first element too many.
static float *array(size_t count, uint32_t seed)
{
    float *x = malloc(count * sizeof *x + (count == 0));
    CU_ASSERT_PTR_NOT_NULL_FATAL(x);
    noise(x, count, seed);
    return x;
}

static int same_bits(const float *a, const float *b, size_t count)
{
    return memcmp(a, b, count * sizeof *a) == 0;
}

/// One layer with everything that the kernels need and make.
typedef struct layer {
    size_t rows, in, out;
    float *x, *weight, *bias, *dy, *packed;
    float *y, *dx, *dx_added, *dw, *db;
} layer;

static layer make_layer(const corral_backend *table, size_t rows, size_t in, size_t out)
{
    layer l = {.rows = rows, .in = in, .out = out};
    l.x = array(rows * in, 1);
    l.weight = array(out * in, 2);
    l.bias = array(out, 3);
    l.dy = array(rows * out, 4);
    l.packed = array(table->packed_size(out, in), 5);
    l.y = array(rows * out, 6);
    l.dx = array(rows * in, 7);
    l.dx_added = array(rows * in, 7);
    l.dw = array(out * in, 8);
    l.db = array(out, 9);
    table->pack(out, in, 0, out / 2, l.weight, l.packed); // in two pieces
    table->pack(out, in, out / 2, out - out / 2, l.weight, l.packed);
    table->linear(rows, in, out, l.x, l.packed, l.bias, CORRAL_LINEAR, l.y);
    table->linear_grad_input(rows, in, out, l.dy, l.weight, l.dx, false);
    table->linear_grad_input(rows, in, out, l.dy, l.weight, l.dx_added, true);
    table->linear_grad_weight(rows, in, out, l.dy, l.x, l.dw, l.db);
    return l;
}

static void free_layer(layer *l)
{
    float *all[] = {l->x, l->weight, l->bias, l->dy, l->packed, l->y, l->dx, l->dx_added, l->dw, l->db};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

/// 4e-7 times the root of the depth, scaled by the operands (all below 1).
static int near(double exact, float found, size_t depth)
{
    return fabs(exact - (double)found) <= 4e-7 * sqrt((double)depth) * (1.0 + (double)depth * 0.25);
}

static int check_values(const layer *l)
{
    int good = 1;
    float *dx = array(l->rows * l->in, 7), *dw = array(l->out * l->in, 8), *db = array(l->out, 9);
    for (size_t r = 0; r < l->rows; r++) {
        for (size_t o = 0; o < l->out; o++) {
            double sum = (double)l->bias[o];
            for (size_t k = 0; k < l->in; k++)
                sum += (double)l->x[r * l->in + k] * (double)l->weight[o * l->in + k];
            good &= near(sum, l->y[r * l->out + o], l->in);
        }
        for (size_t i = 0; i < l->in; i++) {
            double sum = 0.0;
            for (size_t o = 0; o < l->out; o++)
                sum += (double)l->dy[r * l->out + o] * (double)l->weight[o * l->in + i];
            good &= near(sum, l->dx[r * l->in + i], l->out);
            good &= near((double)dx[r * l->in + i] + sum, l->dx_added[r * l->in + i], l->out);
        }
    }
    for (size_t o = 0; o < l->out; o++) {
        double bias = (double)db[o];
        for (size_t r = 0; r < l->rows; r++)
            bias += (double)l->dy[r * l->out + o];
        good &= near(bias, l->db[o], l->rows);
        for (size_t i = 0; i < l->in; i++) {
            double sum = (double)dw[o * l->in + i];
            for (size_t r = 0; r < l->rows; r++)
                sum += (double)l->dy[r * l->out + o] * (double)l->x[r * l->in + i];
            good &= near(sum, l->dw[o * l->in + i], l->rows);
        }
    }
    free(dx);
    free(dw);
    free(db);
    return good;
}

static const size_t row_counts[] = {0, 1, 2, 5, 6, 7, 12, 13, 31, 32, 97, 200};
static const size_t widths[] = {1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 48, 63, 64, 65, 80, 131};

static void products_match_plain_loops(void)
{
    for (size_t t = 0; t < table_count; t++) {
        for (size_t r = 0; r < sizeof row_counts / sizeof *row_counts; r++) {
            for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
                const size_t in = widths[i], out = widths[(i * 5 + r) % (sizeof widths / sizeof *widths)];
                layer l = make_layer(tables[t], row_counts[r], in, out);
                const int good = check_values(&l);
                if (!good) fprintf(stderr, "%s: rows %zu in %zu out %zu\n", tables[t]->name, l.rows, in, out);
                CU_ASSERT_TRUE(good);
                free_layer(&l);
            }
        }
    }
}

/// Forward and input gradient of each row alone equal those of the row in a batch of any size, bit for bit.
static void rows_are_independent(void)
{
    static const struct {
        size_t in, out;
    } shapes[] = {{4, 64}, {64, 64}, {64, 2}, {64, 1}, {5, 35}, {17, 131}};
    for (size_t t = 0; t < table_count; t++) {
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            const size_t in = shapes[s].in, out = shapes[s].out;
            layer all = make_layer(tables[t], 70, in, out);
            float *packed = all.packed, y[70 * 131], dx[70 * 131];
            for (size_t rows = 1; rows <= 70; rows++) {
                tables[t]->linear(rows, in, out, all.x, packed, all.bias, CORRAL_TANH, y);
                noise(dx, rows * in, 7);
                tables[t]->linear_grad_input(rows, in, out, all.dy, all.weight, dx, false);
                CU_ASSERT_TRUE(same_bits(dx, all.dx, rows * in));
                const size_t last = rows - 1;
                float alone[131];
                tables[t]->linear(1, in, out, all.x + last * in, packed, all.bias, CORRAL_TANH, alone);
                CU_ASSERT_TRUE(same_bits(alone, y + last * out, out));
            }
            free_layer(&all);
        }
    }
}

/// Layers that are larger than a cache go in panels when there are many rows: with the bits of a row alone.
static void large_layers_are_no_different(void)
{
    enum { ROWS = 37, IN = 523, OUT = 517 };
    for (size_t t = 0; t < table_count; t++) {
        layer l = make_layer(tables[t], ROWS, IN, OUT);
        CU_ASSERT_TRUE(check_values(&l));
        for (size_t r = 0; r < ROWS; r += 9) {
            float y[OUT], dx[IN], added[IN];
            tables[t]->linear(1, IN, OUT, l.x + r * IN, l.packed, l.bias, CORRAL_LINEAR, y);
            CU_ASSERT_TRUE(same_bits(y, l.y + r * OUT, OUT));
            tables[t]->linear_grad_input(1, IN, OUT, l.dy + r * OUT, l.weight, dx, false);
            CU_ASSERT_TRUE(same_bits(dx, l.dx + r * IN, IN));
            float *before = array(ROWS * IN, 7);
            memcpy(added, before + r * IN, sizeof added);
            tables[t]->linear_grad_input(1, IN, OUT, l.dy + r * OUT, l.weight, added, true);
            CU_ASSERT_TRUE(same_bits(added, l.dx_added + r * IN, IN));
            free(before);
        }
        free_layer(&l);
    }
}

/// A weight gradient over all rows equals the one added up in any two parts.
static void weight_gradients_continue(void)
{
    for (size_t t = 0; t < table_count; t++) {
        for (size_t in = 3; in <= 64; in += 61) {
            layer l = make_layer(tables[t], 150, in, 64);
            for (size_t cut = 1; cut < 150; cut += 37) {
                float *dw = array(64 * in, 8), *db = array(64, 9);
                tables[t]->linear_grad_weight(cut, in, 64, l.dy, l.x, dw, db);
                tables[t]->linear_grad_weight(150 - cut, in, 64, l.dy + cut * 64, l.x + cut * in, dw, db);
                CU_ASSERT_TRUE(same_bits(dw, l.dw, 64 * in));
                CU_ASSERT_TRUE(same_bits(db, l.db, 64));
                free(dw);
                free(db);
            }
            free_layer(&l);
        }
    }
}

static void same_level_same_bits(void)
{
    for (size_t a = 0; a < table_count; a++) {
        for (size_t b = a + 1; b < table_count; b++) {
            // The portable table has tanh, exp and log of the C library.
            if (tables[a]->level != tables[b]->level || tables[a]->level == 0) continue;
            for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
                layer x = make_layer(tables[a], 45, widths[i], widths[(i * 7 + 3) % 18]);
                layer y = make_layer(tables[b], 45, widths[i], widths[(i * 7 + 3) % 18]);
                CU_ASSERT_TRUE(same_bits(x.y, y.y, x.rows * x.out) && same_bits(x.dx, y.dx, x.rows * x.in));
                CU_ASSERT_TRUE(same_bits(x.dw, y.dw, x.in * x.out) && same_bits(x.db, y.db, x.out));
                free_layer(&x);
                free_layer(&y);
            }
            void (*const functions[2][3])(size_t, const float *,
                                          float *) = {{tables[a]->tanh, tables[a]->exp, tables[a]->log},
                                                      {tables[b]->tanh, tables[b]->exp, tables[b]->log}};
            float *x = array(5000, 11), *p = array(5000, 0), *q = array(5000, 0);
            for (size_t i = 0; i < 5000; i++)
                x[i] *= 20.0f;
            for (size_t f = 0; f < 3; f++) {
                for (size_t i = 0; f == 2 && i < 5000; i++)
                    x[i] = fabsf(x[i]); // log: NaN has many forms
                functions[0][f](5000, x, p);
                functions[1][f](5000, x, q);
                CU_ASSERT_TRUE(same_bits(p, q, 5000));
            }
            free(x);
            free(p);
            free(q);
        }
    }
}

static void adam_agrees(void)
{
    float *grad = array(77, 3), *expected = NULL;
    for (size_t t = 0; t < table_count; t++) {
        float *w = array(77, 1), *m = array(77, 2), *v = array(77, 4);
        for (size_t i = 0; i < 77; i++)
            v[i] = fabsf(v[i]);
        for (int step = 0; step < 3; step++) {
            tables[t]->adam(77, w, grad, m, v, 0.5f, 0.9f, 0.999f, 1e-2f, 0.7f, 1e-5f);
        }
        if (t == 0) expected = w;
        for (size_t i = 0; i < 77; i++)
            CU_ASSERT_DOUBLE_EQUAL(w[i], expected[i], 3e-7);
        free(m);
        free(v);
        if (t != 0) free(w);
    }
    free(expected);
    free(grad);
}

/// Moments of a weight without gradient end at zero, not among the slow numbers below the normal range.
static void moments_end_at_zero(void)
{
    for (size_t t = 0; t < table_count; t++) {
        float w[5] = {1, 1, 1, 1, 1}, g[5] = {0}, m[5], v[5];
        for (int i = 0; i < 5; i++)
            m[i] = v[i] = 2.0f * FLT_MIN;
        for (int i = 0; i < 10; i++)
            tables[t]->adam(5, w, g, m, v, 1.0f, 0.5f, 0.5f, 1e-3f, 1.0f, 1e-8f);
        for (int i = 0; i < 5; i++)
            CU_ASSERT_TRUE(m[i] == 0.0f && v[i] == 0.0f);
    }
}

/// All tables: the same sums, the same squares.
static void lanes_are_summed_in_a_fixed_tree(void)
{
    for (size_t lanes = 1; lanes <= CORRAL_BACKEND_LANES; lanes++) {
        for (size_t count = 1; count <= 70; count += 3) {
            double expected_squares = 0.0;
            float expected[70];
            for (size_t t = 0; t < table_count; t++) {
                float *lane[CORRAL_BACKEND_LANES], total[70];
                for (size_t i = 0; i < lanes; i++)
                    lane[i] = array(count, (uint32_t)(100 + i));
                const double squares = tables[t]->sum_lanes(count, lanes, lane, total);
                if (t == 0) {
                    expected_squares = squares;
                    memcpy(expected, total, sizeof total);
                }
                CU_ASSERT_EQUAL(squares, expected_squares);
                CU_ASSERT_TRUE(same_bits(total, expected, count));
                for (size_t i = 0; i < lanes; i++)
                    free(lane[i]);
            }
        }
    }
}

// --- tanh, exp, log
// ---------------------------------------------------------------------------------------------

/// Units in the last place between `found` and the exact value.
static double ulps(double exact, float found)
{
    const float rounded = (float)exact;
    if (rounded == found) return 0.0;
    const double unit = fabs((double)nextafterf(rounded, INFINITY) - (double)rounded);
    return fabs(exact - (double)found) / unit;
}

/// The worst error over a sweep of `count` numbers from `low` on, each `step` bit patterns after the other.
static double worst_error(void (*function)(size_t, const float *, float *), double (*exact)(double),
                          float low, uint32_t step, size_t count)
{
    float *x = malloc(count * sizeof *x), *y = malloc(count * sizeof *y);
    CU_ASSERT_TRUE_FATAL(x != NULL && y != NULL);
    uint32_t bits;
    memcpy(&bits, &low, sizeof bits);
    for (size_t i = 0; i < count; i++, bits += step)
        memcpy(&x[i], &bits, sizeof bits);
    function(count, x, y);
    double worst = 0.0;
    for (size_t i = 0; i < count; i++)
        worst = fmax(worst, ulps(exact((double)x[i]), y[i]));
    free(x);
    free(y);
    return worst;
}

static void functions_are_accurate(void)
{
    for (size_t t = 0; t < table_count; t++) {
        const corral_backend *b = tables[t];
        // From 1e-30 to about 12, and the negative half.
        CU_ASSERT_TRUE(worst_error(b->tanh, tanh, 1e-30f, 4000, 215000) <= 5.0);
        CU_ASSERT_TRUE(worst_error(b->tanh, tanh, -1e-30f, 4000, 215000) <= 5.0);
        CU_ASSERT_TRUE(worst_error(b->exp, exp, 1e-10f, 2000, 166000) <= 3.0);  // to 88
        CU_ASSERT_TRUE(worst_error(b->exp, exp, -1e-10f, 2000, 166000) <= 3.0); // to -87
        CU_ASSERT_TRUE(worst_error(b->log, log, FLT_MIN, 10000, 212000) <= 3.0);
        CU_ASSERT_TRUE(worst_error(b->log, log, 0.9f, 10, 400000) <= 3.0); // across 1
    }
}

static void functions_keep_their_limits(void)
{
    static const float x[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 9.1f, -9.1f, 1e30f, 1.0f};
    enum { COUNT = sizeof x / sizeof *x };
    for (size_t t = 0; t < table_count; t++) {
        const corral_backend *b = tables[t];
        float y[COUNT];
        b->tanh(COUNT, x, y);
        CU_ASSERT_TRUE(y[0] == 0.0f && !signbit(y[0]) && y[1] == 0.0f && signbit(y[1]));
        CU_ASSERT_TRUE(y[2] == 1.0f && y[3] == -1.0f && isnan(y[4]) && y[5] == 1.0f && y[6] == -1.0f &&
                       y[7] == 1.0f);
        b->exp(COUNT, x, y);
        CU_ASSERT_TRUE(y[0] == 1.0f && y[1] == 1.0f); // exactly: the ratio of an unchanged policy
        CU_ASSERT_TRUE(isinf(y[2]) && y[3] == 0.0f && isnan(y[4]) && isinf(y[7]));
        b->log(COUNT, x, y);
        CU_ASSERT_TRUE(y[0] == -INFINITY && y[1] == -INFINITY && isinf(y[2]) && isnan(y[3]) && isnan(y[4]));
        CU_ASSERT_TRUE(isnan(y[6]) && y[8] == 0.0f);
        const float tiny = 1e-40f;
        float found;
        b->log(1, &tiny, &found);
        CU_ASSERT_TRUE(ulps(log((double)tiny), found) <= 3.0);
        const float deep = -100.0f; // a result below the normal range
        b->exp(1, &deep, &found);
        CU_ASSERT_TRUE(fabs((double)found - exp(-100.0)) <= 2e-45);
    }
}

static void tanh_never_passes_one(void)
{
    for (size_t t = 0; t < table_count; t++) {
        float x[4096], y[4096];
        for (size_t i = 0; i < 4096; i++)
            x[i] = 6.0f + (float)i * (4.0f / 4096.0f);
        tables[t]->tanh(4096, x, y);
        for (size_t i = 0; i < 4096; i++)
            CU_ASSERT_TRUE(y[i] <= 1.0f);
    }
}

/// The same number gives the same bits in every place of an array, also in a ragged end.
static void places_do_not_matter(void)
{
    for (size_t t = 0; t < table_count; t++) {
        void (*const functions[])(size_t, const float *, float *) = {tables[t]->tanh, tables[t]->exp,
                                                                     tables[t]->log};
        for (size_t f = 0; f < 3; f++) {
            for (size_t count = 1; count <= 70; count++) {
                float *x = array(count, 1), *y = array(count, 2), alone;
                for (size_t i = 0; i < count; i++)
                    x[i] = fabsf(x[i]) * 3.0f;
                functions[f](count, x, y);
                for (size_t i = 0; i < count; i++) {
                    functions[f](1, &x[i], &alone);
                    CU_ASSERT_TRUE(same_bits(&alone, &y[i], 1));
                }
                free(x);
                free(y);
            }
        }
    }
}

static void activations(void)
{
    for (size_t t = 0; t < table_count; t++) {
        for (size_t count = 1; count <= 70; count += 23) {
            float *y = array(count, 5), *g = array(count, 6), *expected = array(count, 6);
            for (size_t i = 0; i < count; i++)
                expected[i] *= 1.0f - y[i] * y[i];
            tables[t]->activation_grad(count, CORRAL_TANH, y, g);
            for (size_t i = 0; i < count; i++)
                CU_ASSERT_DOUBLE_EQUAL(g[i], expected[i], 1e-6);
            noise(g, count, 6);
            noise(expected, count, 6);
            tables[t]->activation_grad(count, CORRAL_RELU, y, g);
            for (size_t i = 0; i < count; i++)
                CU_ASSERT_EQUAL(g[i], y[i] > 0.0f ? expected[i] : 0.0f);
            noise(g, count, 6);
            tables[t]->activation_grad(count, CORRAL_LINEAR, y, g);
            CU_ASSERT_TRUE(same_bits(g, expected, count));
            free(y);
            free(g);
            free(expected);
        }
    }
}

static void the_environment_chooses(void)
{
    CU_ASSERT_STRING_EQUAL(corral_backend_cpu()->name, "portable"); // set in main, before the first call
    for (size_t t = 0; t < table_count; t++) {
        CU_ASSERT_EQUAL(tables[t]->abi, CORRAL_BACKEND_ABI);
        CU_ASSERT_EQUAL(tables[t]->size, sizeof(corral_backend));
    }
    CU_ASSERT_PTR_EQUAL(tables[0], corral_backend_cpu());
}

int main(void)
{
    setenv("CORRAL_CPU_LEVEL", "portable", 1);
    table_count = corral_backend_list(tables, TABLES);
    return test_run("backends",
                    (test_case[]){{"products match plain loops", products_match_plain_loops},
                                  {"rows are independent", rows_are_independent},
                                  {"large layers are no different", large_layers_are_no_different},
                                  {"weight gradients continue", weight_gradients_continue},
                                  {"same level, same bits", same_level_same_bits},
                                  {"adam agrees", adam_agrees},
                                  {"moments end at zero", moments_end_at_zero},
                                  {"lanes are summed in a fixed tree", lanes_are_summed_in_a_fixed_tree},
                                  {"functions are accurate", functions_are_accurate},
                                  {"functions keep their limits", functions_keep_their_limits},
                                  {"tanh never passes one", tanh_never_passes_one},
                                  {"places do not matter", places_do_not_matter},
                                  {"activations", activations},
                                  {"the environment chooses", the_environment_chooses},
                                  {NULL, NULL}});
}
