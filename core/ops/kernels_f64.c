// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The f64 loops, in plain C: what gradient checks run on.

#include "ops/kernels.h"

#include <math.h>
#include <string.h>

typedef double real;
#define real_sqrt sqrt
#define KERNELS   corral_kernels_f64

#include "backends/cpu/plain_loops.h"

static void real_exp_all(size_t count, const double *x, double *y)
{
    for (size_t i = 0; i < count; i++)
        y[i] = exp(x[i]);
}

static void real_log_all(size_t count, const double *x, double *y)
{
    for (size_t i = 0; i < count; i++)
        y[i] = log(x[i]);
}

static void real_tanh_all(size_t count, const double *x, double *y)
{
    for (size_t i = 0; i < count; i++)
        y[i] = tanh(x[i]);
}

static void linear(size_t rows, size_t in, size_t out, const void *x, const void *weight, const float *packed,
                   const void *bias, corral_activation activation, void *y)
{
    (void)packed;
    double *result = y;
    plain_linear(rows, in, out, x, weight, in, 1, bias, y);
    if (activation == CORRAL_TANH) real_tanh_all(rows * out, result, result);
    if (activation == CORRAL_RELU) {
        for (size_t i = 0; i < rows * out; i++)
            result[i] = result[i] > 0 || result[i] != result[i] ? result[i] : 0;
    }
}

static void activation_grad(size_t count, corral_activation activation, const void *y, void *grad)
{
    plain_activation_grad(count, activation, y, grad);
}

static void linear_grad_input(size_t rows, size_t in, size_t out, const void *dy, const void *weight,
                              void *dx, bool adds)
{
    plain_linear_grad_input(rows, in, out, dy, weight, dx, adds);
}

static void linear_grad_weight(size_t rows, size_t in, size_t out, const void *dy, const void *x, void *dw,
                               void *db)
{
    plain_linear_grad_weight(rows, in, out, dy, x, dw, db);
}

#include "ops/real_elements.h"

#include "ops/real_rows.h"

#include "ops/real_ppo.h"

#include "ops/real_dqn.h"

#include "ops/real_table.h"
