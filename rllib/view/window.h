// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The window: keys in, pictures out.
#ifndef CORRAL_VIEW_WINDOW_H
#define CORRAL_VIEW_WINDOW_H

#include "show.h"

/// Shows the exhibits until the window is closed.
CORRAL_MUST_USE corral_status window_run(exhibit *exhibits, uint32_t count, bool human);

/// Shows what comes from a socket of live_connect() until the window is closed.
CORRAL_MUST_USE corral_status live_window_run(int socket, const char *title);

#endif
