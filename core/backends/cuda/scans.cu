// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Recurrences backwards in time, as scans:
//
//     A_t = b_t + a_t A_{t+1}
//
// A stretch of steps is an affine map of what comes after it, and two neighbouring maps make one:
// (a, b) after (a', b') is (a a', b + a b'). One block takes an environment. Each thread folds its own
// stretch, the block scans the threads' maps from the end in log2(threads) steps, and each thread walks its
// stretch again from the value that comes after it. Generalised advantages (Schulman et al. 2016, eq. 16) and
// V-trace (Espeholt et al. 2018, eq. 1) differ in a and b alone.

#include "kernels.h"

struct affine {
    double a, b;
};

/// What a map makes of what comes after it. Nothing comes through an end, not even what is not finite.
__device__ inline double through(const affine &m, double after)
{
    return m.a == 0 ? m.b : m.b + m.a * after;
}

/// The columns of one environment.
struct episode {
    const float *reward, *value, *final_value;
    const uint8_t *terminated, *truncated;
    float last_value;
    uint64_t steps;

    /// The value after step t: nothing after a true end, the episode's own last observation after a time
    /// limit.
    __device__ double future(uint64_t t) const
    {
        if (terminated[t]) return 0;
        if (truncated[t]) return (double)final_value[t];
        return (double)(t + 1 < steps ? value[t + 1] : last_value);
    }
    __device__ bool ended(uint64_t t) const
    {
        return terminated[t] || truncated[t];
    }
};

/// Of environment e, from columns that hold all of them.
template <class COLUMNS> __device__ episode episode_at(const COLUMNS &c, uint64_t e)
{
    const uint64_t at = e * c.steps;
    episode one;
    one.reward = c.reward + at;
    one.value = c.value + at;
    one.final_value = c.final_value + at;
    one.terminated = c.terminated + at;
    one.truncated = c.truncated + at;
    one.last_value = c.last_value[e];
    one.steps = c.steps;
    return one;
}

struct gae_rule {
    episode e;
    double gamma, lambda;
    float *advantage, *target;

    __device__ affine map(uint64_t t) const
    {
        affine m;
        m.a = e.ended(t) ? 0 : gamma * lambda;
        m.b = (double)e.reward[t] + gamma * e.future(t) - (double)e.value[t];
        return m;
    }
    __device__ void write(uint64_t t, double here, double) const
    {
        advantage[t] = (float)here;
        target[t] = (float)(here + (double)e.value[t]);
    }
};

struct vtrace_rule {
    episode e;
    const float *log_ratio;
    double gamma, lambda, clip_rho, clip_c;
    float *target, *advantage;

    __device__ double rho(uint64_t t) const
    {
        return fmin(clip_rho, exp((double)log_ratio[t]));
    }
    __device__ affine map(uint64_t t) const
    {
        const double trace = lambda * fmin(clip_c, exp((double)log_ratio[t]));
        affine m;
        m.a = e.ended(t) ? 0 : gamma * trace;
        m.b = rho(t) * ((double)e.reward[t] + gamma * e.future(t) - (double)e.value[t]);
        return m;
    }
    __device__ void write(uint64_t t, double here, double after) const
    {
        target[t] = (float)((double)e.value[t] + here);
        // What the next step's target adds to its value: nothing where another episode begins.
        const double next = e.future(t) + (e.ended(t) ? 0 : after);
        advantage[t] = (float)(rho(t) * ((double)e.reward[t] + gamma * next - (double)e.value[t]));
    }
};

template <class RULE> __device__ void scan_backwards(const RULE &rule, uint64_t steps)
{
    __shared__ double a[2][THREADS], b[2][THREADS];
    const unsigned thread = threadIdx.x, threads = blockDim.x;
    const uint64_t stretch = divide_up(steps, threads);
    const uint64_t first = thread * stretch < steps ? thread * stretch : steps;
    const uint64_t end = first + stretch < steps ? first + stretch : steps;
    affine whole;
    whole.a = 1;
    whole.b = 0;
    for (uint64_t t = end; t-- > first;) {
        const affine m = rule.map(t);
        whole.b = through(m, whole.b);
        whole.a = m.a * whole.a;
    }
    a[0][thread] = whole.a;
    b[0][thread] = whole.b;
    unsigned now = 0;
    __syncthreads();
    for (unsigned step = 1; step < threads; step *= 2, now = 1 - now) {
        const bool joins = thread + step < threads;
        affine m;
        m.a = a[now][thread];
        m.b = b[now][thread];
        a[1 - now][thread] = joins ? m.a * a[now][thread + step] : m.a;
        b[1 - now][thread] = joins ? through(m, b[now][thread + step]) : m.b;
        __syncthreads();
    }
    double after = thread + 1 < threads ? b[now][thread + 1] : 0;
    for (uint64_t t = end; t-- > first;) {
        const affine m = rule.map(t);
        const double here = through(m, after);
        rule.write(t, here, after);
        after = here;
    }
    __syncthreads(); // before the block's next environment
}

__global__ void gae_kernel(corral_device_gae g)
{
    for (uint64_t e = blockIdx.x; e < g.envs; e += gridDim.x) {
        gae_rule rule;
        rule.e = episode_at(g, e);
        rule.gamma = g.gamma;
        rule.lambda = g.lambda;
        rule.advantage = g.advantage + e * g.steps;
        rule.target = g.target + e * g.steps;
        scan_backwards(rule, g.steps);
    }
}

__global__ void vtrace_kernel(corral_device_vtrace v)
{
    for (uint64_t e = blockIdx.x; e < v.envs; e += gridDim.x) {
        vtrace_rule rule;
        rule.e = episode_at(v, e);
        rule.log_ratio = v.log_ratio + e * v.steps;
        rule.gamma = v.gamma;
        rule.lambda = v.lambda;
        rule.clip_rho = v.clip_rho;
        rule.clip_c = v.clip_c;
        rule.target = v.target + e * v.steps;
        rule.advantage = v.advantage + e * v.steps;
        scan_backwards(rule, v.steps);
    }
}

/// Threads of a block over `steps` steps: no more than have a step to do.
static unsigned scan_threads(uint64_t steps)
{
    unsigned threads = WARP;
    while (threads < steps && threads < THREADS)
        threads *= 2;
    return threads;
}

static void gae(corral_stream *stream, const corral_device_gae *g)
{
    if (g->envs > 0 && g->steps > 0)
        LAUNCH_TOGETHER(gae_kernel, dim3(blocks_for(g->envs, 1)), dim3(scan_threads(g->steps)), stream, *g);
}

static void vtrace(corral_stream *stream, const corral_device_vtrace *v)
{
    if (v->envs > 0 && v->steps > 0)
        LAUNCH_TOGETHER(vtrace_kernel, dim3(blocks_for(v->envs, 1)), dim3(scan_threads(v->steps)), stream,
                        *v);
}

void corral_cuda_fill_scans(corral_device_table *table)
{
    table->gae = gae;
    table->vtrace = vtrace;
}
