// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Private to run: what a run that goes on from an earlier step takes off its curves, so that they go on
/// where they stopped instead of looping back.
#ifndef CORRAL_RLLIB_TRIM_H
#define CORRAL_RLLIB_TRIM_H

#include "corral/base/status.h"

#include <stdint.h>

/// Cuts every curve of the run folder behind its last row of a step up to `last_step`. A row that a killed
/// process left half written goes, too. Files that are not there are fine.
CORRAL_MUST_USE corral_status run_trim(const char *folder, uint64_t last_step);

#endif
