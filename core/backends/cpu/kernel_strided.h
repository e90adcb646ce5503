// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The product of corral_product (layer_table.h): operands with strides, and a depth of two levels. It serves
// what a linear layer is not: a convolution, whose window of an image is `outer` rows of `inner` neighbours;
// a step of a recurrent layer, whose rows lie a sequence apart; batches of small products.
//
// The tiles are those of kernel_products.h: each element of c is one chain of multiply-adds over the depth.

/// Where column `n` of b begins. Panels are whole multiples of every tile's width.
ALWAYS_INLINE size_t column_of(const corral_product *p, size_t n)
{
    return p->b_panel == 0 ? n : p->b_panel * (n / CORRAL_PANEL) + n % CORRAL_PANEL;
}

/// One tile. ROWS, COLUMNS, FROM_BIAS and CONTIGUOUS (a_row is 1; else a_step is) are constants wherever this
/// is inlined. The last vector of each row has `last` elements.
ALWAYS_INLINE void strided_tile(const int ROWS, const int COLUMNS, const bool FROM_BIAS,
                                const bool CONTIGUOUS, const corral_product *p, size_t m0, size_t n0,
                                size_t last)
{
    vec sum[12][4]; // the constants leave only ROWS x COLUMNS of them
    float *c = (float *)p->c + m0 * p->c_row + n0;
#pragma GCC unroll 16
    for (int m = 0; m < ROWS; m++) {
        const float *from = FROM_BIAS ? (const float *)p->bias + n0 : c + m * p->c_row;
#pragma GCC unroll 16
        for (int n = 0; n < COLUMNS - 1; n++)
            sum[m][n] = load(from + n * LANES);
        sum[m][COLUMNS - 1] = load_partial(from + (COLUMNS - 1) * LANES, last);
    }
    const size_t a_row = CONTIGUOUS ? 1 : p->a_row, a_step = CONTIGUOUS ? p->a_step : 1;
    const float *columns = (const float *)p->b + column_of(p, n0);
    for (size_t j = 0; j < p->outer; j++) {
        const float *a = (const float *)p->a + m0 * a_row + j * p->a_outer;
        const float *b = columns + j * p->b_outer;
#pragma GCC unroll 2
        for (size_t k = 0; k < p->inner; k++) {
            vec right[4];
#pragma GCC unroll 16
            for (int n = 0; n < COLUMNS - 1; n++)
                right[n] = load(b + n * LANES);
            right[COLUMNS - 1] = load_partial(b + (COLUMNS - 1) * LANES, last);
#pragma GCC unroll 16
            for (int m = 0; m < ROWS; m++) {
                const vec left = broadcast(a[m * a_row]);
#pragma GCC unroll 16
                for (int n = 0; n < COLUMNS; n++)
                    sum[m][n] += left * right[n];
            }
            a += a_step;
            b += p->b_step;
        }
    }
#pragma GCC unroll 16
    for (int m = 0; m < ROWS; m++) {
        float *to = c + m * p->c_row;
#pragma GCC unroll 16
        for (int n = 0; n < COLUMNS - 1; n++)
            store(to + n * LANES, sum[m][n]);
        store_partial(to + (COLUMNS - 1) * LANES, sum[m][COLUMNS - 1], last);
    }
}

/// Rows `first` to `end` of one panel of COLUMNS vectors, as many at a time as MOST allows. One row more than
/// that goes as two tiles of about half: a tile of one row would wait for its own sums.
ALWAYS_INLINE void strided_panel(const int MOST, const int COLUMNS, const bool FROM_BIAS,
                                 const bool CONTIGUOUS, const corral_product *p, size_t first, size_t end,
                                 size_t n, size_t last)
{
    size_t m = first;
#define TILES(ROWS)                                                                                          \
    if (ROWS <= MOST) {                                                                                      \
        for (; m + ROWS <= end && (ROWS < MOST || ROWS > 8 || end - m != ROWS + 1); m += ROWS)               \
            strided_tile(ROWS, COLUMNS, FROM_BIAS, CONTIGUOUS, p, m, n, last);                               \
    }
    TILES(12)
    TILES(8)
    if (MOST < 8) {
        TILES(6)
    }
    TILES(4)
    TILES(3)
    TILES(2)
    TILES(1)
#undef TILES
}

/// All columns of some rows: panels of the widest kind first; what remains is a vector or two.
ALWAYS_INLINE void strided_rows(const bool FROM_BIAS, const bool CONTIGUOUS, const corral_product *p,
                                size_t first, size_t end)
{
    size_t n = 0;
    for (; n + WIDE_COLUMNS * LANES <= p->columns; n += WIDE_COLUMNS * LANES)
        strided_panel(WIDE_ROWS, WIDE_COLUMNS, FROM_BIAS, CONTIGUOUS, p, first, end, n, LANES);
    while (n < p->columns) {
        const size_t rest = p->columns - n;
#if WIDE_COLUMNS > 2
        if (rest > LANES) {
            const size_t last = rest < 2 * LANES ? rest - LANES : LANES;
            strided_panel(NARROW_ROWS, 2, FROM_BIAS, CONTIGUOUS, p, first, end, n, last);
            n += LANES + last;
            continue;
        }
#endif
        const size_t last = rest < LANES ? rest : LANES;
        strided_panel(NARROW_ROWS, 1, FROM_BIAS, CONTIGUOUS, p, first, end, n, last);
        n += last;
    }
}

// Rows that are taken together, so that what one panel of columns left in the cache serves the next one; and
// how much of the depth, so that the panel stays there while all rows pass over it.
enum { ROW_BLOCK = 96, DEPTH_BLOCK = 128 };

static void strided_block(const corral_product *p, size_t first, size_t end)
{
    if (p->a_row == 1) {
        if (p->bias != NULL)
            strided_rows(true, true, p, first, end);
        else
            strided_rows(false, true, p, first, end);
    } else if (p->bias != NULL) {
        strided_rows(true, false, p, first, end);
    } else {
        strided_rows(false, false, p, first, end);
    }
}

/// A depth of one level and many rows goes in blocks: the chains go on from what is in c.
static void strided_depth(const corral_product *p, size_t first, size_t end)
{
    for (size_t k = 0; k < p->inner; k += DEPTH_BLOCK) {
        corral_product part = *p;
        part.inner = p->inner - k < DEPTH_BLOCK ? p->inner - k : DEPTH_BLOCK;
        part.a = (const float *)p->a + k * p->a_step;
        part.b = (const float *)p->b + k * p->b_step;
        part.bias = k == 0 ? p->bias : NULL;
        strided_block(&part, first, end);
    }
}

static void product_strided(const corral_product *p)
{
    const bool deep = p->outer == 1 && p->inner > DEPTH_BLOCK && p->rows > NARROW_ROWS;
    for (size_t m = 0; m < p->rows; m += ROW_BLOCK) {
        const size_t end = p->rows - m < ROW_BLOCK ? p->rows : m + ROW_BLOCK;
        if (deep)
            strided_depth(p, m, end);
        else
            strided_block(p, m, end);
    }
}
