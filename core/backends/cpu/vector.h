// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The few vector operations that GCC's vector extensions do not spell: partial loads and stores, minimum and
/// maximum with a known rule for NaN, selection, square root. LANES floats make one vector; a kernel file
/// sets it before it includes this header, together with the instruction set it is compiled for.
#ifndef CORRAL_CORE_CPU_VECTOR_H
#define CORRAL_CORE_CPU_VECTOR_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

typedef float vec __attribute__((vector_size(4 * LANES)));
typedef int32_t ivec __attribute__((vector_size(4 * LANES)));
typedef uint32_t uvec __attribute__((vector_size(4 * LANES)));
typedef float vec_in_memory __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

#define ALWAYS_INLINE static inline __attribute__((always_inline))

ALWAYS_INLINE vec load(const float *from)
{
    return *(const vec_in_memory *)from;
}

ALWAYS_INLINE void store(float *to, vec value)
{
    *(vec_in_memory *)to = value;
}

/// Subtracting zero changes nothing, not even the sign of zero, so that this is a broadcast and no
/// arithmetic.
ALWAYS_INLINE vec broadcast(float value)
{
    return value - (vec){0};
}

ALWAYS_INLINE vec bits_as_float(ivec bits)
{
    return (vec)bits;
}

/// Where `mask` is all ones `yes`, where it is zero `no`.
ALWAYS_INLINE vec pick(ivec mask, vec yes, vec no)
{
    return (vec)((mask & (ivec)yes) | (~mask & (ivec)no));
}

// The first `count` lanes (1 .. LANES); a load fills the others with zero, a store leaves their memory alone.
// maximum(a, b) is a > b ? a : b, and minimum(a, b) is a < b ? a : b: `b` where either is NaN.
#if LANES == 16 && defined(__AVX512F__)
ALWAYS_INLINE vec load_partial(const float *from, size_t count)
{
    return (vec)_mm512_maskz_loadu_ps((__mmask16)((1u << count) - 1), from);
}
ALWAYS_INLINE void store_partial(float *to, vec value, size_t count)
{
    _mm512_mask_storeu_ps(to, (__mmask16)((1u << count) - 1), (__m512)value);
}
ALWAYS_INLINE vec maximum(vec a, vec b)
{
    return (vec)_mm512_max_ps((__m512)a, (__m512)b);
}
ALWAYS_INLINE vec minimum(vec a, vec b)
{
    return (vec)_mm512_min_ps((__m512)a, (__m512)b);
}
ALWAYS_INLINE vec square_root(vec x)
{
    return (vec)_mm512_sqrt_ps((__m512)x);
}
#elif LANES == 8 && defined(__AVX2__)
ALWAYS_INLINE __m256i partial_mask(size_t count)
{
    static const int32_t window[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
    return _mm256_loadu_si256((const __m256i *)(window + 8 - count));
}
ALWAYS_INLINE vec load_partial(const float *from, size_t count)
{
    return (vec)_mm256_maskload_ps(from, partial_mask(count));
}
ALWAYS_INLINE void store_partial(float *to, vec value, size_t count)
{
    _mm256_maskstore_ps(to, partial_mask(count), (__m256)value);
}
ALWAYS_INLINE vec maximum(vec a, vec b)
{
    return (vec)_mm256_max_ps((__m256)a, (__m256)b);
}
ALWAYS_INLINE vec minimum(vec a, vec b)
{
    return (vec)_mm256_min_ps((__m256)a, (__m256)b);
}
ALWAYS_INLINE vec square_root(vec x)
{
    return (vec)_mm256_sqrt_ps((__m256)x);
}
#else
ALWAYS_INLINE vec load_partial(const float *from, size_t count)
{
    if (count == LANES) return load(from);
    vec value = {0};
    memcpy(&value, from, count * sizeof(float));
    return value;
}
ALWAYS_INLINE void store_partial(float *to, vec value, size_t count)
{
    if (count == LANES) {
        store(to, value);
        return;
    }
    memcpy(to, &value, count * sizeof(float));
}
#if LANES == 4 && defined(__SSE2__)
ALWAYS_INLINE vec maximum(vec a, vec b)
{
    return (vec)_mm_max_ps((__m128)a, (__m128)b);
}
ALWAYS_INLINE vec minimum(vec a, vec b)
{
    return (vec)_mm_min_ps((__m128)a, (__m128)b);
}
ALWAYS_INLINE vec square_root(vec x)
{
    return (vec)_mm_sqrt_ps((__m128)x);
}
#else
ALWAYS_INLINE vec maximum(vec a, vec b)
{
    return pick(a > b, a, b);
}
ALWAYS_INLINE vec minimum(vec a, vec b)
{
    return pick(a < b, a, b);
}
ALWAYS_INLINE vec square_root(vec x)
{
    for (int i = 0; i < LANES; i++)
        x[i] = sqrtf(x[i]);
    return x;
}
#endif
#endif

#endif
