// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Element-wise operations beside those of ops.h, with the rules that hold there. Functions without slope
/// (comparisons, sign, floor) give tensors that need no gradient.
#ifndef CORRAL_CORE_ELEMENTS_H
#define CORRAL_CORE_ELEMENTS_H

#include "corral/core/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/// x^exponent; and a^b, which broadcasts. The gradient is finite at 0: by the base it is 0 there for
/// exponents below 1, by the exponent 0 where the base is 0.
corral_tensor *corral_pow(corral_tensor *x, double exponent);
corral_tensor *corral_power(corral_tensor *a, corral_tensor *b);
corral_tensor *corral_reciprocal(corral_tensor *x);
corral_tensor *corral_rsqrt(corral_tensor *x); // 1 / sqrt(x)

corral_tensor *corral_log1p(corral_tensor *x); // log(1 + x), right to the last digits for small x
corral_tensor *corral_expm1(corral_tensor *x); // exp(x) - 1, likewise
corral_tensor *corral_sin(corral_tensor *x);
corral_tensor *corral_cos(corral_tensor *x);
corral_tensor *corral_atanh(corral_tensor *x);
corral_tensor *corral_erf(corral_tensor *x);
corral_tensor *corral_sign(corral_tensor *x); // -1, 0 or 1
corral_tensor *corral_floor(corral_tensor *x);

corral_tensor *corral_leaky_relu(corral_tensor *x, double slope);
corral_tensor *corral_elu(corral_tensor *x, double alpha); // x, or alpha (exp(x) - 1) below 0
corral_tensor *corral_gelu(corral_tensor *x);              // x Phi(x)
corral_tensor *corral_gelu_tanh(corral_tensor *x);         // its approximation by tanh
corral_tensor *corral_silu(corral_tensor *x);              // x sigmoid(x)
corral_tensor *corral_softplus(corral_tensor *x);          // log(1 + exp(x)); its slope at 0 is 1/2
corral_tensor *corral_log_sigmoid(corral_tensor *x);

/// 1 where it is true, else 0; with NaN nothing is but not_equal.
corral_tensor *corral_greater(corral_tensor *a, corral_tensor *b);
corral_tensor *corral_greater_equal(corral_tensor *a, corral_tensor *b);
corral_tensor *corral_less(corral_tensor *a, corral_tensor *b);
corral_tensor *corral_less_equal(corral_tensor *a, corral_tensor *b);
corral_tensor *corral_equal(corral_tensor *a, corral_tensor *b);
corral_tensor *corral_not_equal(corral_tensor *a, corral_tensor *b);
/// `yes` where the condition is not 0, else `no`; all three broadcast. What is not chosen has gradient
/// exactly 0, whatever it is.
corral_tensor *corral_where(corral_tensor *condition, corral_tensor *yes, corral_tensor *no);

/// Zero with probability `p`, else x / (1 - p). Element i is dropped by number `*counter + i` of the stream
/// (corral/base/rng.h), so that the same elements are dropped however a batch is cut. The counter must live
/// until the reset; a replay reads it again.
corral_tensor *corral_dropout(corral_tensor *x, double p, uint64_t stream_key, const uint64_t *counter);

#ifdef __cplusplus
}
#endif
#endif
