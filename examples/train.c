// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Training through the library: PPO on CartPole-v1 with two rollout workers, until two evaluations in a row
/// reach 490.
///
///     cc -std=c17 train.c $(pkg-config --cflags --libs corral) -o train && ./train
#include <corral/rllib/train.h>

#include <stdio.h>
#include <string.h>

static corral_train_config cartpole(void)
{
    corral_train_config config = corral_train_config_default();
    strcpy(config.env, "CartPole-v1");
    config.workers = 2;
    config.stop.target_return = 490;
    config.stop.steps = 200000;
    config.ppo.steps = 32;
    config.ppo.epochs = 20;
    config.ppo.gamma = 0.98;
    config.ppo.lambda = 0.8;
    config.ppo.learning_rate = (corral_schedule){.from = 1e-3, .to = 0};
    config.ppo.clip_range = (corral_schedule){.from = 0.2, .to = 0};
    return config;
}

int main(void)
{
    const corral_train_config config = cartpole();
    corral_trainer *trainer;
    corral_status status =
        corral_trainer_create(&config, &(corral_train_options){.no_files = true}, &trainer);
    if (status != CORRAL_OK) {
        fprintf(stderr, "train: %s\n", corral_last_error());
        return 2;
    }
    corral_train_report report;
    while (status == CORRAL_OK && !corral_trainer_done(trainer)) {
        status = corral_trainer_step(trainer, &report);
        if (report.evaluated)
            printf("%7llu steps: evaluation %.1f\n", (unsigned long long)report.env_steps, report.eval_mean);
    }
    if (status != CORRAL_OK) fprintf(stderr, "train: %s\n", corral_last_error());

    corral_train_summary summary;
    if (corral_trainer_finish(trainer, &summary) == CORRAL_OK)
        printf("stopped by %s after %llu steps\n", corral_stop_reason_name(summary.stop_reason),
               (unsigned long long)summary.last.env_steps);
    corral_trainer_destroy(trainer);
    return status == CORRAL_OK ? 0 : 3;
}
