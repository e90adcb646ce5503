// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "bench.h"

#include "corral/base/clock.h"
#include "corral/base/threads.h"
#include "corral/rllib/train.h"

#include <math.h>
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

static corral_status measure(corral_trainer *trainer, double seconds, bench_result *out)
{
    corral_train_report start = {0}, now = {0};
    corral_status status = CORRAL_OK;
    while (status == CORRAL_OK && (now.session_seconds < warm_up_seconds || now.updates == 0))
        status = corral_trainer_step(trainer, &now);
    start = now;
    const int64_t start_ns = corral_now_ns();
    double passed = 0;
    while (status == CORRAL_OK && passed < seconds) {
        status = corral_trainer_step(trainer, &now);
        passed = (double)(corral_now_ns() - start_ns) * 1e-9;
    }
    if (status != CORRAL_OK) return status;
    out->steps_per_second = (double)(now.session_steps - start.session_steps) / passed;
    out->sample_share = (now.sample_seconds - start.sample_seconds) / passed;
    out->learn_share = (now.learn_seconds - start.learn_seconds) / passed;
    return CORRAL_OK;
}

corral_status bench_train(const bench_preset *preset, double seconds, bench_result *out_result)
{
    const unsigned threads =
        preset->config.threads > 0 ? (unsigned)preset->config.threads : corral_available_cores();
    *out_result = (bench_result){.peak_gflops = bench_peak_gflops(threads)};
    corral_trainer *trainer;
    corral_status status =
        corral_trainer_create(&preset->config, &(corral_train_options){.no_files = true}, &trainer);
    if (status != CORRAL_OK) return status;
    status = measure(trainer, seconds, out_result);
    corral_trainer_destroy(trainer);
    // The better of two: a neighbour on the machine slows the probe as it slows us.
    out_result->peak_gflops = fmax(out_result->peak_gflops, bench_peak_gflops(threads));
    out_result->share_of_bound =
        out_result->steps_per_second * preset->flops_per_step / (out_result->peak_gflops * 1e9);
    return status;
}
