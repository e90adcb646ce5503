// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The f32 loops; products, exp, log and tanh are the backend's. The categorical distribution lives here as
// well, so that its arithmetic is that of the losses.

#include "ops/kernels.h"

#include "corral/core/backend.h"

#include <math.h>
#include <string.h>

typedef float real;
#define real_sqrt sqrtf
#define KERNELS   corral_kernels_f32

static void real_exp_all(size_t count, const float *x, float *y)
{
    corral_backend_cpu()->exp(count, x, y);
}

static void real_log_all(size_t count, const float *x, float *y)
{
    corral_backend_cpu()->log(count, x, y);
}

static void real_tanh_all(size_t count, const float *x, float *y)
{
    corral_backend_cpu()->tanh(count, x, y);
}

static void linear(size_t rows, size_t in, size_t out, const void *x, const void *weight, const float *packed,
                   const void *bias, corral_activation activation, void *y)
{
    (void)weight;
    corral_backend_cpu()->linear(rows, in, out, x, packed, bias, activation, y);
}

static void activation_grad(size_t count, corral_activation activation, const void *y, void *grad)
{
    corral_backend_cpu()->activation_grad(count, activation, y, grad);
}

static void linear_grad_input(size_t rows, size_t in, size_t out, const void *dy, const void *weight,
                              void *dx, bool adds)
{
    corral_backend_cpu()->linear_grad_input(rows, in, out, dy, weight, dx, adds);
}

static void linear_grad_weight(size_t rows, size_t in, size_t out, const void *dy, const void *x, void *dw,
                               void *db)
{
    corral_backend_cpu()->linear_grad_weight(rows, in, out, dy, x, dw, db);
}

#include "ops/real_elements.h"

#include "ops/real_rows.h"

#include "ops/real_ppo.h"

#include "ops/real_dqn.h"

#include "ops/real_table.h"

// --- the categorical distribution
// ---------------------------------------------------------------------------

void corral_categorical_log_probs(size_t rows, size_t actions, const float *logits, float *out_log_probs)
{
    log_softmax(rows, actions, logits, out_log_probs);
}

/// Walks the cumulative distribution of all rows together. An action is taken when the sum first passes the
/// row's draw, so that one of probability zero, which adds nothing, is never the one. Rounding may leave the
/// whole sum below the draw: then it is the last action with a probability.
static void sample_block(size_t rows, size_t n, const float *logits, const float *uniform,
                         int32_t *out_action, float *out_log_prob)
{
    float shift[ROWS_AT_ONCE], log_sum[ROWS_AT_ONCE], log_prob[ROWS_AT_ONCE], prob[ROWS_AT_ONCE];
    float cumulative[ROWS_AT_ONCE] = {0};
    log_softmax_norms(rows, n, logits, shift, log_sum);
    for (size_t r = 0; r < rows; r++) {
        out_action[r] = 0;
        out_log_prob[r] = n == 0 ? 0.0f : (logits[r * n] - shift[r]) - log_sum[r];
    }
    for (size_t a = 0; a < n; a++) {
        log_prob_column(rows, n, a, logits, shift, log_sum, log_prob, prob);
        for (size_t r = 0; r < rows; r++) {
            const int still_open = cumulative[r] <= uniform[r] && prob[r] > 0.0f;
            cumulative[r] += prob[r];
            out_action[r] = still_open ? (int32_t)a : out_action[r];
            out_log_prob[r] = still_open ? log_prob[r] : out_log_prob[r];
        }
    }
}

void corral_categorical_sample(size_t rows, size_t actions, const float *logits, const float *uniform,
                               int32_t *out_action, float *out_log_prob)
{
    for (size_t r = 0; r < rows; r += ROWS_AT_ONCE) {
        sample_block(at_once(rows, r), actions, logits + r * actions, uniform + r, out_action + r,
                     out_log_prob + r);
    }
}

void corral_categorical_mode(size_t rows, size_t actions, const float *logits, int32_t *out_action)
{
    for (size_t r = 0; r < rows; r++) {
        size_t best = 0;
        for (size_t a = 1; a < actions; a++) {
            if (logits[r * actions + a] > logits[r * actions + best]) best = a;
        }
        out_action[r] = (int32_t)best;
    }
}
