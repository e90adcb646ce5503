// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// `corral view`, `corral record` and `corral plot` become corral-view, which is built only where there are
/// the libraries to draw with.
#include "cli.h"

#include "corral/base/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PACKAGES                                                                                             \
    "libsdl2-dev libsdl2-ttf-dev libpng-dev libgif-dev libavcodec-dev libavformat-dev libavutil-dev "        \
    "libswscale-dev fonts-dejavu-core"

static corral_status start(const char *program, const char *command, int argc, char **argv)
{
    char **arguments = calloc((size_t)argc + 3, sizeof *arguments);
    char *name = corral_format("%s", command);
    if (arguments == NULL || name == NULL) {
        free(arguments);
        free(name);
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory to start corral-view");
    }
    char word[] = "corral-view";
    arguments[0] = word;
    arguments[1] = name;
    for (int i = 0; i < argc; i++)
        arguments[i + 2] = argv[i];
    execv(program, arguments);
    const int error = errno;
    free(arguments);
    free(name);
    return corral_fail_errno(CORRAL_ERROR_NOT_FOUND, error, "cannot start %s", program);
}

static int run(const cli_command *self, int argc, char **argv)
{
    char *folder;
    if (corral_program_folder(&folder) != CORRAL_OK) return cli_fail(CLI_BAD_INPUT);
    char *program = corral_format("%s/corral-view", folder);
    free(folder);
    if (program == NULL)
        (void)corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory to start corral-view");
    else if (access(program, X_OK) != 0)
        (void)corral_fail(CORRAL_ERROR_NOT_FOUND,
                          "corral %s is done by corral-view, which has not been built here: install " PACKAGES
                          " and build again",
                          self->name);
    else
        (void)start(program, self->name, argc, argv);
    free(program);
    return cli_fail(CLI_BAD_INPUT);
}

const cli_command cli_view = {"view", "RUN|CHECKPOINT... | --env ID | --live RUN",
                              "Watch agents play in a window, or play yourself", run};
const cli_command cli_record = {"record", "RUN|CHECKPOINT [--episodes N] [--out FILE]",
                                "Record episodes as a video, a GIF or pictures", run};
const cli_command cli_plot = {"plot", "RUN... [--metric NAME] [--out FILE]", "Draw learning curves", run};
