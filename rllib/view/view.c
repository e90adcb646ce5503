// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// `corral view`: opens what is to be shown, then the window.
#include "commands.h"

#include "window.h"

#include "live/live.h"

#include <unistd.h>

static corral_status read_flags(const cli_words *words, exhibit_options *options, const char *seed_text,
                                const char *first_text)
{
    long long seed = 0, first = 0;
    if (words->count == 0 && options->env == NULL)
        return corral_fail(CORRAL_ERROR_INVALID,
                           "view takes runs or checkpoints, or --env ID: corral view runs/NAME");
    if (words->count > STAGE_CELLS_MAX)
        return corral_fail(CORRAL_ERROR_INVALID, "view shows at most %d at a time", STAGE_CELLS_MAX);
    corral_status status =
        seed_text != NULL ? cli_number("--seed", seed_text, 0, 1LL << 53, &seed) : CORRAL_OK;
    if (status == CORRAL_OK && first_text != NULL)
        status = cli_number("--first", first_text, 0, 1 << 30, &first);
    options->seed = (uint64_t)seed;
    options->first_episode = (uint32_t)first;
    return status;
}

static int run_live(const char *run)
{
    int socket;
    if (live_connect(run, &socket) != CORRAL_OK) return cli_fail(CLI_BAD_INPUT);
    const corral_status status = live_window_run(socket, run);
    close(socket);
    return status == CORRAL_OK ? CLI_OK : cli_fail(CLI_FAILED);
}

static int run(const cli_command *self, int argc, char **argv)
{
    exhibit_options options = {0};
    const char *seed_text = NULL, *first_text = NULL, *live_run = NULL;
    bool human = false, help;
    const cli_flag flags[] = {
        {"--env", "ID", "Another environment, or one without a policy: actions are drawn evenly",
         &options.env},
        {"--live", "RUN", "What the workers of a run do that is being trained now, and how it goes",
         &live_run},
        {"--human", NULL, "You play, with arrows, digits or the keys that it reads", NULL, &human},
        {"--seed", "S", "Other seeds, other episodes (0)", &seed_text},
        {"--first", "K", "The first episode, as eval counts them (0)", &first_text},
        {"--stochastic", NULL, "Draw actions instead of taking the most probable one", NULL,
         &options.stochastic},
        {0},
    };
    cli_words words;
    corral_status status = cli_parse(self, argc, argv, flags, &words, &help);
    if (status == CORRAL_OK && help) return CLI_OK;
    if (status == CORRAL_OK && live_run != NULL) return run_live(live_run);
    if (status == CORRAL_OK) status = read_flags(&words, &options, seed_text, first_text);
    exhibit exhibits[STAGE_CELLS_MAX] = {0};
    const uint32_t count = words.count > 0 ? (uint32_t)words.count : 1;
    for (uint32_t i = 0; status == CORRAL_OK && i < count; i++)
        status = exhibit_open(&exhibits[i], words.count > 0 ? words.word[i] : NULL, &options);
    int code = CLI_OK;
    if (status != CORRAL_OK)
        code = cli_fail(CLI_BAD_INPUT);
    else if (window_run(exhibits, count, human) != CORRAL_OK)
        code = cli_fail(CLI_FAILED);
    for (uint32_t i = 0; i < STAGE_CELLS_MAX; i++)
        exhibit_close(&exhibits[i]);
    return code;
}

const cli_command view_view = {"view", "RUN|CHECKPOINT... | --env ID [--human] | --live RUN",
                               "Watch agents play in a window, several side by side, or play yourself", run};
