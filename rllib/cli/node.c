// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// `corral node ...` becomes corral-node, the agent's own program beside this one.
#include "cli.h"

#include "corral/base/file.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static int run(const cli_command *self, int argc, char **argv)
{
    (void)self;
    char *folder;
    if (corral_program_folder(&folder) != CORRAL_OK) return cli_fail(CLI_BAD_INPUT);
    char *program = corral_format("%s/corral-node", folder);
    char **arguments = calloc((size_t)argc + 2, sizeof *arguments);
    if (program == NULL || arguments == NULL) {
        (void)corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory to start corral-node");
        return cli_fail(CLI_BAD_INPUT);
    }
    arguments[0] = program;
    for (int i = 0; i < argc; i++)
        arguments[i + 1] = argv[i];
    execv(program, arguments);
    (void)corral_fail_errno(CORRAL_ERROR_NOT_FOUND, errno, "cannot start %s", program);
    return cli_fail(CLI_BAD_INPUT);
}

const cli_command cli_node = {"node", "--head --listen HOST:PORT | --join HOST:PORT",
                              "Run this host's node of a cluster", run};
