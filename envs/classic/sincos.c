// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The rules of a pole need sin and cos with the very bits of the C library, or trajectories part from the
// reference. Called one by one, these two are most of a step's time. Small angles, the usual ones, go four at
// a time instead:
//
//   sin x = x - x (x^2/6 - x^4/120 + ...)        x plus a correction below 1.1 % of it, for |x| < 1/4
//   cos x = 1 - (x^2/2 - x^4/24 + ...)           1 minus a correction below 3.2 %
//
// The correction, computed in plain doubles, is wrong by a few of ITS last bits, which is a few hundredths of
// a last bit of the result. Adding it to x (or to 1) makes a result `high` and, exactly, the rest `low` that
// was rounded away. So the true value is known to a few hundredths of a last bit, and `high` is the double
// nearest to it unless `low` is about half a last bit. The C library (glibc states 0.55 units in the last
// place at worst, near 0.5 for small angles) gives the nearest double too unless the true value is about
// half-way between two. Then Ziv's test
//
//   high + low * (1 + margin) == high
//
// leaves only angles for which both give `high`. The others, some 5 to 10 of 100, and all angles that are not
// small, are asked from the C library itself. The margin covers both errors, in units of half a last bit:
// ours, which grows with x^2 as the correction's share of the result does, and glibc's, which for sin steps
// from 0.501 to about 0.52 units at |x| = 0.126, and for cos is 0.51. Tests compare millions of angles.
//
// Ziv, "Fast evaluation of elementary mathematical functions with correctly rounded last bit", ACM TOMS 17
// (1991).

#include "sincos.h"

#include <math.h>
#include <stdint.h>

static void ask_library(const double *angle, double *out_sine, double *out_cosine, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        out_sine[i] = sin(angle[i]);
        out_cosine[i] = cos(angle[i]);
    }
}

// Two doubles at a time gain nothing over the library; four do.
#if defined(__x86_64__) && defined(__GNUC__)

enum { BLOCK = 64 };
static const double SMALL = 0.25;

// Taylor's coefficients: the first term left out is below 2^-63 of the result.
static const double S3 = -1.0 / 6, S5 = 1.0 / 120, S7 = -1.0 / 5040, S9 = 1.0 / 362880, S11 = -1.0 / 39916800,
                    S13 = 1.0 / 6227020800;
static const double C4 = 1.0 / 24, C6 = -1.0 / 720, C8 = 1.0 / 40320, C10 = -1.0 / 3628800,
                    C12 = 1.0 / 479001600;

/// doubt[i] is 0 where both results are the library's.
__attribute__((target("avx2"))) static void approximate(const double *restrict angle, double *restrict sine,
                                                        double *restrict cosine, int64_t *restrict doubt,
                                                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const double x = angle[i];
        const double z = x * x;

        const double sine_part = x * z * (S3 + z * (S5 + z * (S7 + z * (S9 + z * (S11 + z * S13)))));
        const double sine_high = x + sine_part;
        const double sine_low = sine_part - (sine_high - x);
        const int64_t sine_sure = sine_high + sine_low * (1.02 + 3 * z) == sine_high;

        const double cosine_part = z * 0.5 - z * z * (C4 + z * (C6 + z * (C8 + z * (C10 + z * C12))));
        const double cosine_high = 1 - cosine_part;
        const double cosine_low = (1 - cosine_high) - cosine_part;
        const int64_t cosine_sure = cosine_high + cosine_low * (1.03 + 2.5 * z) == cosine_high;

        sine[i] = sine_high;
        cosine[i] = cosine_high;
        // Zero is left to the library for the sake of its sign.
        doubt[i] = !(sine_sure & cosine_sure & (x != 0) & (fabs(x) < SMALL));
    }
}

static void resolve(const double *angle, double *sine, double *cosine, const int64_t *doubt, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (doubt[i]) ask_library(angle + i, sine + i, cosine + i, 1);
}

void corral_sincos(const double *angle, double *out_sine, double *out_cosine, size_t count)
{
    if (!__builtin_cpu_supports("avx2")) {
        ask_library(angle, out_sine, out_cosine, count);
        return;
    }
    for (size_t first = 0; first < count; first += BLOCK) {
        const size_t n = count - first < BLOCK ? count - first : BLOCK;
        int64_t doubt[BLOCK];
        approximate(angle + first, out_sine + first, out_cosine + first, doubt, n);
        resolve(angle + first, out_sine + first, out_cosine + first, doubt, n);
    }
}

#else

void corral_sincos(const double *angle, double *out_sine, double *out_cosine, size_t count)
{
    ask_library(angle, out_sine, out_cosine, count);
}

#endif
