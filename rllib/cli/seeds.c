// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "seeds.h"

#include "cli.h"
#include "train_run.h"

#include "corral/base/file.h"
#include "corral/rllib/run_folder.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// --- the list ---------------------------------------------------------------------------------------------

static const int64_t largest_seed = INT64_C(9007199254740992); // as the key's range has it

/// A number at `*at`, which moves behind it.
static bool take_number(const char **at, int64_t *out_number)
{
    if (**at < '0' || **at > '9') return false;
    char *end;
    errno = 0;
    const long long number = strtoll(*at, &end, 10);
    *at = end;
    *out_number = number;
    return errno == 0 && number <= largest_seed;
}

static corral_status add_seeds(seed_list *list, int64_t first, int64_t last)
{
    if (last - first >= SEEDS_MAX || list->count + (size_t)(last - first) + 1 > SEEDS_MAX)
        return corral_fail(CORRAL_ERROR_INVALID, "--seeds: more than %d seeds", SEEDS_MAX);
    for (int64_t seed = first; seed <= last; seed++) {
        for (size_t i = 0; i < list->count; i++)
            if (list->seed[i] == seed)
                return corral_fail(CORRAL_ERROR_INVALID, "--seeds: %" PRId64 " is there twice", seed);
        list->seed[list->count++] = seed;
    }
    return CORRAL_OK;
}

corral_status seeds_parse(const char *text, seed_list *out_list)
{
    const char *at = text;
    out_list->count = 0;
    for (;;) {
        int64_t first, last;
        bool good = take_number(&at, &first);
        last = first;
        if (good && strncmp(at, "..", 2) == 0) {
            at += 2;
            good = take_number(&at, &last) && first <= last;
        }
        if (!good || (*at != ',' && *at != '\0'))
            return corral_fail(CORRAL_ERROR_INVALID, "--seeds: \"%s\" is not a list like 1..5 or 1,2,7",
                               text);
        corral_status status = add_seeds(out_list, first, last);
        if (status != CORRAL_OK || *at == '\0') return status;
        at++;
    }
}

// --- the runs ---------------------------------------------------------------------------------------------

typedef struct seed_runs {
    const seed_list *list;
    char *folder; // OUT
    train_outcome *outcome;
    size_t done;  // seeds that have an outcome
    bool started; // one of them at least
    bool ours;    // OUT was not there before
    int code;
} seed_runs;

static char *folder_of(const seed_runs *runs, size_t i)
{
    return corral_format("%s/seed-%" PRId64, runs->folder, runs->list->seed[i]);
}

/// No seed may find a run in its way once others have been trained.
static corral_status check_free(const seed_runs *runs)
{
    for (size_t i = 0; i < runs->list->count; i++) {
        char *path = corral_format("%s/seed-%" PRId64 "/config.yaml", runs->folder, runs->list->seed[i]);
        const bool there = path != NULL && access(path, F_OK) == 0;
        free(path);
        if (there)
            return corral_fail(CORRAL_ERROR_EXISTS,
                               "%s holds a run of seed %" PRId64 " already; choose another --out",
                               runs->folder, runs->list->seed[i]);
    }
    return CORRAL_OK;
}

static void run_all(seed_runs *runs, const corral_train_config *config, const corral_train_options *options,
                    bool quiet)
{
    for (size_t i = 0; i < runs->list->count && !train_is_interrupted(); i++) {
        corral_train_config one = *config;
        corral_train_options there = *options;
        char *out = folder_of(runs, i);
        one.seed = runs->list->seed[i];
        there.out = out;
        if (!quiet) printf("seed %" PRId64 " (%zu of %zu)\n", one.seed, i + 1, runs->list->count);
        train_run(&one, NULL, &there, quiet, &runs->outcome[i]);
        free(out);
        runs->done++;
        runs->started |= runs->outcome[i].stop_reason != CORRAL_STOP_RUNNING;
        if (runs->outcome[i].code > runs->code) runs->code = runs->outcome[i].code;
        if (runs->outcome[i].code == CLI_BAD_INPUT) return; // so it would be for the others
    }
}

// --- what came of them ------------------------------------------------------------------------------------

static corral_status write_table(const seed_runs *runs)
{
    char *path = corral_format("%s/seeds.csv", runs->folder);
    FILE *file = path != NULL ? fopen(path, "we") : NULL;
    if (file != NULL) fprintf(file, "seed,stop_reason,env_steps,seconds,eval_mean,best_mean\n");
    for (size_t i = 0; file != NULL && i < runs->done; i++) {
        const corral_train_report *last = &runs->outcome[i].last;
        fprintf(file, "%" PRId64 ",%s,%" PRIu64 ",%.9g,", runs->list->seed[i],
                corral_stop_reason_name(runs->outcome[i].stop_reason), last->env_steps, last->seconds);
        if (last->evaluations > 0) fprintf(file, "%.9g,%.9g\n", last->eval_mean, last->best_mean);
        if (last->evaluations == 0) fprintf(file, ",\n");
    }
    corral_status status = CORRAL_OK;
    if (file == NULL || fclose(file) != 0)
        status = corral_fail_errno(CORRAL_ERROR_IO, errno, "cannot write %s/seeds.csv", runs->folder);
    free(path);
    return status;
}

static const char *word_of(const train_outcome *outcome)
{
    switch (outcome->code) {
    case CLI_OK:
        return outcome->stop_reason == CORRAL_STOP_RETURN ? "reached" : "ended";
    case CLI_NOT_REACHED:
        return "short of the goal";
    case CLI_INTERRUPTED:
        return "interrupted";
    default:
        return "failed";
    }
}

static void print_table(const seed_runs *runs)
{
    double sum = 0, low = INFINITY, high = -INFINITY;
    size_t evaluated = 0;
    char steps[32], seconds[40];
    printf("\n%zu of %zu seeds\n", runs->done, runs->list->count);
    for (size_t i = 0; i < runs->done; i++) {
        const corral_train_report *last = &runs->outcome[i].last;
        printf("  seed %-6" PRId64 " ", runs->list->seed[i]);
        if (last->evaluations > 0)
            printf("evaluation %7.1f, best %7.1f, ", last->eval_mean, last->best_mean);
        else
            printf("no evaluation, ");
        printf("%s steps in %s: %s\n", cli_count(last->env_steps, steps, sizeof steps),
               cli_duration(last->seconds, seconds, sizeof seconds), word_of(&runs->outcome[i]));
        if (last->evaluations == 0) continue;
        evaluated++;
        sum += last->eval_mean;
        low = fmin(low, last->eval_mean);
        high = fmax(high, last->eval_mean);
    }
    if (evaluated > 0)
        printf("  evaluation  mean %.1f, from %.1f to %.1f\n", sum / (double)evaluated, low, high);
    printf("  runs        %s\n", runs->folder);
}

/// Names OUT, and makes it where it has to be numbered.
static corral_status choose_folder(seed_runs *runs, const corral_train_config *config, const char *out)
{
    if (out == NULL) {
        runs->ours = true;
        return corral_run_folder_number(config, &runs->folder);
    }
    runs->ours = access(out, F_OK) != 0;
    runs->folder = corral_format("%s", out);
    return runs->folder != NULL ? check_free(runs)
                                : corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a path");
}

static void train_all(seed_runs *runs, const corral_train_config *config, const corral_train_options *options,
                      bool quiet)
{
    run_all(runs, config, options, quiet);
    if (train_is_interrupted()) runs->code = CLI_INTERRUPTED;
    if (!runs->started) {
        if (runs->ours) rmdir(runs->folder); // it is empty
        return;
    }
    if (write_table(runs) != CORRAL_OK) runs->code = cli_fail(CLI_FAILED);
    if (!quiet) print_table(runs);
}

int seeds_run(const char *text, const corral_train_config *config, const corral_train_options *options,
              bool quiet)
{
    seed_list *list = malloc(sizeof *list);
    seed_runs runs = {.list = list, .outcome = calloc(SEEDS_MAX, sizeof *runs.outcome)};
    corral_status status = list != NULL && runs.outcome != NULL
                               ? seeds_parse(text, list)
                               : corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a list of seeds");
    if (status == CORRAL_OK) status = corral_train_config_check(config);
    if (status == CORRAL_OK) status = choose_folder(&runs, config, options->out);
    if (status == CORRAL_OK)
        train_all(&runs, config, options, quiet);
    else
        runs.code = cli_fail(CLI_BAD_INPUT);
    free(runs.folder);
    free(runs.outcome);
    free(list);
    return runs.code;
}
