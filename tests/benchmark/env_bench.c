// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// How fast CartPole steps on one core: one instance at a time with the C library's sin and cos (as a plain
// program would), the batched rules alone, and the rules below the host that Corral really steps, there with
// two threads too, each with a batch of its own; then the other built-in environments below the host. Prints
// steps per second.
//
//     corral_env_bench [ENVIRONMENTS [SECONDS]]

#include "corral/base/clock.h"
#include "corral/base/rng.h"
#include "corral/base/threads.h"
#include "corral/envs/batch.h"
#include "corral/envs/registry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static double now_seconds(void)
{
    return (double)corral_now_ns() * 1e-9;
}

enum { ACTION_POOL = 1 << 16, LEAVES = 4, THREADS = 2, SCALING_TURNS = 5 };

typedef struct arrays {
    const corral_env_type *type;
    uint32_t count;
    void *action; // a pool of random ones, 4 bytes each, read at a moving offset
    corral_env_rows observation[LEAVES], final_observation[LEAVES];
    double *reward;
    uint8_t *terminated, *truncated, *failed;
    uint64_t *seed;
    corral_episode *ended;
    uint32_t *ended_row;
} arrays;

static void *zeroed(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (memory == NULL) exit(2);
    return memory;
}

/// One leaf, of int32 or float, as all built-in environments have it.
static void *random_actions(const corral_space *space, size_t count)
{
    int32_t *discrete = zeroed(count, sizeof *discrete);
    float *box = (float *)discrete;
    for (size_t i = 0; i < count; i++) {
        const double u = corral_stream_double(1, i);
        if (space->kind == CORRAL_SPACE_DISCRETE)
            discrete[i] = (int32_t)(u * (double)space->n);
        else
            box[i] = (float)(space->low + u * (space->high - space->low));
    }
    return discrete;
}

static arrays make_arrays(const corral_env_type *type, uint32_t count)
{
    arrays a = {.type = type, .count = count};
    a.action = random_actions(type->spaces.action, ACTION_POOL + count);
    for (uint32_t k = 0; k < type->spaces.observation_count && k < LEAVES; k++) {
        const size_t bytes = corral_space_bytes(&type->spaces.observation[k]);
        a.observation[k] = (corral_env_rows){zeroed(count, bytes), bytes};
        a.final_observation[k] = (corral_env_rows){zeroed(count, bytes), bytes};
    }
    a.reward = zeroed(count, sizeof *a.reward);
    a.terminated = zeroed(count, 1);
    a.truncated = zeroed(count, 1);
    a.failed = zeroed(count, 1);
    a.seed = zeroed(count, sizeof *a.seed);
    a.ended = zeroed(count, sizeof *a.ended);
    a.ended_row = zeroed(count, sizeof *a.ended_row);
    for (uint32_t i = 0; i < count; i++)
        a.seed[i] = i;
    return a;
}

static void free_arrays(arrays *a)
{
    free(a->action);
    for (int k = 0; k < LEAVES; k++) {
        free(a->observation[k].data);
        free(a->final_observation[k].data);
    }
    free(a->reward);
    free(a->terminated);
    free(a->truncated);
    free(a->failed);
    free(a->seed);
    free(a->ended);
    free(a->ended_row);
}

static int32_t *actions_at(const arrays *a, uint64_t step)
{
    return (int32_t *)a->action + step * 977 % ACTION_POOL;
}

/// The textbook program: one struct, one step function, libm.
static double bench_plain(const arrays *a, double seconds)
{
    double x = 0.01, v = 0, angle = 0.02, w = 0;
    volatile float sink[4];
    uint64_t steps = 0;
    const double start = now_seconds();
    double elapsed = 0;
    for (; elapsed < seconds; elapsed = now_seconds() - start) {
        const int32_t *action = actions_at(a, steps);
        for (int i = 0; i < 4096; i++, steps++) {
            const double s = sin(angle), c = cos(angle), force = action[i % (int)a->count] ? 10 : -10;
            const double push = (force + 0.05 * (w * w) * s) / 1.1;
            const double rate = (9.8 * s - c * push) / (0.5 * (4.0 / 3.0 - 0.1 * (c * c) / 1.1));
            const double accelerate = push - 0.05 * rate * c / 1.1;
            x += 0.02 * v;
            v += 0.02 * accelerate;
            angle += 0.02 * w;
            w += 0.02 * rate;
            sink[0] = (float)x, sink[1] = (float)v, sink[2] = (float)angle, sink[3] = (float)w;
            if (fabs(x) > 2.4 || fabs(angle) > 0.20943951023931953) x = v = w = 0, angle = 0.02;
        }
    }
    (void)sink;
    return (double)steps / elapsed;
}

/// The rules alone; what has fallen is reset, as it must be.
static double bench_rules(arrays *a, double seconds)
{
    const corral_env_type *type = a->type;
    double values[64];
    for (uint32_t i = 0; i < type->param_count; i++)
        values[i] = type->params[i].default_value;
    void *batch;
    if (type->batch->create(corral_env_host_default(), a->count, values, &batch) != 0) exit(2);

    corral_env_rows action = {a->action, sizeof(int32_t)};
    const corral_env_step io = {sizeof io,     &action,      a->observation, a->reward,
                                a->terminated, a->truncated, a->failed};
    if (type->batch->reset(batch, NULL, a->seed, &io) != 0) exit(2);
    uint64_t steps = 0;
    const double start = now_seconds();
    double elapsed = 0;
    for (; elapsed < seconds; elapsed = now_seconds() - start) {
        for (int i = 0; i < 64; i++, steps++) {
            action.data = actions_at(a, steps);
            if (type->batch->step(batch, &io) != 0 ||
                type->batch->reset(batch, a->terminated, a->seed, &io) != 0)
                exit(2);
        }
    }
    type->batch->destroy(batch);
    return (double)steps * a->count / elapsed;
}

/// What a rollout worker calls.
static double bench_host(arrays *a, double seconds)
{
    const corral_env_batch_config config = {.type = a->type,
                                            .count = a->count,
                                            .run_seed = 1,
                                            .role = CORRAL_STREAM_ENVIRONMENT,
                                            .max_episode_steps = -1};
    corral_env_batch *batch;
    corral_env_rows action = {a->action, sizeof(int32_t)};
    corral_env_batch_step step = {
        .observation = a->observation,
        .final_observation = a->final_observation,
        .reward = a->reward,
        .terminated = a->terminated,
        .truncated = a->truncated,
        .ended = a->ended,
        .ended_row = a->ended_row,
        .failed = a->failed,
    };
    if (corral_env_batch_create(&config, &batch) != CORRAL_OK) exit(2);
    if (corral_env_batch_reset(batch, a->observation) != CORRAL_OK) exit(2);
    uint64_t steps = 0;
    const double start = now_seconds();
    double elapsed = 0;
    for (; elapsed < seconds; elapsed = now_seconds() - start) {
        for (int i = 0; i < 64; i++, steps++) {
            action.data = actions_at(a, steps);
            if (corral_env_batch_step_all(batch, &action, &step) != CORRAL_OK) exit(2);
        }
    }
    corral_env_batch_destroy(batch);
    return (double)steps * a->count / elapsed;
}

typedef struct parallel_run {
    arrays *arrays; // [THREADS]
    double seconds;
    double rate[THREADS];
} parallel_run;

static void run_one(void *context, size_t index, unsigned thread)
{
    (void)thread;
    parallel_run *run = context;
    run->rate[index] = bench_host(&run->arrays[index], run->seconds);
}

/// All the threads' steps together. They share nothing but the machine.
static double bench_parallel(arrays *a, unsigned threads, double seconds)
{
    corral_team *team;
    if (corral_team_create(threads, &team) != CORRAL_OK) exit(2);
    parallel_run run = {.arrays = a, .seconds = seconds};
    corral_team_run(team, threads, run_one, &run);
    corral_team_destroy(team);
    double rate = 0;
    for (unsigned i = 0; i < threads; i++)
        rate += run.rate[i];
    return rate;
}

/// In turns and the best of each, so that a neighbour on the machine spoils the ratio less.
static void bench_scaling(const corral_env_type *type, uint32_t count, double seconds)
{
    arrays a[THREADS];
    for (int i = 0; i < THREADS; i++)
        a[i] = make_arrays(type, count);
    double one = 0, all = 0;
    for (int i = 0; i < SCALING_TURNS; i++) {
        one = fmax(one, bench_parallel(a, 1, seconds / SCALING_TURNS));
        all = fmax(all, bench_parallel(a, THREADS, seconds / SCALING_TURNS));
    }
    printf("  with %d threads        %6.1f  (%.2f times one, which made %.1f)\n", THREADS, all / 1e6,
           all / one, one / 1e6);
    for (int i = 0; i < THREADS; i++)
        free_arrays(&a[i]);
}

static void bench_cartpole(uint32_t count, double seconds)
{
    const corral_env_type *type;
    if (corral_env_find("CartPole-v1", &type) != CORRAL_OK) exit(2);
    arrays a = make_arrays(type, count);
    const double plain = bench_plain(&a, seconds), rules = bench_rules(&a, seconds),
                 host = bench_host(&a, seconds);
    printf("CartPole-v1, %u environments, million steps per second:\n", count);
    printf("  one by one with libm  %6.1f\n", plain / 1e6);
    printf("  batched rules         %6.1f  (%.1f times)\n", rules / 1e6, rules / plain);
    printf("  through the host      %6.1f  (%.1f times)\n", host / 1e6, host / plain);
    free_arrays(&a);
    bench_scaling(type, count, seconds);
}

int main(int argc, char **argv)
{
    const int count = argc > 1 ? atoi(argv[1]) : 1024;
    const double seconds = argc > 2 ? atof(argv[2]) : 1;
    if (count < 1 || count > 1 << 20 || !(seconds > 0)) {
        fputs("usage: corral_env_bench [ENVIRONMENTS [SECONDS]]\n", stderr);
        return 2;
    }
    bench_cartpole((uint32_t)count, seconds);
    printf("Through the host, million steps per second:\n");
    for (size_t i = 0; i < corral_env_builtin_count(); i++) {
        arrays a = make_arrays(corral_env_builtin_at(i), (uint32_t)count);
        printf("  %-24s %6.1f\n", a.type->id, bench_host(&a, seconds) / 1e6);
        free_arrays(&a);
    }
    return 0;
}
