// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "cli.h"

#include "bench/bench.h"

#include <string.h>

static int run(const cli_command *self, int argc, char **argv)
{
    const char *preset_name = "zoo", *workers = NULL, *seconds = NULL, *transport = NULL;
    bool json = false, help;
    const cli_flag flags[] = {
        {"--preset", "NAME", "zoo, cleanrl or, of ppo, large", &preset_name, NULL},
        {"--workers", "N", "Rollout workers; 0 steps inside the learner (2, but 0 for one environment)",
         &workers, NULL},
        {"--transport", "NAME", "shared_memory or grpc", &transport, NULL},
        {"--seconds", "S", "How long to measure (3)", &seconds, NULL},
        {"--json", NULL, "One JSON object", NULL, &json},
        {0},
    };
    cli_words words;
    bench_preset preset;
    long long worker_count = 0, duration = 3;
    corral_status status = cli_parse(self, argc, argv, flags, &words, &help);
    if (status == CORRAL_OK && help) return CLI_OK;
    const bool dqn = status == CORRAL_OK && words.count == 1 && strcmp(words.word[0], "dqn") == 0;
    if (status == CORRAL_OK && !dqn && (words.count != 1 || strcmp(words.word[0], "ppo") != 0))
        status =
            corral_fail(CORRAL_ERROR_INVALID, "say what to measure: corral bench ppo or corral bench dqn");
    if (status == CORRAL_OK)
        status = bench_find_preset(dqn ? CORRAL_ALGORITHM_DQN : CORRAL_ALGORITHM_PPO, preset_name, &preset);
    if (status == CORRAL_OK) worker_count = preset.config.workers;
    if (status == CORRAL_OK && workers != NULL)
        status = cli_number("--workers", workers, 0, preset.config.envs, &worker_count);
    if (status == CORRAL_OK && seconds != NULL) status = cli_number("--seconds", seconds, 1, 3600, &duration);
    if (status == CORRAL_OK) preset.config.workers = worker_count;
    if (status == CORRAL_OK && transport != NULL)
        status = corral_config_set_value(corral_train_fields, &preset.config, "transport", transport);
    if (status != CORRAL_OK) return cli_fail(CLI_BAD_INPUT);
    bench_result result;
    if (bench_train(&preset, (double)duration, &result) != CORRAL_OK) return cli_fail(CLI_FAILED);
    if (json) {
        printf(
            "{\"preset\": \"%s\", \"workers\": %lld, \"steps_per_second\": %.1f, \"flops_per_step\": %.0f, "
            "\"peak_gflops\": %.1f, \"share_of_bound\": %.4f, \"sample_share\": %.4f, \"learn_share\": "
            "%.4f}\n",
            preset.name, worker_count, result.steps_per_second, preset.flops_per_step, result.peak_gflops,
            result.share_of_bound, result.sample_share, result.learn_share);
    } else {
        printf("%s: %s\n", preset.name, preset.help);
        printf("%.0f steps/s, %.1f %% of what %.0f GFLOP/s allow (%.0f FLOP a step); %.0f %% rollouts, %.0f "
               "%% learning\n",
               result.steps_per_second, 100 * result.share_of_bound, result.peak_gflops,
               preset.flops_per_step, 100 * result.sample_share, 100 * result.learn_share);
    }
    return CLI_OK;
}

const cli_command cli_bench = {"bench", "ppo|dqn [--preset zoo|cleanrl|large] [--workers N] [--json]",
                               "Measure training speed against the machine's peak", run};
