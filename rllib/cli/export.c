// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "cli.h"

#include "run/monitor.h"
#include "subject.h"

#include "corral/policy/export.h"

static int export_policy(const char *run, const char *path)
{
    subject s = {.max_episode_steps = -1};
    int code = subject_open(&s, run) == CORRAL_OK ? CLI_OK : cli_fail(CLI_BAD_INPUT);
    if (code == CLI_OK && corral_policy_export_onnx(s.policy, path) != CORRAL_OK) code = cli_fail(CLI_FAILED);
    if (code == CLI_OK) printf("%s: the policy of %s\n", path, s.checkpoint);
    subject_close(&s);
    return code;
}

static int export_episodes(const char *run, const char *path)
{
    if (monitor_write(run, path) != CORRAL_OK) return cli_fail(CLI_BAD_INPUT);
    printf("%s: the episodes of %s\n", path, run);
    return CLI_OK;
}

static int run(const cli_command *self, int argc, char **argv)
{
    const char *onnx = NULL, *monitor = NULL;
    bool help;
    const cli_flag flags[] = {
        {"--onnx", "FILE", "Write an ONNX model, normalisation included", &onnx, NULL},
        {"--monitor", "FILE", "Write the run's episodes as Stable-Baselines3's monitor.csv", &monitor, NULL},
        {0},
    };
    cli_words words;
    corral_status status = cli_parse(self, argc, argv, flags, &words, &help);
    if (status == CORRAL_OK && help) return CLI_OK;
    if (status == CORRAL_OK && (words.count != 1 || (onnx == NULL && monitor == NULL)))
        status =
            corral_fail(CORRAL_ERROR_INVALID, "export takes one run or checkpoint and a file: corral export "
                                              "runs/NAME --onnx policy.onnx");
    if (status != CORRAL_OK) return cli_fail(CLI_BAD_INPUT);
    int code = onnx != NULL ? export_policy(words.word[0], onnx) : CLI_OK;
    if (code == CLI_OK && monitor != NULL) code = export_episodes(words.word[0], monitor);
    return code;
}

const cli_command cli_export = {"export", "RUN|CHECKPOINT --onnx FILE | RUN --monitor FILE",
                                "Write a policy or a run's episodes for other programs", run};
