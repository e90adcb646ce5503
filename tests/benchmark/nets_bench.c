// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// nets_bench NET ROWS THREADS SECONDS: the time of one call of a network that PyTorch is compared on
// (tests/benchmark/compare torch), as one line of JSON. NET is one of nets.h: loss, backward, clipping, Adam;
// or NET-gradient: loss and backward; or NET-act: forward alone.
//
// Only products are counted as arithmetic: 2 for each multiply-add forward, as much for each of the two
// gradients. The time is the best of short slices, the share the median of theirs. A single row does as much
// arithmetic as it reads weights, so that beside it stands the time that reading them takes.

#include "nets.h"

#include "corral/base/clock.h"
#include "corral/core/backend.h"
#include "corral/core/init.h"
#include "corral/core/optim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const net *model;
static size_t rows;
static corral_params *params;
static corral_optimizer *optimizer;
static corral_tape *tapes[CORRAL_LANES];
static float *x; // [rows, in]

static void fail(const char *what)
{
    fprintf(stderr, "nets_bench: %s\n", what);
    exit(2);
}

static void build(void)
{
    net_must(corral_params_create(CORRAL_F32, &params));
    model->add_entries(params);
    net_must(corral_params_seal(params));
    for (uint32_t i = 0; i < corral_params_entry_count(params); i += 2)
        net_must(corral_init_xavier_uniform(params, i, 1.0, i));
    corral_optimizer_config config = corral_optimizer_config_default();
    config.max_grad_norm = model->max_grad_norm;
    net_must(corral_optimizer_create(&config, params, &optimizer));
    for (size_t i = 0; i < CORRAL_LANES; i++)
        net_must(corral_tape_create(&tapes[i]));
    x = aligned_alloc(64, (rows * model->in * sizeof *x + 63) / 64 * 64);
    if (x == NULL) fail("not enough memory");
    for (size_t i = 0; i < rows * model->in; i++)
        x[i] = sinf((float)i * 0.7f);
}

/// As DQN cuts a minibatch that is small beside its network: two lanes from 32 rows on.
static size_t lane_count(void)
{
    const size_t lanes = corral_lane_count(rows);
    return lanes == 1 && rows >= 32 && model->short_lanes ? 2 : lanes;
}

static corral_lane lane_at(size_t index)
{
    if (lane_count() == corral_lane_count(rows)) return corral_lane_at(rows, index);
    const size_t half = rows / 32 * 16;
    return index == 0 ? (corral_lane){0, half} : (corral_lane){half, rows - half};
}

/// A lane in pieces that stay in the cache.
static void learn_lane(void *context, size_t index, unsigned thread)
{
    (void)context;
    (void)thread;
    const corral_lane lane = lane_at(index);
    void *gradients = corral_optimizer_lane(optimizer, index);
    for (size_t done = 0; done < lane.count; done += model->piece) {
        const size_t count = lane.count - done < model->piece ? lane.count - done : model->piece;
        corral_tape_reset(tapes[index], params, gradients);
        net_must(corral_backward(model->loss(tapes[index], x, lane.first + done, count, rows)));
    }
}

static void find_gradient(corral_team *team)
{
    corral_team_run(team, lane_count(), learn_lane, NULL);
}

static void learn(corral_team *team)
{
    find_gradient(team);
    net_must(corral_optimizer_step(optimizer, lane_count(), 1e-4, team, NULL));
}

static void act(corral_team *team)
{
    (void)team;
    model->act(params, x, rows);
}

#if defined(__x86_64__)
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
static void
read_weights(corral_team *team)
{
    (void)team;
    typedef float line __attribute__((vector_size(64)));
    const line *weights = corral_params_data_const(params);
    line sum[4] = {{0}};
    for (size_t i = 0; i + 4 <= corral_params_count(params) / 16; i += 4) {
#pragma GCC unroll 4
        for (size_t k = 0; k < 4; k++)
            sum[k] += weights[i + k];
    }
    volatile float kept = (sum[0] + sum[1] + sum[2] + sum[3])[0];
    (void)kept;
}

/// The mean time of as many calls as fit into a slice, in ns.
static double slice_of(void (*call)(corral_team *), corral_team *team, double seconds)
{
    const int64_t start = corral_now_ns(), end = start + (int64_t)(seconds * 1e9);
    int64_t now = start, calls = 0;
    for (; now < end; calls++) {
        call(team);
        now = corral_now_ns();
    }
    return (double)(now - start) / (double)calls;
}

static int by_size(const void *a, const void *b)
{
    const double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static double median(size_t count, double *values)
{
    qsort(values, count, sizeof *values, by_size);
    return values[count / 2];
}

int main(int argc, char **argv)
{
    enum { SLICES = 20 };
    if (argc != 5) fail("usage: nets_bench ppo|humanoid|cnn|lstm[-gradient|-act] ROWS THREADS SECONDS");
    const bool acting = strstr(argv[1], "-act") != NULL;
    model = net_of(argv[1]);
    rows = strtoul(argv[2], NULL, 10);
    const unsigned threads = (unsigned)strtoul(argv[3], NULL, 10);
    if (model == NULL || rows < 1 || rows > model->most_rows || threads < 1 || threads > 64)
        fail("no such network or size");
    build();
    corral_team *team = NULL;
    net_must(corral_team_create(threads, &team));
    const double seconds = strtod(argv[4], NULL) / SLICES;
    const double macs = acting ? model->macs : 3 * model->macs - model->first_macs;
    void (*call)(corral_team *) = acting ? act : strstr(argv[1], "-gradient") != NULL ? find_gradient : learn;
    for (int i = 0; i < 20; i++)
        call(team);
    // The machine's clock moves: each slice stands beside probes before and after it.
    double peaks[SLICES], shares[SLICES], best = INFINITY, before = corral_cpu_peak_gflops(threads, 1);
    for (int i = 0; i < SLICES; i++) {
        const double ns = slice_of(call, team, seconds), after = corral_cpu_peak_gflops(threads, 1);
        peaks[i] = (before + after) / 2;
        shares[i] = 100 * 2.0 * (double)rows * macs / ns / peaks[i];
        best = fmin(best, ns);
        before = after;
    }
    printf("{\"us\": %.3f, \"share_of_peak\": %.1f, \"peak_gflops\": %.1f", best / 1000,
           median(SLICES, shares), median(SLICES, peaks));
    if (acting) printf(", \"reading_us\": %.3f", slice_of(read_weights, team, seconds) / 1000);
    printf("}\n");
    return 0;
}
