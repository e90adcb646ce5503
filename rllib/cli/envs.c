// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "cli.h"

#include "corral/envs/registry.h"

#include <math.h>
#include <stdlib.h>

static void list_wrapper(void *context, const char *usage, const char *help)
{
    (void)context;
    printf("%-24s %s\n", usage, help);
}

/// Those in libraries of their own.
static void list_shipped(void *context, const char *id, const char *needs)
{
    (void)context;
    const corral_env_type *type;
    if (corral_env_find(id, &type) == CORRAL_OK)
        printf("%-24s %s\n", id, type->summary);
    else
        printf("%-24s (left out of this build: it needs %s)\n", id, needs);
}

static void list_all(void)
{
    for (size_t i = 0; i < corral_env_builtin_count(); i++) {
        const corral_env_type *type = corral_env_builtin_at(i);
        printf("%-24s %s\n", type->id, type->summary);
    }
    corral_env_shipped(list_shipped, NULL);
    printf("\n`corral envs ID` shows one; FILE.so:ID is an environment of a plug-in.\n"
           "\nWrappers, innermost first: `wrappers: [frame_skip: 4, grey]`, or ID+frame_skip=4+grey\n");
    corral_env_wrappers(list_wrapper, NULL);
}

static void print_spaces(const char *what, const corral_space *spaces, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        char *text = corral_space_describe(&spaces[i]);
        printf("  %-12s %s%s%s\n", i == 0 ? what : "", spaces[i].path, spaces[i].path[0] != '\0' ? ": " : "",
               text != NULL ? text : "?");
        free(text);
    }
}

static void show(const corral_env_type *type)
{
    printf("%s: %s\n", type->id, type->summary);
    print_spaces("observation", type->spaces.observation, type->spaces.observation_count);
    print_spaces("action", type->spaces.action, type->spaces.action_count);
    if (type->max_episode_steps > 0) printf("  %-12s %u steps\n", "time limit", type->max_episode_steps);
    if (!isnan(type->reward_threshold)) printf("  %-12s %g\n", "solved at", type->reward_threshold);
    if (type->param_count > 0) printf("Parameters (env_params.NAME=VALUE):\n");
    for (uint32_t i = 0; i < type->param_count; i++) {
        const corral_env_param *param = &type->params[i];
        printf("  %-24s %-10g %g to %g. %s\n", param->name, param->default_value, param->min, param->max,
               param->help);
    }
}

static int run(const cli_command *self, int argc, char **argv)
{
    const cli_flag flags[] = {{0}};
    bool help;
    cli_words words;
    if (cli_parse(self, argc, argv, flags, &words, &help) != CORRAL_OK) return cli_fail(CLI_BAD_INPUT);
    if (help) return CLI_OK;
    if (words.count == 0) list_all();
    for (size_t i = 0; i < words.count; i++) {
        const corral_env_type *type;
        if (corral_env_find(words.word[i], &type) != CORRAL_OK) return cli_fail(CLI_BAD_INPUT);
        show(type);
    }
    return CLI_OK;
}

const cli_command cli_envs = {"envs", "[ID]", "List the environments, or show one", run};
