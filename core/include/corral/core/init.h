// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Initial weights. Each draws from a stream key, so that a policy depends on the run's seed alone.
#ifndef CORRAL_CORE_INIT_H
#define CORRAL_CORE_INIT_H

#include "corral/core/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Rows (or columns, whichever are fewer) orthonormal, times `gain`: Saxe et al. 2014, by Householder QR
/// of a normal matrix in f64 with the sign of R's diagonal. The entry must have two dimensions.
CORRAL_MUST_USE corral_status corral_init_orthogonal(corral_params *params, uint32_t index, double gain,
                                                     uint64_t stream_key);
/// U(-b, b) with b = 1/sqrt(fan_in): PyTorch's default for linear layers.
CORRAL_MUST_USE corral_status corral_init_uniform_fan_in(corral_params *params, uint32_t index, size_t fan_in,
                                                         uint64_t stream_key);

// The following take entries of any shape: the first dimension counts the outputs (fan out), the others
// together the inputs (fan in).

CORRAL_MUST_USE corral_status corral_init_constant(corral_params *params, uint32_t index, double value);
CORRAL_MUST_USE corral_status corral_init_uniform(corral_params *params, uint32_t index, double low,
                                                  double high, uint64_t stream_key);
CORRAL_MUST_USE corral_status corral_init_normal(corral_params *params, uint32_t index, double mean,
                                                 double deviation, uint64_t stream_key);
/// Normal numbers within two deviations of 0; what falls outside is drawn again.
CORRAL_MUST_USE corral_status corral_init_truncated_normal(corral_params *params, uint32_t index,
                                                           double deviation, uint64_t stream_key);
/// Glorot and Bengio 2010: variance gain^2 2 / (fan in + fan out).
CORRAL_MUST_USE corral_status corral_init_xavier_uniform(corral_params *params, uint32_t index, double gain,
                                                         uint64_t stream_key);
CORRAL_MUST_USE corral_status corral_init_xavier_normal(corral_params *params, uint32_t index, double gain,
                                                        uint64_t stream_key);
/// He et al. 2015: variance gain^2 / fan in; gain is sqrt(2) for ReLU, and 1 for LeCun's.
CORRAL_MUST_USE corral_status corral_init_kaiming_uniform(corral_params *params, uint32_t index, double gain,
                                                          uint64_t stream_key);
CORRAL_MUST_USE corral_status corral_init_kaiming_normal(corral_params *params, uint32_t index, double gain,
                                                         uint64_t stream_key);

#ifdef __cplusplus
}
#endif
#endif
