// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "bench.h"

#include "corral/core/backend.h"

#include "corral/base/clock.h"
#include "corral/base/threads.h"
#include "corral/rllib/train.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const double warm_up_seconds = 0.5;

static corral_train_config base_config(corral_algorithm algorithm, int64_t envs)
{
    corral_train_config config = corral_train_config_default();
    strcpy(config.env, "CartPole-v1");
    config.algorithm = algorithm;
    config.envs = envs;
    config.workers = envs < config.workers ? 0 : config.workers;
    config.stop.steps = INT64_C(1000000000000);
    config.schedule_steps =
        1000000; // of what falls over a run: most of the time is spent where it has fallen
    config.evaluation.every = 0;
    return config;
}

// --- PPO --------------------------------------------------------------------------------------------------

static corral_train_config ppo_config(int64_t envs, int64_t steps, int64_t minibatch, int64_t epochs)
{
    corral_train_config config = base_config(CORRAL_ALGORITHM_PPO, envs);
    config.schedule_steps = 0;
    config.ppo.steps = steps;
    config.ppo.minibatch = minibatch;
    config.ppo.epochs = epochs;
    return config;
}

static bench_preset ppo_zoo(void)
{
    bench_preset preset = {"zoo",
                           "8 environments x 32 steps, minibatch 256, 20 epochs, separate 64-64 networks",
                           1064832, ppo_config(8, 32, 256, 20)};
    preset.config.ppo.gamma = 0.98;
    preset.config.ppo.lambda = 0.8;
    preset.config.ppo.learning_rate = (corral_schedule){1e-3, 0};
    return preset;
}

static bench_preset ppo_cleanrl(void)
{
    bench_preset preset = {"cleanrl",
                           "4 environments x 128 steps, minibatch 128, 4 epochs, separate 64-64 networks",
                           227200, ppo_config(4, 128, 128, 4)};
    preset.config.ppo.entropy_coefficient = (corral_schedule){0.01, 0.01};
    preset.config.ppo.value_clip_range = 0.2;
    return preset;
}

static bench_preset ppo_large(void)
{
    bench_preset preset = {"large", "64 environments x 128 steps, minibatch 8192, 1 epoch, one 64-64 trunk",
                           35840, ppo_config(64, 128, 8192, 1)};
    preset.config.network.shared = true;
    return preset;
}

// --- DQN: a step is stepped once, and its share of the minibatches goes through the target network once and
// through the online one three times (once forward, twice backward) -----------------------------------------

static bench_preset dqn_preset(const char *name, const char *help, corral_sizes hidden, int64_t train_freq,
                               int64_t gradient_steps, int64_t minibatch)
{
    bench_preset preset = {.name = name, .help = help, .config = base_config(CORRAL_ALGORITHM_DQN, 1)};
    preset.config.network.hidden = hidden;
    preset.config.network.activation = 1; // relu
    preset.config.network.initialisation = CORRAL_INIT_FAN_IN;
    preset.config.dqn.train_freq = train_freq;
    preset.config.dqn.gradient_steps = gradient_steps;
    preset.config.dqn.minibatch = minibatch;
    preset.config.dqn.double_q = preset.config.dqn.dueling = false;
    const double weights =
        4.0 * hidden.value[0] + (double)hidden.value[0] * hidden.value[1] + 2.0 * hidden.value[1];
    const double rows = (double)(gradient_steps * minibatch) / (double)train_freq;
    preset.flops_per_step = 2 * weights * (1 + 4 * rows);
    return preset;
}

static bench_preset dqn_zoo(void)
{
    bench_preset preset = dqn_preset("zoo", "128 minibatches of 64 rows every 256 steps, a 256-256 network",
                                     (corral_sizes){2, {256, 256}}, 256, 128, 64);
    preset.config.dqn.buffer_size = 100000;
    preset.config.dqn.target_update = 10;
    preset.config.dqn.learning_rate = (corral_schedule){2.3e-3, 2.3e-3};
    preset.config.dqn.epsilon_end = 0.04;
    return preset;
}

static bench_preset dqn_cleanrl(void)
{
    bench_preset preset = dqn_preset("cleanrl", "a minibatch of 128 rows every 10 steps, a 120-84 network",
                                     (corral_sizes){2, {120, 84}}, 10, 1, 128);
    preset.config.dqn.buffer_size = preset.config.dqn.learning_starts = 10000;
    preset.config.dqn.learning_rate = (corral_schedule){2.5e-4, 2.5e-4};
    preset.config.dqn.huber_delta = preset.config.dqn.max_grad_norm = 0;
    return preset;
}

static const struct {
    corral_algorithm algorithm;
    const char *name;
    bench_preset (*make)(void);
} presets[] = {
    {CORRAL_ALGORITHM_PPO, "zoo", ppo_zoo},         {CORRAL_ALGORITHM_PPO, "cleanrl", ppo_cleanrl},
    {CORRAL_ALGORITHM_PPO, "large", ppo_large},     {CORRAL_ALGORITHM_DQN, "zoo", dqn_zoo},
    {CORRAL_ALGORITHM_DQN, "cleanrl", dqn_cleanrl},
};

corral_status bench_find_preset(corral_algorithm algorithm, const char *name, bench_preset *out_preset)
{
    for (size_t i = 0; i < sizeof presets / sizeof presets[0]; i++) {
        if (presets[i].algorithm != algorithm || strcmp(presets[i].name, name) != 0) continue;
        *out_preset = presets[i].make();
        return CORRAL_OK;
    }
    return corral_fail(CORRAL_ERROR_INVALID, "--preset %s: there are zoo, cleanrl and (of ppo) large", name);
}

// --- measuring --------------------------------------------------------------------------------------------

// A neighbour on the machine comes and goes within a second. So the training is measured in short slices,
// with a probe of the peak between any two of them, and the median slice counts.
static const double slice_seconds = 0.2;

typedef struct slice {
    double steps_per_second, peak_gflops, share_of_bound, sample_share, learn_share;
} slice;

static corral_status warm_up(corral_trainer *trainer, corral_train_report *now)
{
    corral_status status = CORRAL_OK;
    while (status == CORRAL_OK && (now->session_seconds < warm_up_seconds || now->updates == 0))
        status = corral_trainer_step(trainer, now);
    return status;
}

static corral_status measure_slice(corral_trainer *trainer, corral_train_report *now, slice *out)
{
    const corral_train_report start = *now;
    const int64_t start_ns = corral_now_ns();
    corral_status status = CORRAL_OK;
    double passed = 0;
    while (status == CORRAL_OK && passed < slice_seconds) {
        status = corral_trainer_step(trainer, now);
        passed = (double)(corral_now_ns() - start_ns) * 1e-9;
    }
    out->steps_per_second = (double)(now->session_steps - start.session_steps) / passed;
    out->sample_share = (now->sample_seconds - start.sample_seconds) / passed;
    out->learn_share = (now->learn_seconds - start.learn_seconds) / passed;
    return status;
}

static int compare_numbers(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/// Of the number at `offset` in each slice.
static double median(const slice *slices, size_t count, size_t offset, double *scratch)
{
    for (size_t i = 0; i < count; i++)
        memcpy(&scratch[i], (const char *)&slices[i] + offset, sizeof(double));
    qsort(scratch, count, sizeof *scratch, compare_numbers);
    return count % 2 == 1 ? scratch[count / 2] : (scratch[count / 2 - 1] + scratch[count / 2]) / 2;
}

static corral_status measure(corral_trainer *trainer, const bench_preset *preset, unsigned threads,
                             size_t count, slice *slices)
{
    corral_train_report now = {0};
    corral_status status = warm_up(trainer, &now);
    double before = corral_cpu_peak_gflops(threads, 1);
    for (size_t i = 0; i < count && status == CORRAL_OK; i++) {
        status = measure_slice(trainer, &now, &slices[i]);
        const double after = corral_cpu_peak_gflops(threads, 1);
        slices[i].peak_gflops = (before + after) / 2;
        slices[i].share_of_bound =
            slices[i].steps_per_second * preset->flops_per_step / (slices[i].peak_gflops * 1e9);
        before = after;
    }
    return status;
}

corral_status bench_train(const bench_preset *preset, double seconds, bench_result *out_result)
{
    const unsigned threads =
        preset->config.threads > 0 ? (unsigned)preset->config.threads : corral_available_cores();
    const size_t count = seconds < slice_seconds ? 1 : (size_t)(seconds / slice_seconds);
    slice *slices = calloc(count, sizeof *slices);
    double *scratch = calloc(count, sizeof *scratch);
    corral_trainer *trainer = NULL;
    corral_status status = CORRAL_OK;
    if (slices == NULL || scratch == NULL)
        status = corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for %zu measurements", count);
    if (status == CORRAL_OK)
        status = corral_trainer_create(&preset->config, &(corral_train_options){.no_files = true}, &trainer);
    if (status == CORRAL_OK) status = measure(trainer, preset, threads, count, slices);
    if (status == CORRAL_OK) {
#define MEDIAN(FIELD) median(slices, count, offsetof(slice, FIELD), scratch)
        *out_result = (bench_result){.steps_per_second = MEDIAN(steps_per_second),
                                     .peak_gflops = MEDIAN(peak_gflops),
                                     .share_of_bound = MEDIAN(share_of_bound),
                                     .sample_share = MEDIAN(sample_share),
                                     .learn_share = MEDIAN(learn_share)};
#undef MEDIAN
    }
    corral_trainer_destroy(trainer);
    free(scratch);
    free(slices);
    return status;
}
