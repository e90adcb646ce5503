// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "cli.h"

#include "corral/base/threads.h"
#include "corral/core/backend.h"

static int run(const cli_command *self, int argc, char **argv)
{
    bool json = false, help;
    const cli_flag flags[] = {
        {"--json", NULL, "One JSON object, with the machine's instruction set and cores", NULL, &json}, {0}};
    cli_words words;
    if (cli_parse(self, argc, argv, flags, &words, &help) != CORRAL_OK) return cli_fail(CLI_BAD_INPUT);
    if (help) return CLI_OK;
    if (json)
        printf("{\"version\": \"%s\", \"cpu\": \"%s\", \"cores\": %u}\n", CORRAL_VERSION,
               corral_backend_cpu()->name, corral_available_cores());
    else
        printf("corral %s\n", CORRAL_VERSION);
    return CLI_OK;
}

const cli_command cli_version = {"version", "[--json]", "Print the version", run};
