// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The loops of shapes.h, one table per dtype, as kernels.h.
#ifndef CORRAL_CORE_OPS_SHAPE_KERNELS_H
#define CORRAL_CORE_OPS_SHAPE_KERNELS_H

#include "corral/core/shapes.h"

/// to[sum i * to_step] = from[sum i * from_step] for all i below shape. Steps of 0 repeat, or add up.
typedef struct corral_move {
    size_t shape[CORRAL_MAX_DIMENSIONS];
    size_t from_step[CORRAL_MAX_DIMENSIONS], to_step[CORRAL_MAX_DIMENSIONS];
    const void *from;
    void *to;
} corral_move;

/// y[o, k, i] = x[o, index, i], x [outer, n, inner] and y [outer, count, inner]. The index is index[k], or
/// index[o, k, i] where there is one for each element.
typedef struct corral_choice {
    size_t outer, n, count, inner;
    const int32_t *index;
    bool each;
    const void *from;
    void *to;
} corral_choice;

typedef enum corral_reduction {
    CORRAL_REDUCTION_SUM,
    CORRAL_REDUCTION_MAX,
    CORRAL_REDUCTION_MIN,
    CORRAL_REDUCTION_LOG_SUM_EXP,
    CORRAL_REDUCTION_PRODUCT,
    CORRAL_REDUCTION_COUNT,
} corral_reduction;

/// Rows of n elements to one each.
typedef struct corral_row_run {
    size_t rows, n;
    const void *x;
    void *y;
    const void *y_grad;
    void *x_grad;
} corral_row_run;

typedef struct corral_shape_kernels {
    void (*move)(const corral_move *move);
    void (*move_add)(const corral_move *move); // to += from
    void (*fill)(size_t count, double value, void *to);
    void (*choose)(const corral_choice *choice);     // to[.] = from[index]
    void (*choose_add)(const corral_choice *choice); // to[index] += from[.]: the gradient
    void (*take_add)(const corral_choice *choice);   // to[.] += from[index]: the gradient of that
    void (*reduce[CORRAL_REDUCTION_COUNT])(const corral_row_run *run);
    void (*reduce_grad[CORRAL_REDUCTION_COUNT])(const corral_row_run *run);
    void (*cumsum)(const corral_row_run *run);
    void (*cumsum_grad)(const corral_row_run *run);
    void (*sort)(size_t rows, size_t n, bool descending, const void *x, int32_t *index);
} corral_shape_kernels;

extern const corral_shape_kernels corral_shapes_f32, corral_shapes_f64;

static inline const corral_shape_kernels *corral_shapes_of(corral_dtype dtype)
{
    return dtype == CORRAL_F64 ? &corral_shapes_f64 : &corral_shapes_f32;
}

#endif
