// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "cli.h"
#include "progress.h"

#include "corral/base/file.h"
#include "corral/proto/checkpoint.h"
#include "corral/rllib/train.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// --- signals ----------------------------------------------------------------------------------------------

static corral_trainer *volatile running;
static volatile sig_atomic_t signals_seen;

/// Once: finish the iteration. Twice: leave at once; the agent sees our sockets close and ends the workers.
static void on_signal(int number)
{
    (void)number;
    if (signals_seen++ > 0) _exit(CLI_INTERRUPTED);
    if (running != NULL) corral_trainer_interrupt(running);
}

static void watch_signals(void)
{
    const struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

// --- configuration ----------------------------------------------------------------------------------------

typedef struct train_flags {
    const char *out, *resume, *init_from, *cluster;
    bool quiet;
} train_flags;

/// The configuration that a run to be resumed was started with.
static corral_status read_resumed(const char *resume, corral_train_config *config)
{
    char *checkpoint;
    corral_status status = corral_checkpoint_find(resume, 0, &checkpoint);
    if (status != CORRAL_OK) return status;
    char *path = corral_format("%s/../../config.yaml", checkpoint);
    free(checkpoint);
    if (path == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a path");
    status = corral_config_read(corral_train_fields, config, path);
    free(path);
    return status;
}

/// The file among the words; NULL where there is none.
static corral_status find_file(const cli_words *words, const char **out_file)
{
    *out_file = NULL;
    for (size_t i = 0; i < words->count; i++) {
        if (words->key[i] != NULL || strchr(words->word[i], '=') != NULL) continue;
        if (*out_file != NULL)
            return corral_fail(CORRAL_ERROR_INVALID, "%s: only one configuration file can be given",
                               words->word[i]);
        *out_file = words->word[i];
    }
    return CORRAL_OK;
}

/// Flags that stand for a key, and key=value words, in their order: the last one wins.
static corral_status set_words(const cli_words *words, const char *file, corral_train_config *config)
{
    corral_status status = CORRAL_OK;
    for (size_t i = 0; i < words->count && status == CORRAL_OK; i++) {
        const char *key = words->key[i], *word = words->word[i];
        if (key != NULL)
            status = corral_config_set_value(corral_train_fields, config, key, word);
        else if (word != file)
            status = corral_config_set(corral_train_fields, config, word);
    }
    return status;
}

static corral_status read_config(const train_flags *flags, const cli_words *words,
                                 corral_train_config *config)
{
    const char *file = NULL;
    *config = corral_train_config_default();
    corral_status status = flags->resume != NULL ? read_resumed(flags->resume, config) : CORRAL_OK;
    if (status == CORRAL_OK) status = find_file(words, &file);
    if (status == CORRAL_OK && file != NULL) status = corral_config_read(corral_train_fields, config, file);
    if (status == CORRAL_OK) status = set_words(words, file, config);
    if (status == CORRAL_OK && config->env[0] == '\0')
        status = corral_fail(
            CORRAL_ERROR_INVALID,
            "name a configuration file, or an environment: corral train --algo ppo --env CartPole-v1");
    return status;
}

/// Says which keys a resumed run changes.
static void tell_changes(const corral_train_config *before, const corral_train_config *config)
{
    const char *names[8];
    const size_t count = corral_config_diff(corral_train_fields, before, config, names, 8);
    for (size_t i = 0; i < count && i < 8; i++)
        printf("resumed with another %s%s\n", names[i], i == 7 && count > 8 ? ", and more" : "");
}

// --- the run ----------------------------------------------------------------------------------------------

static int exit_code(const corral_train_summary *summary, const corral_train_config *config)
{
    switch (summary->stop_reason) {
    case CORRAL_STOP_RETURN:
        return CLI_OK;
    case CORRAL_STOP_INTERRUPTED:
        return CLI_INTERRUPTED;
    case CORRAL_STOP_FAILED:
        return CLI_FAILED;
    default: // a budget ended: fine where no goal was set
        return isinf(config->stop.target_return) ? CLI_OK : CLI_NOT_REACHED;
    }
}

static corral_status iterate(corral_trainer *trainer, progress *display)
{
    corral_status status = CORRAL_OK;
    corral_train_report report;
    while (status == CORRAL_OK && !corral_trainer_done(trainer)) {
        status = corral_trainer_step(trainer, &report);
        progress_update(display, &report);
    }
    return status;
}

/// `before` is the configuration of the run that is resumed, or NULL.
static int train(const corral_train_config *config, const corral_train_config *before,
                 const corral_train_options *options, bool quiet)
{
    corral_trainer *trainer;
    watch_signals();
    if (corral_trainer_create(config, options, &trainer) != CORRAL_OK)
        return cli_fail(signals_seen > 0 ? CLI_INTERRUPTED : CLI_BAD_INPUT);
    running = trainer;
    if (signals_seen > 0) corral_trainer_interrupt(trainer); // it came before there was anything to interrupt
    if (before != NULL && !quiet) tell_changes(before, config);
    progress *display = progress_start(config, corral_trainer_folder(trainer), quiet);
    corral_status status = iterate(trainer, display);
    char *failure = status != CORRAL_OK ? corral_format("%s", corral_last_error()) : NULL;

    corral_train_summary summary;
    const corral_status finished = corral_trainer_finish(trainer, &summary);
    if (finished != CORRAL_OK) summary.stop_reason = CORRAL_STOP_FAILED;
    progress_finish(display, &summary);
    if (failure != NULL) fprintf(stderr, "corral: %s\n", failure);
    if (finished != CORRAL_OK) cli_fail(CLI_FAILED);
    if (summary.stop_reason == CORRAL_STOP_FAILED && summary.final_checkpoint[0] != '\0')
        fprintf(stderr,
                "corral: the last finished iteration is in %s; `corral train --resume %s` goes on from it\n",
                summary.final_checkpoint, summary.run_folder);
    const int code = exit_code(&summary, config);
    free(failure);
    running = NULL;
    corral_trainer_destroy(trainer);
    return code;
}

static int run(const cli_command *self, int argc, char **argv)
{
    train_flags f = {0};
    const cli_flag flags[] = {
        {"--algo", "NAME", "What learns: ppo", NULL, NULL, "algorithm"},
        {"--env", "ID", "The environment: an id, or FILE.so:ID of a plug-in", NULL, NULL, "env"},
        {"--workers", "N", "Rollout worker processes; 0 steps inside the learner", NULL, NULL, "workers"},
        {"--seed", "S", "Everything random follows from it", NULL, NULL, "seed"},
        {"--out", "DIR", "The run folder (runs/ENV-ALGO-N)", &f.out, NULL},
        {"--resume", "RUN", "Go on with a run, or from one of its checkpoints", &f.resume, NULL},
        {"--init-from", "CHECKPOINT", "Start a new run from old weights", &f.init_from, NULL},
        {"--cluster", "HOST:PORT", "Use the nodes of a running cluster", &f.cluster, NULL},
        {"--quiet", NULL, "Print errors only", NULL, &f.quiet},
        {0},
    };
    cli_words words;
    bool help;
    corral_train_config config, before = corral_train_config_default();
    if (cli_parse(self, argc, argv, flags, &words, &help) != CORRAL_OK) return cli_fail(CLI_BAD_INPUT);
    if (help) {
        const corral_train_config defaults = corral_train_config_default();
        printf("\nKeys, in the file or as key=value:\n");
        corral_config_help(corral_train_fields, &defaults, stdout);
        return CLI_OK;
    }
    if (read_config(&f, &words, &config) != CORRAL_OK) return cli_fail(CLI_BAD_INPUT);
    const bool resumed = f.resume != NULL && read_resumed(f.resume, &before) == CORRAL_OK;
    const corral_train_options options = {
        .out = f.out, .resume = f.resume, .init_from = f.init_from, .cluster = f.cluster};
    return train(&config, resumed ? &before : NULL, &options, f.quiet);
}

const cli_command cli_train = {
    "train", "[CONFIG.yaml] [key=value ...] [--env ID] [--workers N] [--seed S] [--out DIR]",
    "Train a policy", run};
