// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// corral: the command line.
#include "cli.h"

#include "bench/bench_runtime.h"

#include "corral/actors/client.h"
#include "corral/base/config.h"
#include "corral/base/log.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static const cli_command *const commands[] = {
    &cli_train,  &cli_eval,    &cli_env,       &cli_envs,  &cli_node,   &cli_run,
    &cli_status, &cli_objects, &cli_compare,   &cli_view,  &cli_record, &cli_plot,
    &cli_export, &cli_bench,   &cli_benchmark, &cli_certs, &cli_version};

enum { COMMANDS = sizeof commands / sizeof commands[0] };

static void print_commands(FILE *out)
{
    fprintf(out, "Usage: corral COMMAND ...\n\nTrain reinforcement-learning agents, from a laptop to a "
                 "cluster.\n\nCommands:\n");
    for (int i = 0; i < COMMANDS; i++)
        fprintf(out, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    fprintf(out, "\n`corral COMMAND --help` says more.\n"
                 "To begin: corral train --algo ppo --env CartPole-v1\n");
}

static int unknown_command(const char *word)
{
    const char *names[COMMANDS];
    for (int i = 0; i < COMMANDS; i++)
        names[i] = commands[i]->name;
    const char *near = corral_nearest(word, names, COMMANDS);
    if (near != NULL)
        (void)corral_fail(CORRAL_ERROR_INVALID, "unknown command \"%s\"; did you mean %s?", word, near);
    else
        (void)corral_fail(CORRAL_ERROR_INVALID, "unknown command \"%s\"; `corral --help` lists them", word);
    return cli_fail(CLI_BAD_INPUT);
}

/// Where standard input or an output came closed, the next file that we open would get its number, and what
/// we print would go into it.
static void open_standard_files(void)
{
    for (int file = STDIN_FILENO; file <= STDERR_FILENO; file++)
        if (fcntl(file, F_GETFD) < 0 && open("/dev/null", file == STDIN_FILENO ? O_RDONLY : O_WRONLY) != file)
            _exit(CLI_FAILED);
}

int main(int argc, char **argv)
{
    if (corral_is_worker()) return corral_worker_main(&bench_runtime_library); // of `corral bench runtime`
    open_standard_files();
    static char name[] = "corral";
    signal(SIGPIPE, SIG_IGN); // a closed pipe is no reason to lose a run
    corral_log_set_sink(corral_log_to_stderr, name);
    if (argc < 2) {
        print_commands(stderr);
        return CLI_BAD_INPUT;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        print_commands(stdout);
        return CLI_OK;
    }
    const char *word = strcmp(argv[1], "--version") == 0 ? cli_version.name : argv[1];
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i]->name, word) == 0) return commands[i]->run(commands[i], argc - 2, argv + 2);
    return unknown_command(word);
}
