// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// sin() and cos() of many angles at once, the same bits as the C library's. Essay in sincos.c.
#ifndef CORRAL_ENVS_CLASSIC_SINCOS_H
#define CORRAL_ENVS_CLASSIC_SINCOS_H

#include <stddef.h>

/// The three arrays do not overlap. [any thread]
void corral_sincos(const double *angle, double *out_sine, double *out_cosine, size_t count);

#endif
