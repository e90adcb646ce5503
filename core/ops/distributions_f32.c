// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The distributions in f32, and what acting needs of them without a tape.

#include "corral/base/rng.h"

#include "ops/distribution_kernels.h"

#include "ops/real_f32.h"

#include "ops/real_distribution_table.h"

void corral_mask_logits_forward(size_t count, const float *logits, const uint8_t *allowed, float *out)
{
    mask(count, logits, allowed, out);
}

// --- categorical ------------------------------------------------------------------------------------------

static size_t sum_of(size_t count, const size_t *sizes)
{
    size_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += sizes[i];
    return sum;
}

/// Walks the cumulative distribution of all rows together. An action is taken when the sum first passes the
/// row's draw, so that one of probability zero, which adds nothing, is never the one. Rounding may leave the
/// whole sum below the draw: then it is the last action with a probability.
static void draw_part(const corral_discrete_run *run, const part *p, const place *at, const float *uniform,
                      int32_t *out_action)
{
    float log_prob[BLOCK], prob[BLOCK], cumulative[BLOCK] = {0};
    int32_t *action = out_action + at->first * run->count + at->number;
    uniform += at->first * run->count + at->number;
    for (size_t r = 0; r < p->rows; r++)
        action[r * run->count] = 0;
    for (size_t a = 0; a < p->n; a++) {
        part_column(p, a, log_prob, prob);
        for (size_t r = 0; r < p->rows; r++) {
            const bool still_open = cumulative[r] <= uniform[r * run->count] && prob[r] > 0.0f;
            cumulative[r] += prob[r];
            if (still_open) action[r * run->count] = (int32_t)a;
        }
    }
}

void corral_multi_categorical_sample(size_t rows, size_t count, const size_t *sizes, const float *logits,
                                     const float *uniform, int32_t *out_action, float *out_log_prob)
{
    const corral_discrete_run run = {.rows = rows,
                                     .width = sum_of(count, sizes),
                                     .count = count,
                                     .sizes = sizes,
                                     .logits = logits,
                                     .action = out_action,
                                     .y = out_log_prob};
    start_at_zero(&run);
    for (size_t r = 0; r < rows; r += BLOCK) {
        place at = {.first = r};
        for (; at.number < count; at.number++) {
            const part p =
                part_at(block_at(rows, r), run.width, sizes[at.number], logits + r * run.width + at.offset);
            draw_part(&run, &p, &at, uniform, out_action);
            add_log_prob(&run, &p, &at);
            at.offset += sizes[at.number];
        }
    }
}

void corral_multi_categorical_mode(size_t rows, size_t count, const size_t *sizes, const float *logits,
                                   int32_t *out_action)
{
    for (size_t i = 0; i < rows * count; i++) {
        size_t best = 0;
        const size_t n = sizes[i % count];
        for (size_t a = 1; a < n; a++) {
            if (logits[a] > logits[best]) best = a;
        }
        out_action[i] = (int32_t)best;
        logits += n;
    }
}

void corral_multi_categorical_log_probs(size_t rows, size_t count, const size_t *sizes, const float *logits,
                                        const int32_t *action, float *out_log_prob)
{
    categorical_log_prob(&(corral_discrete_run){.rows = rows,
                                                .width = sum_of(count, sizes),
                                                .count = count,
                                                .sizes = sizes,
                                                .logits = logits,
                                                .action = action,
                                                .y = out_log_prob});
}

// --- Bernoulli --------------------------------------------------------------------------------------------

void corral_bernoulli_log_probs(size_t rows, size_t n, const float *logits, const int32_t *action,
                                float *out_log_prob)
{
    bernoulli_log_prob(&(corral_discrete_run){
        .rows = rows, .width = n, .count = n, .logits = logits, .action = action, .y = out_log_prob});
}

void corral_bernoulli_sample(size_t rows, size_t n, const float *logits, const float *uniform,
                             int32_t *out_action, float *out_log_prob)
{
    float p[BLOCK];
    for (size_t i = 0; i < rows * n; i += BLOCK) {
        const size_t count = block_at(rows * n, i);
        real_sigmoid_block(count, logits + i, p);
        for (size_t k = 0; k < count; k++)
            out_action[i + k] = uniform[i + k] < p[k];
    }
    corral_bernoulli_log_probs(rows, n, logits, out_action, out_log_prob);
}

void corral_bernoulli_mode(size_t rows, size_t n, const float *logits, int32_t *out_action)
{
    for (size_t i = 0; i < rows * n; i++)
        out_action[i] = logits[i] > 0.0f;
}

// --- normal -----------------------------------------------------------------------------------------------

/// mean + exp(log_std) noise.
static void normal_values(size_t rows, size_t n, const float *mean, const float *log_std, size_t step,
                          const float *noise, float *out)
{
    float deviation[BLOCK];
    for (size_t r = 0; r < rows; r++) {
        for (size_t i = 0; i < n; i += BLOCK) {
            const size_t count = block_at(n, i), at = r * n + i;
            real_deviation_block(count, log_std + r * step + i, 1, deviation);
            for (size_t k = 0; k < count; k++)
                out[at + k] = mean[at + k] + deviation[k] * noise[at + k];
        }
    }
}

static void log_densities(size_t rows, size_t n, const float *mean, const float *log_std, size_t step,
                          const float *value, bool squashed, float *out_log_prob)
{
    normal_log_prob(&(corral_normal_run){.rows = rows,
                                         .n = n,
                                         .p = {.mean = mean, .log_std = log_std, .step = step},
                                         .value = value,
                                         .squashed = squashed,
                                         .y = out_log_prob});
}

static size_t step_of(corral_log_std kind, size_t n)
{
    return kind == CORRAL_LOG_STD_PER_ROW ? n : 0;
}

void corral_normal_log_probs(size_t rows, size_t n, const float *mean, const float *log_std,
                             corral_log_std kind, const float *value, float *out_log_prob)
{
    log_densities(rows, n, mean, log_std, step_of(kind, n), value, false, out_log_prob);
}

void corral_normal_sample(size_t rows, size_t n, const float *mean, const float *log_std, corral_log_std kind,
                          const float *noise, float *out_value, float *out_log_prob)
{
    normal_values(rows, n, mean, log_std, step_of(kind, n), noise, out_value);
    log_densities(rows, n, mean, log_std, step_of(kind, n), out_value, false, out_log_prob);
}

void corral_squashed_normal_log_probs(size_t rows, size_t n, const float *mean, const float *log_std,
                                      corral_log_std kind, const float *value, float *out_log_prob)
{
    log_densities(rows, n, mean, log_std, step_of(kind, n), value, true, out_log_prob);
}

void corral_squash(size_t count, const float *value, float *out_action)
{
    real_tanh_all(count, value, out_action);
}

void corral_squashed_normal_sample(size_t rows, size_t n, const float *mean, const float *log_std,
                                   corral_log_std kind, const float *noise, float *out_value,
                                   float *out_action, float *out_log_prob)
{
    normal_values(rows, n, mean, log_std, step_of(kind, n), noise, out_value);
    log_densities(rows, n, mean, log_std, step_of(kind, n), out_value, true, out_log_prob);
    corral_squash(rows * n, out_value, out_action);
}

void corral_standard_normals(uint64_t stream_key, uint64_t counter, size_t count, float *out)
{
    for (size_t i = 0; i < count; i++) {
        const uint64_t pair = 2 * (counter + i);
        const double radius = sqrt(-2.0 * log(1.0 - corral_stream_double(stream_key, pair)));
        out[i] = (float)(radius * cos(6.283185307179586 * corral_stream_double(stream_key, pair + 1)));
    }
}

// --- Beta -------------------------------------------------------------------------------------------------

void corral_beta_log_probs(size_t rows, size_t n, const float *alpha, const float *beta, const float *value,
                           float *out_log_prob)
{
    beta_log_prob(&(corral_beta_run){
        .rows = rows, .n = n, .p = {.alpha = alpha, .beta = beta}, .value = value, .y = out_log_prob});
}

void corral_beta_sample(size_t rows, size_t n, const float *alpha, const float *beta, const float *uniform,
                        float *out_value, float *out_log_prob)
{
    beta_rsample(&(corral_beta_run){
        .rows = rows, .n = n, .p = {.alpha = alpha, .beta = beta}, .value = uniform, .y = out_value});
    corral_beta_log_probs(rows, n, alpha, beta, out_value, out_log_prob);
}

void corral_beta_mode(size_t count, const float *alpha, const float *beta, float *out_value)
{
    for (size_t i = 0; i < count; i++) {
        const float a = alpha[i], b = beta[i];
        if (a > 1.0f && b > 1.0f)
            out_value[i] = (a - 1.0f) / (a + b - 2.0f);
        else if (a > 1.0f || b > 1.0f)
            out_value[i] = a > b ? 1.0f : 0.0f; // the density grows towards one end
        else
            out_value[i] = a / (a + b);
    }
}
