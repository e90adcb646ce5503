// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "cli.h"

#include "bench/bench.h"
#include "bench/bench_runtime.h"

#include <string.h>

static int run_runtime(bool json)
{
    bench_runtime_result r;
    if (bench_runtime(&r) != CORRAL_OK) return cli_fail(CLI_FAILED);
    if (json) {
        printf("{\"socket_us\": %.1f, \"call_us\": %.1f, \"calls_per_second\": %.0f, "
               "\"flowing_calls_per_second\": %.0f, \"task_us\": %.1f, \"tasks_per_second\": %.0f, "
               "\"flowing_tasks_per_second\": %.0f, \"start_p50_us\": %.1f, \"start_p99_us\": %.1f, "
               "\"small_puts_per_second\": %.0f, \"small_gets_per_second\": %.0f, \"memcpy_gb\": %.2f, "
               "\"put_gb\": %.2f, \"large_get_us\": %.1f, \"first_get_us\": %.1f}\n",
               r.socket_us, r.call_us, r.calls_per_second, r.flowing_calls_per_second, r.task_us,
               r.tasks_per_second, r.flowing_tasks_per_second, r.start_p50_us, r.start_p99_us,
               r.small_puts_per_second, r.small_gets_per_second, r.memcpy_gb, r.put_gb, r.large_get_us,
               r.first_get_us);
        return CLI_OK;
    }
    printf("a raw socket's round trip   %10.1f us\n", r.socket_us);
    printf("actor call, one by one      %10.1f us  %9.0f /s, %.2f times the socket's\n", r.call_us,
           r.calls_per_second, r.call_us / r.socket_us);
    printf("actor calls, 256 open       %22.0f /s\n", r.flowing_calls_per_second);
    printf("task submit and get         %10.1f us  %9.0f /s\n", r.task_us, r.tasks_per_second);
    printf("tasks, 1000 at once         %22.0f /s\n", r.flowing_tasks_per_second);
    printf("submit to start, idle       %10.1f us  p99 %.1f us\n", r.start_p50_us, r.start_p99_us);
    printf("put of 1 KiB                %22.0f /s\n", r.small_puts_per_second);
    printf("get of 1 KiB elsewhere      %22.0f /s\n", r.small_gets_per_second);
    printf("put of 64 MiB               %8.2f GB/s, %.0f %% of a memcpy's %.2f\n", r.put_gb,
           100 * r.put_gb / r.memcpy_gb, r.memcpy_gb);
    printf("get of 64 MiB elsewhere     %10.1f us, the first %.0f us\n", r.large_get_us, r.first_get_us);
    return CLI_OK;
}

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
    if (status == CORRAL_OK && words.count == 1 && strcmp(words.word[0], "runtime") == 0)
        return run_runtime(json);
    const bool dqn = status == CORRAL_OK && words.count == 1 && strcmp(words.word[0], "dqn") == 0;
    if (status == CORRAL_OK && !dqn && (words.count != 1 || strcmp(words.word[0], "ppo") != 0))
        status =
            corral_fail(CORRAL_ERROR_INVALID,
                        "say what to measure: corral bench ppo, corral bench dqn or corral bench runtime");
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

const cli_command cli_bench = {"bench", "ppo|dqn|runtime [--preset zoo|cleanrl|large] [--workers N] [--json]",
                               "Measure training speed against the machine's peak", run};
