// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The commands of corral-view.
#ifndef CORRAL_VIEW_COMMANDS_H
#define CORRAL_VIEW_COMMANDS_H

#include "cli/cli.h"

extern const cli_command view_view, view_record, view_plot;

#endif
