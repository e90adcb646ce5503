// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Matrix products by tiles that stay in registers.
//
// All three products of a linear layer have one form, c[m, n] (+)= sum over k of a(m, k) * b[k, n], with rows
// of b and c contiguous:
//
//     forward          c = y,  a = x,       b = packed W (k = in),   starts from the bias
//     input gradient   c = dx, a = dy,      b = W        (k = out),  starts from zero, or from c
//     weight gradient  c = dW, a = dy^T,    b = x        (k = rows), starts from c
//
// A tile holds ROWS x COLUMNS vectors of c. For each k it loads COLUMNS vectors of b, broadcasts ROWS
// elements of a, and adds their products. So each element of c is one chain of fused multiply-adds over k
// ascending, whatever tile it falls into: a row does not depend on its neighbours, and tables with other
// tiles give the same bits. Twelve vectors or more are in flight, which hides the latency of a fused
// multiply-add (4 cycles, 2 each).

/// An operand a(m, k) = at[m * row + k * step].
typedef struct strided {
    const float *at;
    size_t row, step;
} strided;

/// What an element's chain starts from.
typedef enum start { FROM_ZERO, FROM_BIAS, FROM_RESULT } start;

/// One tile; ROWS, COLUMNS, START and CONTIGUOUS (a.row is 1) are constants wherever this is inlined. The
/// last vector of each row has `last` elements.
ALWAYS_INLINE void tile(const int ROWS, const int COLUMNS, const start START, const bool CONTIGUOUS,
                        size_t depth, strided a, const float *b, size_t b_step, const float *bias, float *c,
                        size_t c_row, size_t last)
{
    vec sum[12][4]; // the constants below leave only ROWS x COLUMNS of them
#pragma GCC unroll 16
    for (int m = 0; m < ROWS; m++) {
        const float *from = START == FROM_BIAS ? bias : c + m * c_row;
#pragma GCC unroll 16
        for (int n = 0; n < COLUMNS - 1; n++)
            sum[m][n] = START == FROM_ZERO ? (vec){0} : load(from + n * LANES);
        sum[m][COLUMNS - 1] =
            START == FROM_ZERO ? (vec){0} : load_partial(from + (COLUMNS - 1) * LANES, last);
    }
    const size_t a_row = CONTIGUOUS ? 1 : a.row;
    const size_t a_step = CONTIGUOUS ? a.step : 1;
    // Two steps at a time: half as many ends of the loop to predict.
#pragma GCC unroll 2
    for (size_t k = 0; k < depth; k++) {
        vec right[4];
#pragma GCC unroll 16
        for (int n = 0; n < COLUMNS - 1; n++)
            right[n] = load(b + n * LANES);
        right[COLUMNS - 1] = load_partial(b + (COLUMNS - 1) * LANES, last);
#pragma GCC unroll 16
        for (int m = 0; m < ROWS; m++) {
            const vec left = broadcast(a.at[m * a_row]);
#pragma GCC unroll 16
            for (int n = 0; n < COLUMNS; n++)
                sum[m][n] += left * right[n];
        }
        a.at += a_step;
        b += b_step;
    }
#pragma GCC unroll 16
    for (int m = 0; m < ROWS; m++) {
        float *to = c + m * c_row;
#pragma GCC unroll 16
        for (int n = 0; n < COLUMNS - 1; n++)
            store(to + n * LANES, sum[m][n]);
        store_partial(to + (COLUMNS - 1) * LANES, sum[m][COLUMNS - 1], last);
    }
}

typedef struct product_shape {
    size_t rows, columns, depth;
    strided a;
    const float *b; // [depth, b_step]
    size_t b_step;
    const float *bias; // [columns]
    float *c;          // [rows, c_row]
    size_t c_row;
    bool far; // c is larger than the cache: what the next tile goes on from is fetched ahead
} product_shape;

/// The rows from `m` on of the c that the next tile begins with.
ALWAYS_INLINE void fetch_ahead(const int ROWS, const int COLUMNS, const product_shape *p, size_t m, size_t n)
{
    for (size_t r = m; r < m + ROWS && r < p->rows; r++) {
        for (size_t line = 0; line < COLUMNS * LANES * sizeof(float); line += 64)
            __builtin_prefetch((const char *)(p->c + r * p->c_row + n) + line, 1);
    }
}

/// Rows of one panel of COLUMNS vectors, beginning at column `n`: tiles of 12, 8, 6, 4, 2 and 1 rows, as many
/// at a time as MOST allows.
ALWAYS_INLINE void panel(const int MOST, const int COLUMNS, const start START, const bool CONTIGUOUS,
                         const product_shape *p, size_t n, size_t last)
{
    size_t m = 0;
    const size_t a_row = CONTIGUOUS ? 1 : p->a.row;
#define TILES(ROWS)                                                                                          \
    if (ROWS <= MOST) {                                                                                      \
        for (; m + ROWS <= p->rows; m += ROWS) {                                                             \
            const strided a = {p->a.at + m * a_row, p->a.row, p->a.step};                                    \
            if (p->far) fetch_ahead(ROWS, COLUMNS, p, m + ROWS, n);                                          \
            tile(ROWS, COLUMNS, START, CONTIGUOUS, p->depth, a, p->b + n, p->b_step,                         \
                 START == FROM_BIAS ? p->bias + n : NULL, p->c + m * p->c_row + n, p->c_row, last);          \
        }                                                                                                    \
    }
    TILES(12)
    TILES(8)
    TILES(6)
    TILES(4)
    TILES(2)
    TILES(1)
#undef TILES
}

/// Panels of the widest kind first; what remains is a vector or two, the last of them partial.
ALWAYS_INLINE void product(const start START, const bool CONTIGUOUS, const product_shape *p)
{
    size_t n = 0;
    for (; n + WIDE_COLUMNS * LANES <= p->columns; n += WIDE_COLUMNS * LANES) {
        panel(WIDE_ROWS, WIDE_COLUMNS, START, CONTIGUOUS, p, n, LANES);
    }
    while (n < p->columns) {
        const size_t rest = p->columns - n;
#if WIDE_COLUMNS > 2
        if (rest > LANES) {
            const size_t last = rest < 2 * LANES ? rest - LANES : LANES;
            panel(NARROW_ROWS, 2, START, CONTIGUOUS, p, n, last);
            n += LANES + last;
            continue;
        }
#endif
        const size_t last = rest < LANES ? rest : LANES;
        panel(NARROW_ROWS, 1, START, CONTIGUOUS, p, n, last);
        n += last;
    }
}

// Rows that are taken together, so that what one panel of columns left in the cache serves the next one.
enum { ROW_BLOCK = 96 };

// --- a large right operand --------------------------------------------------------------------------------
//
// A panel of b whose rows lie kilobytes apart falls into few sets of the cache and a page for each row, and
// all rows' tiles read it again. So it is copied, a part of its depth at a time, to where it lies together.

enum { PANEL_WIDTH = WIDE_COLUMNS * LANES, PANEL_DEPTH = 128, LARGE = 1 << 18, PANEL_ROWS = 16 };

/// Whether copies of b are worth their while: it is larger than an inner cache, and read often enough.
static bool is_large(const product_shape *p)
{
    return p->depth * p->columns >= LARGE && p->rows >= PANEL_ROWS;
}

ALWAYS_INLINE void copy_panel(size_t depth, const float *b, size_t b_step, float *panel)
{
    enum { AHEAD = 16 };
    for (size_t k = 0; k < depth; k++, b += b_step, panel += PANEL_WIDTH) {
        for (size_t line = 0; line < PANEL_WIDTH * sizeof(float); line += 64)
            __builtin_prefetch((const char *)b + AHEAD * b_step * sizeof(float) + line);
        for (int i = 0; i < WIDE_COLUMNS; i++)
            store(panel + i * LANES, load(b + i * LANES));
    }
}

/// c += a b with b in panels: the chains go on from part to part of the depth.
static void product_in_panels(const product_shape *p)
{
    float copy[PANEL_DEPTH * PANEL_WIDTH] __attribute__((aligned(64)));
    product_shape part = *p;
    size_t n = 0;
    part.b = copy;
    part.b_step = PANEL_WIDTH;
    for (; n + PANEL_WIDTH <= p->columns; n += PANEL_WIDTH) {
        part.c = p->c + n;
        for (size_t k = 0; k < p->depth; k += part.depth) {
            part.depth = p->depth - k < PANEL_DEPTH ? p->depth - k : PANEL_DEPTH;
            part.a.at = p->a.at + k * p->a.step;
            copy_panel(part.depth, p->b + k * p->b_step + n, p->b_step, copy);
            panel(WIDE_ROWS, WIDE_COLUMNS, FROM_RESULT, false, &part, 0, LANES);
        }
    }
    if (n == p->columns) return;
    part = *p;
    part.columns = p->columns - n;
    part.b = p->b + n;
    part.c = p->c + n;
    product(FROM_RESULT, false, &part);
}

// --- few outputs
// --------------------------------------------------------------------------------------------

enum { PARTIAL_SUMS = 16, PARTIAL_VECTORS = PARTIAL_SUMS / LANES };

/// The second half is added to the first until one number is left.
ALWAYS_INLINE float add_partial_sums(const vec *sum)
{
#if LANES == 16
    typedef float oct __attribute__((vector_size(32)));
    const oct eight = __builtin_shufflevector(sum[0], sum[0], 0, 1, 2, 3, 4, 5, 6, 7) +
                      __builtin_shufflevector(sum[0], sum[0], 8, 9, 10, 11, 12, 13, 14, 15);
#elif LANES == 8
    const vec eight = sum[0] + sum[1];
#endif
#if LANES >= 8
    const quad four =
        __builtin_shufflevector(eight, eight, 0, 1, 2, 3) + __builtin_shufflevector(eight, eight, 4, 5, 6, 7);
#else
    const quad four = (sum[0] + sum[2]) + (sum[1] + sum[3]);
#endif
    const quad two = four + __builtin_shufflevector(four, four, 2, 3, 0, 1);
    return two[0] + two[1];
}

/// y of a layer with few outputs, as dot products. A tile would load an element of x for each of its few
/// products; here a vector runs along k, in sixteen partial sums by k mod 16, which are then added in halves:
/// the same bits whatever the vector's length.
static void linear_of_few(size_t rows, size_t in_features, size_t out_features, const float *x,
                          const float *packed, const float *bias, float *y)
{
    const size_t whole = in_features / PARTIAL_SUMS * PARTIAL_SUMS, width = padded(in_features);
    for (size_t r = 0; r < rows; r++, x += in_features) {
        for (size_t o = 0; o < out_features; o++) {
            const float *w = packed + o * width;
            vec sum[PARTIAL_VECTORS] = {0};
            for (size_t k = 0; k < whole; k += PARTIAL_SUMS) {
                for (size_t i = 0; i < PARTIAL_VECTORS; i++)
                    sum[i] += load(x + k + i * LANES) * load(w + k + i * LANES);
            }
#pragma GCC unroll 4
            for (size_t i = 0; i < PARTIAL_VECTORS; i++) {
                const size_t k = whole + i * LANES;
                if (k >= in_features) break;
                const size_t last = in_features - k < LANES ? in_features - k : LANES;
                sum[i] += load_partial(x + k, last) * load(w + k);
            }
            *y++ = bias[o] + add_partial_sums(sum);
        }
    }
}

// How much of a long row of x is taken at a time, so that the part of the weight stays in the cache while the
// rows of a block pass over it.
enum { DEPTH_BLOCK = 256 };

/// The chains go on from what is in y: the same bits.
static void linear_block(const product_shape *whole)
{
    if (is_large(whole)) {
        for (size_t r = 0; r < whole->rows; r++)
            memcpy(whole->c + r * whole->c_row, whole->bias, whole->columns * sizeof(float));
        product_in_panels(whole);
        return;
    }
    product_shape part = *whole;
    part.depth = whole->depth < DEPTH_BLOCK || whole->rows <= NARROW_ROWS ? whole->depth : DEPTH_BLOCK;
    product(FROM_BIAS, false, &part);
    for (size_t k = part.depth; k < whole->depth; k += part.depth) {
        if (whole->depth - k < part.depth) part.depth = whole->depth - k;
        part.a.at = whole->a.at + k;
        part.b = whole->b + k * whole->b_step;
        product(FROM_RESULT, false, &part);
    }
}

static void linear(size_t rows, size_t in_features, size_t out_features, const float *x, const float *packed,
                   const float *bias, corral_activation activation, float *y)
{
    if (out_features <= FEW_OUTPUTS) {
        linear_of_few(rows, in_features, out_features, x, packed, bias, y);
        activate(rows * out_features, activation, y);
        return;
    }
    for (size_t r = 0; r < rows; r += ROW_BLOCK) {
        const size_t count = rows - r < ROW_BLOCK ? rows - r : ROW_BLOCK;
        const product_shape shape = {
            .rows = count,
            .columns = out_features,
            .depth = in_features,
            .a = {x + r * in_features, in_features, 1},
            .b = packed,
            .b_step = padded(out_features),
            .bias = bias,
            .c = y + r * out_features,
            .c_row = out_features,
        };
        linear_block(&shape);
        // Over the whole block at once while it is in the cache: long runs keep several vectors in flight.
        activate(count * out_features, activation, shape.c);
    }
}

static void linear_grad_input(size_t rows, size_t in_features, size_t out_features, const float *dy,
                              const float *weight, float *dx, bool adds)
{
    for (size_t r = 0; r < rows; r += ROW_BLOCK) {
        const product_shape shape = {
            .rows = rows - r < ROW_BLOCK ? rows - r : ROW_BLOCK,
            .columns = in_features,
            .depth = out_features,
            .a = {dy + r * out_features, out_features, 1},
            .b = weight,
            .b_step = in_features,
            .c = dx + r * in_features,
            .c_row = in_features,
        };
        if (is_large(&shape)) {
            if (!adds) memset(shape.c, 0, shape.rows * in_features * sizeof(float));
            product_in_panels(&shape);
        } else if (adds) {
            product(FROM_RESULT, false, &shape);
        } else {
            product(FROM_ZERO, false, &shape);
        }
    }
}

/// db[out] += the column sums of dy, rows ascending; four vectors at a time hide the latency of the addition.
static void add_columns(size_t rows, size_t columns, const float *dy, float *db)
{
    size_t n = 0;
    for (; n + 4 * LANES <= columns; n += 4 * LANES) {
        vec sum[4];
        for (int i = 0; i < 4; i++)
            sum[i] = load(db + n + i * LANES);
        for (size_t r = 0; r < rows; r++) {
            for (int i = 0; i < 4; i++)
                sum[i] += load(dy + r * columns + n + i * LANES);
        }
        for (int i = 0; i < 4; i++)
            store(db + n + i * LANES, sum[i]);
    }
    for (; n < columns; n += LANES) {
        const size_t last = columns - n < LANES ? columns - n : LANES;
        vec sum = load_partial(db + n, last);
        for (size_t r = 0; r < rows; r++)
            sum += load_partial(dy + r * columns + n, last);
        store_partial(db + n, sum, last);
    }
}

/// dw[out, in] += dy^T x over rows that fit into the cache.
static void add_weight_grad(size_t rows, size_t in_features, size_t out_features, const float *dy,
                            const float *x, float *dw)
{
    const product_shape shape = {
        .rows = out_features,
        .columns = in_features,
        .depth = rows,
        .a = {dy, 1, out_features},
        .b = x,
        .b_step = in_features,
        .c = dw,
        .c_row = in_features,
        .far = in_features * out_features >= LARGE,
    };
    product(FROM_RESULT, true, &shape);
}

enum { NARROW_INPUT = 8, NARROW_BLOCK = 128 };

/// The same for a few inputs (the four numbers of a cart and a pole), where vectors along `in` would be
/// mostly padding: as x^T dy, with dw transposed on the way in and out. The chains are the same.
static void add_narrow_weight_grad(size_t rows, size_t in_features, size_t out_features, const float *dy,
                                   const float *x, float *dw)
{
    float transposed[NARROW_INPUT * NARROW_BLOCK];
    for (size_t o = 0; o < out_features; o += NARROW_BLOCK) {
        const size_t count = out_features - o < NARROW_BLOCK ? out_features - o : NARROW_BLOCK;
        transpose(count, in_features, dw + o * in_features, in_features, transposed, NARROW_BLOCK);
        const product_shape shape = {
            .rows = in_features,
            .columns = count,
            .depth = rows,
            .a = {x, 1, in_features},
            .b = dy + o,
            .b_step = out_features,
            .c = transposed,
            .c_row = NARROW_BLOCK,
        };
        product(FROM_RESULT, true, &shape);
        transpose(in_features, count, transposed, NARROW_BLOCK, dw + o * in_features, in_features);
    }
}

/// Blocks of rows keep x and dy in the cache while all tiles of dw pass over them; the chain of each element
/// goes on from block to block, because it goes on from what is in dw.
static void linear_grad_weight(size_t rows, size_t in_features, size_t out_features, const float *dy,
                               const float *x, float *dw, float *db)
{
    const bool narrow = in_features <= NARROW_INPUT && out_features > in_features;
    for (size_t r = 0; r < rows; r += ROW_BLOCK) {
        const size_t count = rows - r < ROW_BLOCK ? rows - r : ROW_BLOCK;
        const float *dy_block = dy + r * out_features, *x_block = x + r * in_features;
        if (narrow) {
            add_narrow_weight_grad(count, in_features, out_features, dy_block, x_block, dw);
        } else {
            add_weight_grad(count, in_features, out_features, dy_block, x_block, dw);
        }
        if (db != NULL) add_columns(count, out_features, dy_block, db);
    }
}
