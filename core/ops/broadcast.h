// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Two shapes made one, as in NumPy: they are aligned at the right, and a dimension of one element is
/// repeated. The walk goes over the outer dimensions and hands runs of the innermost one to a kernel, with
/// step 0 where it is repeated.
#ifndef CORRAL_CORE_OPS_BROADCAST_H
#define CORRAL_CORE_OPS_BROADCAST_H

#include "ops/kernels.h"

/// Both shapes brought to four dimensions. Steps are in elements; 0 where a dimension is repeated.
typedef struct corral_broadcast {
    size_t shape[CORRAL_MAX_DIMENSIONS];
    size_t a_step[CORRAL_MAX_DIMENSIONS], b_step[CORRAL_MAX_DIMENSIONS];
} corral_broadcast;

/// False where the shapes do not fit.
bool corral_broadcast_plan(const corral_tensor *a, const corral_tensor *b, corral_broadcast *out_plan);

/// The shape of the result, without leading ones that neither has. Returns its dimensions.
uint32_t corral_broadcast_shape(const corral_tensor *a, const corral_tensor *b,
                                size_t out_shape[CORRAL_MAX_DIMENSIONS]);

/// Calls `kernel` for each run. `whole` points to the tensors' first elements; `size` is that of an element.
void corral_broadcast_walk(const corral_broadcast *plan, const corral_binary_run *whole, size_t size,
                           void (*kernel)(const corral_binary_run *));

#endif
