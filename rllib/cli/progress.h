// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What a person sees of a run: a table redrawn in place on a terminal, plain lines elsewhere, nothing when
/// quiet.
#ifndef CORRAL_RLLIB_PROGRESS_H
#define CORRAL_RLLIB_PROGRESS_H

#include "corral/rllib/train.h"

typedef struct progress progress;

/// NULL (no memory) is a valid, silent progress.
progress *progress_start(const corral_train_config *config, const char *run_folder, bool quiet);
void progress_update(progress *p, const corral_train_report *report);
/// Draws the last state and the summary, and frees.
void progress_finish(progress *p, const corral_train_summary *summary);

#endif
