// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// One table of loops per dtype: what the operations call, so that each operation is written once. Both
/// tables come from the same sources (real_elements.h, real_rows.h), with `real` as float and as double. In
/// f32 the products and the transcendental functions go through the backend; in f64 they are plain loops, for
/// gradient checks.
///
/// Functions named _grad add to the gradients that they are given.
#ifndef CORRAL_CORE_OPS_KERNELS_H
#define CORRAL_CORE_OPS_KERNELS_H

#include "corral/core/ops.h"

#include <stdbool.h>

typedef enum corral_binary {
    CORRAL_BINARY_ADD,
    CORRAL_BINARY_SUB,
    CORRAL_BINARY_MUL,
    CORRAL_BINARY_DIV,
    CORRAL_BINARY_MINIMUM,
    CORRAL_BINARY_MAXIMUM,
    CORRAL_BINARY_COUNT,
} corral_binary;

typedef enum corral_unary {
    CORRAL_UNARY_SCALE, // by numbers[0]
    CORRAL_UNARY_EXP,
    CORRAL_UNARY_LOG,
    CORRAL_UNARY_TANH,
    CORRAL_UNARY_SIGMOID,
    CORRAL_UNARY_RELU,
    CORRAL_UNARY_SQUARE,
    CORRAL_UNARY_SQRT,
    CORRAL_UNARY_ABS,
    CORRAL_UNARY_CLAMP,     // to numbers[0] .. numbers[1]
    CORRAL_UNARY_SMOOTH_L1, // with beta = numbers[0]
    CORRAL_UNARY_COUNT,
} corral_unary;

/// One run of a broadcast operation: a[i * a_step] and b[i * b_step] with steps 0 or 1, y[i].
typedef struct corral_binary_run {
    size_t count, a_step, b_step;
    const void *a, *b;
    void *y;               // forward: the result
    const void *y_grad;    // backward: the gradient of the result
    void *a_grad, *b_grad; // backward: where to add, NULL where not wanted
} corral_binary_run;

typedef struct corral_unary_run {
    size_t count;
    const double *numbers;
    const void *x;
    void *y;
    const void *y_grad;
    void *x_grad;
} corral_unary_run;

typedef struct corral_ppo_rows {
    size_t rows, actions;
    const void *logits, *value; // NULL: not wanted
    const corral_ppo_terms *terms;
    void *logits_grad, *value_grad; // written, not added to; NULL where not wanted
    corral_ppo_stats *stats;        // NULL where not wanted
} corral_ppo_rows;

typedef struct corral_dqn_rows {
    size_t rows, actions;
    const void *q;
    const corral_dqn_terms *terms;
    void *q_grad;            // zeroed; NULL where not wanted
    float *error;            // NULL where not wanted
    corral_dqn_stats *stats; // NULL where not wanted
} corral_dqn_rows;

typedef struct corral_kernels {
    void (*binary[CORRAL_BINARY_COUNT])(const corral_binary_run *run);
    void (*binary_grad[CORRAL_BINARY_COUNT])(const corral_binary_run *run);
    void (*unary[CORRAL_UNARY_COUNT])(const corral_unary_run *run);
    void (*unary_grad[CORRAL_UNARY_COUNT])(const corral_unary_run *run);

    /// y = factor * the sum of x, over fixed chunks in a fixed tree, in f64.
    void (*sum)(size_t count, const void *x, double factor, void *y);
    void (*sum_grad)(size_t count, const void *y_grad, double factor, void *x_grad);
    void (*sum_rows)(size_t rows, size_t n, const void *x, void *y);
    void (*sum_rows_grad)(size_t rows, size_t n, const void *y_grad, void *x_grad);
    void (*log_softmax)(size_t rows, size_t n, const void *x, void *y);
    void (*log_softmax_grad)(size_t rows, size_t n, const void *y, const void *y_grad, void *x_grad);
    void (*gather)(size_t rows, size_t n, const void *x, const int32_t *index, void *y);
    void (*gather_grad)(size_t rows, size_t n, const int32_t *index, const void *y_grad, void *x_grad);
    void (*add)(size_t count, const void *x, void *y);                            // y += x
    void (*add_scaled)(size_t count, const void *factor, const void *x, void *y); // y += factor[0] x
    void (*transpose)(size_t rows, size_t columns, const void *x, void *y);       // y[c, r] = x[r, c]

    /// See backend.h. `packed` is NULL in f64.
    void (*linear)(size_t rows, size_t in, size_t out, const void *x, const void *weight, const float *packed,
                   const void *bias, corral_activation activation, void *y);
    void (*activation_grad)(size_t count, corral_activation activation, const void *y, void *grad);
    void (*linear_grad_input)(size_t rows, size_t in, size_t out, const void *dy, const void *weight,
                              void *dx, bool adds);
    void (*linear_grad_weight)(size_t rows, size_t in, size_t out, const void *dy, const void *x, void *dw,
                               void *db);

    /// The sum of the loss over these rows, already weighted and divided by terms->total_rows.
    double (*ppo)(const corral_ppo_rows *run);
    double (*dqn)(const corral_dqn_rows *run);
    void (*dueling)(size_t rows, size_t n, size_t atoms, const void *value, const void *advantage, void *q);
    /// Adds; either gradient may be NULL.
    void (*dueling_grad)(size_t rows, size_t n, size_t atoms, const void *q_grad, void *value_grad,
                         void *advantage_grad);
} corral_kernels;

extern const corral_kernels corral_kernels_f32, corral_kernels_f64;

static inline const corral_kernels *corral_kernels_of(corral_dtype dtype)
{
    return dtype == CORRAL_F64 ? &corral_kernels_f64 : &corral_kernels_f32;
}

#endif
