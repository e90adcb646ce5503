// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Moving and choosing elements in `real`.

/// Calls `line` for each run of the innermost dimension with where it begins.
static inline void each_line(const corral_move *m,
                             void (*line)(const corral_move *m, const real *from, real *to))
{
    const size_t *n = m->shape, *f = m->from_step, *t = m->to_step;
    for (size_t i = 0; i < n[0]; i++) {
        for (size_t j = 0; j < n[1]; j++) {
            for (size_t k = 0; k < n[2]; k++)
                line(m, (const real *)m->from + i * f[0] + j * f[1] + k * f[2],
                     (real *)m->to + i * t[0] + j * t[1] + k * t[2]);
        }
    }
}

static void move_line(const corral_move *m, const real *from, real *to)
{
    const size_t f = m->from_step[3], t = m->to_step[3];
    for (size_t i = 0; i < m->shape[3]; i++)
        to[i * t] = from[i * f];
}

static void move(const corral_move *m)
{
    each_line(m, move_line);
}

static void add_line(const corral_move *m, const real *from, real *to)
{
    const size_t f = m->from_step[3], t = m->to_step[3];
    for (size_t i = 0; i < m->shape[3]; i++)
        to[i * t] += from[i * f];
}

static void move_add(const corral_move *m)
{
    each_line(m, add_line);
}

static void fill(size_t count, double value, void *to)
{
    for (size_t i = 0; i < count; i++)
        ((real *)to)[i] = (real)value;
}

// --- choosing ---------------------------------------------------------------------------------------------

/// Calls `line` for each run of `inner` elements of the result: which elements of x stand against it begin at
/// x + index * inner.
static inline void each_choice(const corral_choice *c,
                               void (*line)(const corral_choice *c, const int32_t *index, size_t x, size_t y))
{
    for (size_t o = 0; o < c->outer; o++) {
        for (size_t k = 0; k < c->count; k++) {
            const size_t y = (o * c->count + k) * c->inner;
            line(c, c->each ? c->index + y : c->index + k, o * c->n * c->inner, y);
        }
    }
}

/// Which element of x stands against the i-th of a run.
static inline size_t chosen(const corral_choice *c, const int32_t *index, size_t x, size_t i)
{
    return x + (size_t)index[c->each ? i : 0] * c->inner + i;
}

static void choose_line(const corral_choice *c, const int32_t *index, size_t x, size_t y)
{
    for (size_t i = 0; i < c->inner; i++)
        ((real *)c->to)[y + i] = ((const real *)c->from)[chosen(c, index, x, i)];
}

static void choose(const corral_choice *c)
{
    each_choice(c, choose_line);
}

static void choose_add_line(const corral_choice *c, const int32_t *index, size_t x, size_t y)
{
    for (size_t i = 0; i < c->inner; i++)
        ((real *)c->to)[chosen(c, index, x, i)] += ((const real *)c->from)[y + i];
}

static void choose_add(const corral_choice *c)
{
    each_choice(c, choose_add_line);
}

static void take_add_line(const corral_choice *c, const int32_t *index, size_t x, size_t y)
{
    for (size_t i = 0; i < c->inner; i++)
        ((real *)c->to)[y + i] += ((const real *)c->from)[chosen(c, index, x, i)];
}

static void take_add(const corral_choice *c)
{
    each_choice(c, take_add_line);
}

// --- sorting ----------------------------------------------------------------------------------------------

/// Whether `a` stands before `b`; NaN is larger than anything, and equals do not.
static inline bool stands_before(real a, real b, bool descending)
{
    if (a != a || b != b) return descending ? a != a && b == b : a == a && b != b;
    return descending ? a > b : a < b;
}

/// By merging runs from the bottom up: stable, and without recursion.
static void sort_row(size_t n, bool descending, const real *x, int32_t *index, int32_t *spare)
{
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t low = 0; low < n; low += 2 * width) {
            const size_t middle = low + width < n ? low + width : n,
                         high = low + 2 * width < n ? low + 2 * width : n;
            size_t left = low, right = middle;
            for (size_t k = low; k < high; k++) {
                const bool takes_right =
                    left == middle ||
                    (right < high && stands_before(x[index[right]], x[index[left]], descending));
                spare[k] = takes_right ? index[right++] : index[left++];
            }
        }
        memcpy(index, spare, n * sizeof *index);
    }
}

/// `index` has room for one more row behind the others.
static void sort(size_t rows, size_t n, bool descending, const void *x, int32_t *index)
{
    for (size_t r = 0; r < rows; r++) {
        for (size_t i = 0; i < n; i++)
            index[r * n + i] = (int32_t)i;
        sort_row(n, descending, (const real *)x + r * n, index + r * n, index + rows * n);
    }
}
