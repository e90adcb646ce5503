// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// corral-view: what of Corral draws. `corral view`, `corral record` and `corral plot` become this program.
#include "commands.h"

#include "corral/base/log.h"

#include <signal.h>
#include <string.h>

static const cli_command *const commands[] = {&view_view, &view_record, &view_plot};

enum { COMMANDS = sizeof commands / sizeof commands[0] };

int main(int argc, char **argv)
{
    static char name[] = "corral";
    signal(SIGPIPE, SIG_IGN);
    corral_log_set_sink(corral_log_to_stderr, name);
    for (int i = 0; argc >= 2 && i < COMMANDS; i++)
        if (strcmp(argv[1], commands[i]->name) == 0) return commands[i]->run(commands[i], argc - 2, argv + 2);
    fprintf(stderr, "Usage: corral-view view|record|plot ...\n");
    return CLI_BAD_INPUT;
}
