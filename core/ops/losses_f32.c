// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The losses in f32, and what acting and making targets need without a tape.

#include "ops/loss_kernels.h"

#include "ops/real_f32.h"

#include "ops/real_loss_table.h"

// --- C51 --------------------------------------------------------------------------------------------------

void corral_c51_values(size_t rows, const corral_c51_support *support, const float *logits, float *out_q)
{
    float log_p[CORRAL_C51_MOST_ATOMS];
    CORRAL_ASSERT(support->atoms >= 2 && support->atoms <= CORRAL_C51_MOST_ATOMS);
    for (size_t i = 0; i < rows * support->actions; i++) {
        log_softmax_row(support->atoms, logits + i * support->atoms, log_p);
        out_q[i] = (float)c51_expectation(support, log_p);
    }
}

/// Adds the probability `p` of the value `z` to its neighbours on the support, each by its nearness.
static void project(const corral_c51_support *support, double z, double p, double *target)
{
    const double low = (double)support->v_min, high = (double)support->v_max;
    const double inside = z < low ? low : z > high ? high : z;
    const double place = (inside - low) / (high - low) * (double)(support->atoms - 1);
    size_t lower = (size_t)place;
    if (lower > support->atoms - 2) lower = support->atoms - 2;
    const double upper_share = place - (double)lower;
    target[lower] += p * (1.0 - upper_share);
    target[lower + 1] += p * upper_share;
}

void corral_c51_target(size_t rows, const corral_c51_support *support, const float *next_logits,
                       const int32_t *next_action, const float *reward, const float *discount,
                       float *out_target)
{
    const size_t atoms = support->atoms;
    const double step = ((double)support->v_max - (double)support->v_min) / (double)(atoms - 1);
    float log_p[CORRAL_C51_MOST_ATOMS], p[CORRAL_C51_MOST_ATOMS];
    double target[CORRAL_C51_MOST_ATOMS];
    CORRAL_ASSERT(atoms >= 2 && atoms <= CORRAL_C51_MOST_ATOMS && support->v_min < support->v_max);
    for (size_t r = 0; r < rows; r++) {
        const bool finite = isfinite(reward[r]) && isfinite(discount[r]);
        log_softmax_row(atoms, next_logits + (r * support->actions + (size_t)next_action[r]) * atoms, log_p);
        real_exp_all(atoms, log_p, p);
        memset(target, 0, atoms * sizeof *target);
        for (size_t i = 0; i < atoms && finite; i++) {
            const double z = (double)support->v_min + step * (double)i;
            project(support, (double)reward[r] + (double)discount[r] * z, (double)p[i], target);
        }
        for (size_t i = 0; i < atoms; i++)
            out_target[r * atoms + i] = finite ? (float)target[i] : NAN;
    }
}

// --- quantiles --------------------------------------------------------------------------------------------

void corral_quantile_values(size_t rows, size_t actions, size_t quantiles, const float *worth, float *out_q)
{
    for (size_t i = 0; i < rows * actions; i++)
        out_q[i] = (float)mean_of_quantiles(quantiles, worth + i * quantiles);
}

void corral_quantile_target(size_t rows, size_t actions, size_t quantiles, const float *next_worth,
                            const int32_t *next_action, const float *reward, const float *discount,
                            float *out_target)
{
    for (size_t r = 0; r < rows; r++) {
        const float *next = next_worth + (r * actions + (size_t)next_action[r]) * quantiles;
        for (size_t i = 0; i < quantiles; i++)
            out_target[r * quantiles + i] = reward[r] + (discount[r] == 0.0f ? 0.0f : discount[r] * next[i]);
    }
}
