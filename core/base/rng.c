// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// PCG64 as NumPy seeds it, and streams by hashing.
///
/// SeedSequence spreads the 32-bit words of a seed over a pool of four by multiply-xor hashes whose constant
/// changes with every use, mixes each word of the pool into all others, and then reads eight words out of
/// it. They are the 128-bit start and increment of a linear congruential generator,
///
///     state = state * MULTIPLIER + increment  (mod 2^128),
///
/// whose output is the xor of both halves, rotated by the top six bits (O'Neill, "PCG: A Family of Simple
/// Fast Space-Efficient Statistically Good Algorithms for Random Number Generation", 2014).
///
/// A stream's value is mix(key ^ mix(counter)): the inner mix scatters neighbouring counters before the key
/// meets them, so that two streams are never shifted copies of each other (as two runs of one additive
/// sequence could be). The key folds seed, role and index in, one mix after each.
#include "corral/base/rng.h"

enum { POOL_SIZE = 4 };

typedef unsigned __int128 u128;

static const u128 pcg_multiplier = ((u128)0x2360ED051FC65DA4u << 64) | 0x4385DF649FCCF645u;

static uint32_t hash_word(uint32_t value, uint32_t *constant, uint32_t multiplier)
{
    value ^= *constant;
    *constant *= multiplier;
    value *= *constant;
    return value ^ (value >> 16);
}

static uint32_t mix_words(uint32_t x, uint32_t y)
{
    const uint32_t mixed = x * 0xca01f9ddu - y * 0x4973f715u;
    return mixed ^ (mixed >> 16);
}

static void fill_pool(uint64_t seed, uint32_t pool[POOL_SIZE])
{
    const uint32_t words[POOL_SIZE] = {(uint32_t)seed, (uint32_t)(seed >> 32), 0, 0};
    uint32_t constant = 0x43b0d7e5u;
    for (int i = 0; i < POOL_SIZE; i++)
        pool[i] = hash_word(words[i], &constant, 0x931e8875u);
    for (int source = 0; source < POOL_SIZE; source++) {
        for (int target = 0; target < POOL_SIZE; target++) {
            if (target == source) continue;
            pool[target] = mix_words(pool[target], hash_word(pool[source], &constant, 0x931e8875u));
        }
    }
}

static u128 rng_state(const corral_rng *rng)
{
    return ((u128)rng->state_high << 64) | rng->state_low;
}

static void set_state(corral_rng *rng, u128 state)
{
    rng->state_high = (uint64_t)(state >> 64);
    rng->state_low = (uint64_t)state;
}

static void advance(corral_rng *rng)
{
    const u128 increment = ((u128)rng->increment_high << 64) | rng->increment_low;
    set_state(rng, rng_state(rng) * pcg_multiplier + increment);
}

void corral_rng_seed(corral_rng *rng, uint64_t seed)
{
    uint32_t pool[POOL_SIZE];
    fill_pool(seed, pool);

    uint64_t words[4];
    uint32_t constant = 0x8b51f9ddu;
    for (int i = 0; i < 4; i++) {
        const uint64_t low = hash_word(pool[(2 * i) % POOL_SIZE], &constant, 0x58f38dedu);
        const uint64_t high = hash_word(pool[(2 * i + 1) % POOL_SIZE], &constant, 0x58f38dedu);
        words[i] = high << 32 | low;
    }

    const u128 start = ((u128)words[0] << 64) | words[1];
    const u128 increment = ((((u128)words[2] << 64) | words[3]) << 1) | 1;
    *rng = (corral_rng){.increment_high = (uint64_t)(increment >> 64), .increment_low = (uint64_t)increment};
    advance(rng);
    set_state(rng, rng_state(rng) + start);
    advance(rng);
}

uint64_t corral_rng_u64(corral_rng *rng)
{
    advance(rng);
    const uint64_t folded = rng->state_high ^ rng->state_low;
    const unsigned turn = (unsigned)(rng->state_high >> 58);
    return folded >> turn | folded << ((64 - turn) & 63);
}

uint32_t corral_rng_u32(corral_rng *rng)
{
    if (rng->has_spare) {
        rng->has_spare = 0;
        return rng->spare;
    }
    const uint64_t both = corral_rng_u64(rng);
    rng->spare = (uint32_t)(both >> 32);
    rng->has_spare = 1;
    return (uint32_t)both;
}

static double unit_double(uint64_t bits)
{
    return (double)(bits >> 11) * 0x1p-53;
}

static float unit_float(uint32_t bits)
{
    return (float)(bits >> 8) * 0x1p-24f;
}

double corral_rng_double(corral_rng *rng)
{
    return unit_double(corral_rng_u64(rng));
}

float corral_rng_float(corral_rng *rng)
{
    return unit_float(corral_rng_u32(rng));
}

double corral_rng_uniform(corral_rng *rng, double low, double high)
{
    return low + (high - low) * corral_rng_double(rng);
}

// Lemire's method ("Fast Random Integer Generation in an Interval", 2019): the high half of draw * count is
// the result; the few low halves that would make some results more likely than others are drawn again.
static uint32_t bounded_u32(corral_rng *rng, uint32_t count)
{
    uint64_t product = (uint64_t)corral_rng_u32(rng) * count;
    if ((uint32_t)product < count) {
        const uint32_t threshold = (UINT32_MAX - (count - 1)) % count;
        while ((uint32_t)product < threshold)
            product = (uint64_t)corral_rng_u32(rng) * count;
    }
    return (uint32_t)(product >> 32);
}

static uint64_t bounded_u64(corral_rng *rng, uint64_t count)
{
    u128 product = (u128)corral_rng_u64(rng) * count;
    if ((uint64_t)product < count) {
        const uint64_t threshold = (UINT64_MAX - (count - 1)) % count;
        while ((uint64_t)product < threshold)
            product = (u128)corral_rng_u64(rng) * count;
    }
    return (uint64_t)(product >> 64);
}

uint64_t corral_rng_integer(corral_rng *rng, uint64_t count)
{
    if (count <= 1) return 0;
    if (count <= UINT32_MAX) return bounded_u32(rng, (uint32_t)count);
    if (count == (uint64_t)UINT32_MAX + 1) return corral_rng_u32(rng);
    return bounded_u64(rng, count);
}

// A bijection in which every input bit reaches every output bit: xor-shifts and odd multipliers, in the
// form of MurmurHash3's finaliser with the constants that Stafford found to mix better.
static uint64_t mix(uint64_t value)
{
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9u;
    value = (value ^ value >> 27) * 0x94D049BB133111EBu;
    return value ^ value >> 31;
}

static const uint64_t golden_ratio = 0x9E3779B97F4A7C15u; // keeps mix() away from its fixed point at 0

uint64_t corral_stream_key(uint64_t run_seed, corral_stream_role role, uint64_t index)
{
    uint64_t key = mix(run_seed + golden_ratio);
    key = mix(key ^ mix((uint64_t)role + 2 * golden_ratio));
    key = mix(key ^ mix(index + 3 * golden_ratio));
    return key;
}

uint64_t corral_stream_u64(uint64_t key, uint64_t counter)
{
    return mix(key ^ mix(counter + golden_ratio));
}

double corral_stream_double(uint64_t key, uint64_t counter)
{
    return unit_double(corral_stream_u64(key, counter));
}

float corral_stream_float(uint64_t key, uint64_t counter)
{
    return unit_float((uint32_t)(corral_stream_u64(key, counter) >> 32));
}

void corral_stream_permutation(uint64_t key, uint64_t counter, uint32_t *out_order, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        out_order[i] = i;
    for (uint32_t left = count; left > 1; left--) {
        // A 64-bit draw over at most 2^32 places: the bias is below 2^-32 and a fixed number of draws is
        // worth more here.
        const uint64_t draw = corral_stream_u64(key, counter++);
        const uint32_t chosen = (uint32_t)(((u128)draw * left) >> 64);
        const uint32_t last = out_order[left - 1];
        out_order[left - 1] = out_order[chosen];
        out_order[chosen] = last;
    }
}
