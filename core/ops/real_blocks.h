// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// What the loops of every subject share, in `real`: work is cut into blocks of BLOCK elements, so that exp,
// log and tanh see arrays, on the stack.

enum { BLOCK = 64 };

static inline size_t block_at(size_t count, size_t done)
{
    return count - done < BLOCK ? count - done : BLOCK;
}

/// log(1 + x) for x > -1, of at most BLOCK elements, right to the last digits for small x too: the quotient
/// x / ((1 + x) - 1) takes back what the rounding of 1 + x lost (Kahan).
static inline void real_log1p_block(size_t count, const real *x, real *y)
{
    real sum[BLOCK], logarithm[BLOCK];
    for (size_t i = 0; i < count; i++)
        sum[i] = 1 + x[i];
    real_log_all(count, sum, logarithm);
    for (size_t i = 0; i < count; i++) {
        const real part = sum[i] - 1;
        y[i] = part == 0 ? x[i] : sum[i] == (real)INFINITY ? sum[i] : logarithm[i] * (x[i] / part);
    }
}

/// softplus(x) = log(1 + exp(x)) = max(x, 0) + log1p(exp(-|x|)), of at most BLOCK elements. `y` may be `x`.
static inline void real_softplus_block(size_t count, const real *x, real *y)
{
    real tail[BLOCK];
    for (size_t i = 0; i < count; i++)
        tail[i] = x[i] < 0 ? x[i] : -x[i];
    real_exp_all(count, tail, tail);
    real_log1p_block(count, tail, tail);
    for (size_t i = 0; i < count; i++)
        y[i] = (x[i] > 0 || x[i] != x[i] ? x[i] : 0) + tail[i];
}

/// 1 / (1 + exp(-x)). `y` may be `x`.
static inline void real_sigmoid_block(size_t count, const real *x, real *y)
{
    for (size_t i = 0; i < count; i++)
        y[i] = -x[i];
    real_exp_all(count, y, y);
    for (size_t i = 0; i < count; i++)
        y[i] = 1 / (1 + y[i]);
}
