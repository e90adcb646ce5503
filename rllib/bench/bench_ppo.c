// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "bench.h"

#include "corral/base/clock.h"
#include "corral/base/threads.h"
#include "corral/rllib/train.h"

#include <math.h>
#include <string.h>

static const double warm_up_seconds = 0.5;

static corral_train_config base_config(int64_t envs, int64_t steps, int64_t minibatch, int64_t epochs)
{
    corral_train_config config = corral_train_config_default();
    strcpy(config.env, "CartPole-v1");
    config.envs = envs;
    config.stop.steps = INT64_C(1000000000000);
    config.evaluation.every = 0;
    config.ppo.steps = steps;
    config.ppo.minibatch = minibatch;
    config.ppo.epochs = epochs;
    return config;
}

corral_status bench_find_preset(const char *name, bench_preset *out_preset)
{
    if (strcmp(name, "zoo") == 0) {
        *out_preset = (bench_preset){
            "zoo", "8 environments x 32 steps, minibatch 256, 20 epochs, separate 64-64 networks", 1064832,
            base_config(8, 32, 256, 20)};
        out_preset->config.ppo.gamma = 0.98;
        out_preset->config.ppo.lambda = 0.8;
        out_preset->config.ppo.learning_rate = (corral_schedule){1e-3, 0};
    } else if (strcmp(name, "cleanrl") == 0) {
        *out_preset = (bench_preset){
            "cleanrl", "4 environments x 128 steps, minibatch 128, 4 epochs, separate 64-64 networks", 227200,
            base_config(4, 128, 128, 4)};
        out_preset->config.ppo.entropy_coefficient = (corral_schedule){0.01, 0.01};
        out_preset->config.ppo.value_clip_range = 0.2;
    } else if (strcmp(name, "large") == 0) {
        *out_preset =
            (bench_preset){"large", "64 environments x 128 steps, minibatch 8192, 1 epoch, one 64-64 trunk",
                           35840, base_config(64, 128, 8192, 1)};
        out_preset->config.network.shared = true;
    } else {
        return corral_fail(CORRAL_ERROR_INVALID, "--preset %s: there are zoo, cleanrl and large", name);
    }
    return CORRAL_OK;
}

static corral_status measure(corral_trainer *trainer, double seconds, bench_result *out)
{
    corral_train_report start = {0}, now = {0};
    corral_status status = CORRAL_OK;
    while (status == CORRAL_OK && now.session_seconds < warm_up_seconds)
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

corral_status bench_ppo(const bench_preset *preset, double seconds, bench_result *out_result)
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
