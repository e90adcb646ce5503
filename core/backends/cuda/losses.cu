// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The losses of PPO and of Q-learning, forward and backward in one pass, a thread to each row. ops/real_ppo.h
// and ops/real_dqn.h have the equations; the rules at edges are theirs. Gradients leave multiplied by the
// loss scale. A block adds its rows up in f64 and writes them to its place in `partial`; step.cu adds up the
// blocks.

#include "kernels.h"

enum { LOSS_THREADS = CORRAL_DEVICE_LOSS_ROWS };

// --- PPO
// -----------------------------------------------------------------------------------------------------

/// One row: its distribution, and what of the loss it is.
struct ppo_row {
    float shift, log_sum, entropy, log_ratio, ratio, slope;
    double policy_loss, value_loss, kl;
    float share, mass; // in the penalty: 0 where the divergence is infinite; the sum of the old probabilities
};

__device__ inline float log_prob_of(const ppo_row &row, float logit)
{
    return (logit - row.shift) - row.log_sum;
}

__device__ inline void distribution(const corral_device_ppo &p, uint64_t r, ppo_row &row)
{
    const float *x = p.logits + r * p.actions;
    row.shift = x[0];
    for (uint64_t a = 1; a < p.actions; a++)
        row.shift = x[a] > row.shift ? x[a] : row.shift;
    if (row.shift == -INFINITY) row.shift = 0;
    float sum = 0;
    for (uint64_t a = 0; a < p.actions; a++)
        sum += expf(x[a] - row.shift);
    row.log_sum = logf(sum == 0 ? 1 : sum);
    row.entropy = 0;
    for (uint64_t a = 0; a < p.actions; a++) {
        const float log_p = log_prob_of(row, x[a]), prob = expf(log_p);
        row.entropy -= prob == 0 ? 0 : prob * log_p;
    }
    row.log_ratio = log_prob_of(row, x[p.action[r]]) - p.old_log_prob[r];
    row.ratio = expf(row.log_ratio);
}

__device__ inline void policy_term(const corral_device_ppo &p, uint64_t r, float clip_range, ppo_row &row)
{
    const float low = 1 - clip_range, high = 1 + clip_range;
    const float clipped = row.ratio < low ? low : row.ratio > high ? high : row.ratio;
    const float plain = row.ratio * p.advantage[r], bounded = clipped * p.advantage[r];
    const bool takes_plain = !(plain > bounded); // also for NaN, which must not get lost
    row.policy_loss = -(double)(takes_plain ? plain : bounded);
    row.slope = takes_plain ? -plain : 0;
}

/// Returns the slope of the value term.
__device__ inline float value_term(const corral_device_ppo &p, uint64_t r, ppo_row &row)
{
    const float v = p.value[r], target = p.target[r], old = p.old_value[r], range = p.value_clip_range;
    float error = v - target, slope = error;
    if (range > 0) {
        const float move = v - old;
        const bool inside = move >= -range && move <= range;
        const float moved = move < -range ? -range : move > range ? range : move;
        const float clipped_error = old + moved - target;
        if (clipped_error * clipped_error > error * error) {
            error = clipped_error;
            slope = inside ? clipped_error : 0;
        }
    }
    float square = error * error;
    if (p.value_error_clip > 0 && square > p.value_error_clip) {
        square = p.value_error_clip;
        slope = 0;
    }
    row.value_loss = (double)(0.5f * square);
    return slope;
}

/// KL(old || new), which is worked out only where it is penalised.
__device__ inline void divergence(const corral_device_ppo &p, uint64_t r, ppo_row &row)
{
    float kl = 0;
    row.mass = 0;
    for (uint64_t a = 0; a < p.actions; a++) {
        const float old_log_prob = p.old_log_probs[r * p.actions + a], q = expf(old_log_prob);
        kl += q == 0 ? 0 : q * (old_log_prob - log_prob_of(row, p.logits[r * p.actions + a]));
        row.mass += q;
    }
    row.share = kl == INFINITY ? 0 : 1; // NaN counts: it must not get lost
    row.kl = row.share == 0 ? 0 : (double)kl;
}

__device__ inline void logits_gradient(const corral_device_ppo &p, uint64_t r, const ppo_row &row,
                                       float entropy, float penalty, float factor)
{
    for (uint64_t a = 0; a < p.actions; a++) {
        const float log_p = log_prob_of(row, p.logits[r * p.actions + a]), prob = expf(log_p);
        const float taken = (uint64_t)p.action[r] == a ? 1 : 0;
        const float entropy_slope = prob == 0 ? 0 : prob * (log_p + row.entropy);
        float g = row.slope * (taken - prob) + entropy * entropy_slope;
        if (penalty != 0)
            g += penalty * row.share * (prob * row.mass - expf(p.old_log_probs[r * p.actions + a]));
        p.logits_grad[r * p.actions + a] = g * factor;
    }
}

__global__ void ppo_kernel(corral_device_ppo p, const corral_device_control *control)
{
    __shared__ double room[LOSS_THREADS / WARP];
    const uint64_t blocks = divide_up(p.rows, LOSS_THREADS);
    const float factor = (float)(control->scale / (double)p.rows), penalty = control->kl_coefficient;
    for (uint64_t block = blockIdx.x; block < blocks; block += gridDim.x) {
        const uint64_t r = block * LOSS_THREADS + threadIdx.x;
        double sums[CORRAL_DEVICE_SUMS] = {0};
        if (r < p.rows) {
            ppo_row row;
            distribution(p, r, row);
            policy_term(p, r, control->clip_range, row);
            const float slope = value_term(p, r, row);
            row.kl = 0;
            row.share = row.mass = 1;
            if (penalty != 0) divergence(p, r, row);
            logits_gradient(p, r, row, control->entropy_coefficient, penalty, factor);
            p.value_grad[r] = slope * (p.value_coefficient * factor);
            const double deviation = fabs((double)row.ratio - 1.0);
            sums[CORRAL_PPO_SUM_POLICY_LOSS] = row.policy_loss;
            sums[CORRAL_PPO_SUM_VALUE_LOSS] = row.value_loss;
            sums[CORRAL_PPO_SUM_ENTROPY] = (double)row.entropy;
            sums[CORRAL_PPO_SUM_APPROX_KL] = ((double)row.ratio - 1.0) - (double)row.log_ratio;
            sums[CORRAL_PPO_SUM_CLIPPED] = deviation > (double)control->clip_range ? 1 : 0;
            sums[CORRAL_PPO_SUM_KL] = row.kl;
            sums[CORRAL_PPO_SUM_INFINITE_KL] = row.share == 0 ? 1 : 0;
            sums[CORRAL_PPO_SUM_LARGEST] = deviation;
        }
        for (int k = 0; k < CORRAL_PPO_SUM_LARGEST; k++) {
            const double total = block_sum(sums[k], room);
            if (threadIdx.x == 0) p.partial[block * CORRAL_DEVICE_SUMS + k] = total;
        }
        const double largest = block_largest(sums[CORRAL_PPO_SUM_LARGEST], room);
        if (threadIdx.x == 0) p.partial[block * CORRAL_DEVICE_SUMS + CORRAL_PPO_SUM_LARGEST] = largest;
    }
}

static void ppo_loss(corral_stream *stream, const corral_device_ppo *ppo,
                     const corral_device_control *control)
{
    if (ppo->rows > 0 && ppo->actions > 0)
        LAUNCH_TOGETHER(ppo_kernel, dim3(blocks_for(ppo->rows, LOSS_THREADS)), dim3(LOSS_THREADS), stream,
                        *ppo, control);
}

// --- Q-learning
// ----------------------------------------------------------------------------------------------

__global__ void dqn_kernel(corral_device_dqn d, const corral_device_control *control)
{
    __shared__ double room[LOSS_THREADS / WARP];
    const uint64_t blocks = divide_up(d.rows, LOSS_THREADS);
    const float delta = d.huber_delta > 0 ? d.huber_delta : INFINITY;
    const float factor = (float)(control->scale / (double)d.rows);
    for (uint64_t block = blockIdx.x; block < blocks; block += gridDim.x) {
        const uint64_t r = block * LOSS_THREADS + threadIdx.x;
        double loss_sum = 0, q_sum = 0, error_sum = 0;
        if (r < d.rows) {
            const uint64_t taken = (uint64_t)d.action[r];
            const float q = d.q[r * d.actions + taken], error = q - d.target[r];
            const float weight = d.weight != NULL ? d.weight[r] : 1, size = error < 0 ? -error : error;
            const bool far = size > delta && size != INFINITY; // what is not finite must not get lost
            const float loss = far ? delta * (size - 0.5f * delta) : 0.5f * error * error;
            const float slope = !far ? error : error < 0 ? -delta : delta;
            for (uint64_t a = 0; a < d.actions; a++)
                d.q_grad[r * d.actions + a] = a == taken ? weight * slope * factor : 0;
            if (d.error != NULL) d.error[r] = error;
            loss_sum = (double)(weight * loss);
            q_sum = (double)q;
            error_sum = (double)size;
        }
        loss_sum = block_sum(loss_sum, room);
        q_sum = block_sum(q_sum, room);
        error_sum = block_sum(error_sum, room);
        if (threadIdx.x != 0) continue;
        double *out = d.partial + block * CORRAL_DEVICE_SUMS;
        for (int k = 0; k < CORRAL_DEVICE_SUMS; k++)
            out[k] = 0;
        out[CORRAL_DQN_SUM_LOSS] = loss_sum;
        out[CORRAL_DQN_SUM_Q] = q_sum;
        out[CORRAL_DQN_SUM_ERROR] = error_sum;
    }
}

static void dqn_loss(corral_stream *stream, const corral_device_dqn *dqn,
                     const corral_device_control *control)
{
    if (dqn->rows > 0 && dqn->actions > 0)
        LAUNCH_TOGETHER(dqn_kernel, dim3(blocks_for(dqn->rows, LOSS_THREADS)), dim3(LOSS_THREADS), stream,
                        *dqn, control);
}

/// reward + discount q_target[best], the lowest of equals; nothing comes after a true end.
__global__ void dqn_targets_kernel(uint64_t rows, uint64_t actions, const float *reward,
                                   const float *discount, const float *q_target, const float *chooser,
                                   float *target)
{
    for (uint64_t r = thread_index(); r < rows; r += thread_stride()) {
        const float *q = chooser + r * actions;
        uint64_t best = 0;
        for (uint64_t a = 1; a < actions; a++)
            if (q[a] > q[best]) best = a;
        target[r] = reward[r] + (discount[r] == 0 ? 0 : discount[r] * q_target[r * actions + best]);
    }
}

static void dqn_targets(corral_stream *stream, uint64_t rows, uint64_t actions, const float *reward,
                        const float *discount, const float *q_target, const float *q_online, float *target)
{
    if (rows > 0)
        LAUNCH(dqn_targets_kernel, dim3(blocks_for(rows, THREADS)), dim3(THREADS), stream, rows, actions,
               reward, discount, q_target, q_online != NULL ? q_online : q_target, target);
}

// --- the dueling head
// ----------------------------------------------------------------------------------------

__device__ inline double row_sum(uint64_t n, const float *x)
{
    double sum = 0;
    for (uint64_t a = 0; a < n; a++)
        sum += (double)x[a];
    return sum;
}

__global__ void dueling_kernel(uint64_t rows, uint64_t n, const float *value, const float *advantage,
                               float *q)
{
    for (uint64_t r = thread_index(); r < rows; r += thread_stride()) {
        const float mean = (float)(row_sum(n, advantage + r * n) / (double)n), v = value[r];
        for (uint64_t a = 0; a < n; a++)
            q[r * n + a] = v + (advantage[r * n + a] - mean);
    }
}

__global__ void dueling_gradient_kernel(uint64_t rows, uint64_t n, const float *q_gradient,
                                        float *value_gradient, float *advantage_gradient)
{
    for (uint64_t r = thread_index(); r < rows; r += thread_stride()) {
        const double sum = row_sum(n, q_gradient + r * n);
        const float mean = (float)(sum / (double)n);
        value_gradient[r] = (float)sum;
        for (uint64_t a = 0; a < n; a++)
            advantage_gradient[r * n + a] = q_gradient[r * n + a] - mean;
    }
}

static void dueling(corral_stream *stream, uint64_t rows, uint64_t actions, const float *value,
                    const float *advantage, float *q)
{
    if (rows > 0)
        LAUNCH(dueling_kernel, dim3(blocks_for(rows, THREADS)), dim3(THREADS), stream, rows, actions, value,
               advantage, q);
}

static void dueling_gradient(corral_stream *stream, uint64_t rows, uint64_t actions, const float *q_gradient,
                             float *value_gradient, float *advantage_gradient)
{
    if (rows > 0)
        LAUNCH(dueling_gradient_kernel, dim3(blocks_for(rows, THREADS)), dim3(THREADS), stream, rows, actions,
               q_gradient, value_gradient, advantage_gradient);
}

void corral_cuda_fill_losses(corral_device_table *table)
{
    table->ppo_loss = ppo_loss;
    table->dqn_loss = dqn_loss;
    table->dqn_targets = dqn_targets;
    table->dueling = dueling;
    table->dueling_gradient = dueling_gradient;
}
