// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "cli.h"

#include "subject.h"

#include "corral/policy/export.h"

static int run(const cli_command *self, int argc, char **argv)
{
    const char *onnx = NULL;
    bool help;
    const cli_flag flags[] = {
        {"--onnx", "FILE", "Write an ONNX model, normalisation included", &onnx, NULL},
        {0},
    };
    cli_words words;
    subject s = {.max_episode_steps = -1};
    corral_status status = cli_parse(self, argc, argv, flags, &words, &help);
    if (status == CORRAL_OK && help) return CLI_OK;
    if (status == CORRAL_OK && (words.count != 1 || onnx == NULL))
        status =
            corral_fail(CORRAL_ERROR_INVALID, "export takes one run or checkpoint and a file: corral export "
                                              "runs/NAME --onnx policy.onnx");
    if (status == CORRAL_OK) status = subject_open(&s, words.word[0]);
    int code = status == CORRAL_OK ? CLI_OK : cli_fail(CLI_BAD_INPUT);
    if (code == CLI_OK && corral_policy_export_onnx(s.policy, onnx) != CORRAL_OK) code = cli_fail(CLI_FAILED);
    if (code == CLI_OK) printf("%s: the policy of %s\n", onnx, s.checkpoint);
    subject_close(&s);
    return code;
}

const cli_command cli_export = {"export", "RUN|CHECKPOINT --onnx FILE", "Write a policy for other programs",
                                run};
