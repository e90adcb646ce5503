// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Chance, in two forms.
///
/// corral_rng is NumPy's default generator: SeedSequence feeding PCG64 (XSL-RR 128/64, O'Neill 2014), so
/// that a seed starts an environment where Gymnasium starts it.
///
/// A stream is chance without state: the value is a hash of (run seed, role, environment number, counter).
/// It does not matter which process draws it, or in which order; that is what makes a run equal for any
/// number of workers.
#ifndef CORRAL_BASE_RNG_H
#define CORRAL_BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Plain data: copy it, compare it, store it. All zero is not a seeded generator.
typedef struct corral_rng {
    uint64_t state_high, state_low;
    uint64_t increment_high, increment_low;
    uint32_t spare;     // the buffered high half of the last 64-bit draw made for a 32-bit one
    uint32_t has_spare; // 0 or 1
} corral_rng;

/// As numpy.random.default_rng(seed), for seeds below 2^64.
void corral_rng_seed(corral_rng *rng, uint64_t seed);
/// As Generator's raw 64-bit output; leaves a buffered half alone, as NumPy does.
uint64_t corral_rng_u64(corral_rng *rng);
/// The low half first, the high half on the next call.
uint32_t corral_rng_u32(corral_rng *rng);
/// [0, 1), 53 bits: Generator.random().
double corral_rng_double(corral_rng *rng);
/// [0, 1), 24 bits of a 32-bit draw: Generator.random(dtype=float32).
float corral_rng_float(corral_rng *rng);
/// low + (high - low) * random(): Generator.uniform().
double corral_rng_uniform(corral_rng *rng, double low, double high);
/// 0 .. count-1, unbiased: Generator.integers(count). `count` 0 or 1 draws nothing and gives 0.
uint64_t corral_rng_integer(corral_rng *rng, uint64_t count);

/// Who draws. No two roles share a stream.
typedef enum corral_stream_role {
    CORRAL_STREAM_ENVIRONMENT = 1,   // seeds of training episodes
    CORRAL_STREAM_ACTION,            // action noise in training
    CORRAL_STREAM_EVALUATION,        // seeds of evaluation episodes
    CORRAL_STREAM_EVALUATION_ACTION, // action noise in stochastic evaluation
    CORRAL_STREAM_SHUFFLE,           // order of rows in minibatches
    CORRAL_STREAM_INITIALISATION,    // weights
    CORRAL_STREAM_REPLAY,            // rows drawn from a replay
    CORRAL_STREAM_WEIGHT_NOISE,      // of noisy layers while acting
    CORRAL_STREAM_LEARNING_NOISE,    // and while learning
} corral_stream_role;

/// The key of one stream: a strong mix of all parts, so that neighbouring seeds share nothing.
uint64_t corral_stream_key(uint64_t run_seed, corral_stream_role role, uint64_t index);
/// The `counter`-th 64-bit value of a stream.
uint64_t corral_stream_u64(uint64_t key, uint64_t counter);
/// The same as a double in [0, 1) with 53 bits.
double corral_stream_double(uint64_t key, uint64_t counter);
/// The same as a float in [0, 1) with 24 bits.
float corral_stream_float(uint64_t key, uint64_t counter);
/// A permutation of 0 .. count-1 (Fisher-Yates over stream draws counter, counter+1, ...).
void corral_stream_permutation(uint64_t key, uint64_t counter, uint32_t *out_order, uint32_t count);

#ifdef __cplusplus
}
#endif
#endif
