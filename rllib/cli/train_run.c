// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "train_run.h"

#include "cli.h"
#include "progress.h"

#include "corral/base/file.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
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

bool train_is_interrupted(void)
{
    return signals_seen > 0;
}

static void watch_signals(void)
{
    const struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
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

void train_run(const corral_train_config *config, const corral_train_config *before,
               const corral_train_options *options, bool quiet, train_outcome *out_outcome)
{
    corral_trainer *trainer;
    *out_outcome = (train_outcome){0};
    watch_signals();
    if (corral_trainer_create(config, options, &trainer) != CORRAL_OK) {
        out_outcome->code = cli_fail(signals_seen > 0 ? CLI_INTERRUPTED : CLI_BAD_INPUT);
        return;
    }
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
    if (finished != CORRAL_OK && failure == NULL) cli_fail(CLI_FAILED); // else it is the same trouble again
    if (summary.stop_reason == CORRAL_STOP_FAILED && summary.final_checkpoint[0] != '\0')
        fprintf(stderr, "corral: the last %s in %s; `corral train --resume %s` goes on from it\n",
                finished == CORRAL_OK ? "finished iteration is" : "checkpoint that could be written is",
                summary.final_checkpoint, summary.run_folder);
    *out_outcome = (train_outcome){exit_code(&summary, config), summary.stop_reason, summary.last};
    out_outcome->last.message = NULL; // it was the trainer's
    free(failure);
    running = NULL;
    corral_trainer_destroy(trainer);
}
