// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// One training run as the command line has it: signals, what is shown, and the exit code.
#ifndef CORRAL_RLLIB_TRAIN_RUN_H
#define CORRAL_RLLIB_TRAIN_RUN_H

#include "corral/rllib/train.h"

/// What came of a run.
typedef struct train_outcome {
    int code;                       // cli_exit
    corral_stop_reason stop_reason; // CORRAL_STOP_RUNNING where nothing was started
    corral_train_report last;
} train_outcome;

/// Trains until the end. `before` is the configuration of the run that is resumed, or NULL.
void train_run(const corral_train_config *config, const corral_train_config *before,
               const corral_train_options *options, bool quiet, train_outcome *out_outcome);

/// Whether a signal has asked for an end.
bool train_is_interrupted(void);

#endif
