// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "cli.h"
#include "seeds.h"
#include "train_run.h"

#include "corral/base/file.h"
#include "corral/proto/checkpoint.h"
#include "corral/rllib/train.h"

#include <stdlib.h>
#include <string.h>

// --- configuration ----------------------------------------------------------------------------------------

typedef struct train_flags {
    const char *preset, *seeds, *out, *resume, *init_from, *cluster, *tls;
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

/// What cannot go together.
static corral_status check_flags(const train_flags *flags, const cli_words *words)
{
    if (flags->resume != NULL && flags->preset != NULL)
        return corral_fail(CORRAL_ERROR_INVALID,
                           "--preset is for new runs; --resume goes on with its run's settings");
    if (flags->seeds == NULL) return CORRAL_OK;
    if (flags->resume != NULL)
        return corral_fail(CORRAL_ERROR_INVALID,
                           "--seeds starts new runs; resume one of several by its own folder");
    for (size_t i = 0; i < words->count; i++) {
        const char *key = words->key[i], *word = words->word[i];
        if ((key != NULL && strcmp(key, "seed") == 0) || (key == NULL && strncmp(word, "seed=", 5) == 0))
            return corral_fail(CORRAL_ERROR_INVALID, "--seeds and seed: give one of them");
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
    if (status == CORRAL_OK) status = check_flags(flags, words);
    if (status == CORRAL_OK && flags->preset != NULL)
        status = corral_fail_within(corral_train_config_preset(config, flags->preset), "--preset");
    if (status == CORRAL_OK) status = find_file(words, &file);
    if (status == CORRAL_OK && file != NULL) status = corral_config_read(corral_train_fields, config, file);
    if (status == CORRAL_OK) status = set_words(words, file, config);
    if (status == CORRAL_OK && config->env[0] == '\0')
        status = corral_fail(
            CORRAL_ERROR_INVALID,
            "name a configuration file, or an environment: corral train --algo ppo --env CartPole-v1");
    return status;
}

static int run(const cli_command *self, int argc, char **argv)
{
    train_flags f = {0};
    const cli_flag flags[] = {
        {"--algo", "NAME", "What learns: ppo or dqn", NULL, NULL, "algorithm"},
        {"--env", "ID", "The environment: an id, or FILE.so:ID of a plug-in", NULL, NULL, "env"},
        {"--workers", "N", "Rollout worker processes; 0 steps inside the learner", NULL, NULL, "workers"},
        {"--seed", "S", "Everything random follows from it", NULL, NULL, "seed"},
        {"--seeds", "LIST", "Several seeds one after the other: 1..5, or 1,2,7", &f.seeds, NULL},
        {"--preset", "NAME", "Another library's defaults, before file and keys: sb3, cleanrl, rllib",
         &f.preset, NULL},
        {"--out", "DIR", "The run folder (runs/ENV-ALGO-N)", &f.out, NULL},
        {"--resume", "RUN", "Go on with a run, or from one of its checkpoints", &f.resume, NULL},
        {"--init-from", "CHECKPOINT", "Start a new run from old weights", &f.init_from, NULL},
        {"--cluster", "HOST:PORT", "Use the nodes of a running cluster", &f.cluster, NULL},
        CLI_TLS(&f.tls),
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
    cli_use_tls(f.tls);
    if (read_config(&f, &words, &config) != CORRAL_OK) return cli_fail(CLI_BAD_INPUT);
    const bool resumed = f.resume != NULL && read_resumed(f.resume, &before) == CORRAL_OK;
    const corral_train_options options = {
        .out = f.out, .resume = f.resume, .init_from = f.init_from, .cluster = f.cluster};
    if (f.seeds != NULL) return seeds_run(f.seeds, &config, &options, f.quiet);
    train_outcome outcome;
    train_run(&config, resumed ? &before : NULL, &options, f.quiet, &outcome);
    return outcome.code;
}

const cli_command cli_train = {
    "train", "[CONFIG.yaml] [key=value ...] [--env ID] [--workers N] [--seed S] [--out DIR]",
    "Train a policy", run};
