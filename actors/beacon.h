// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Private to actors: reading a beacon that another process may be writing, or has died while writing.
#ifndef CORRAL_ACTORS_BEACON_H
#define CORRAL_ACTORS_BEACON_H

#include "corral/actors/actor.h"

/// The beacon's text with its words put in, cut to `size` and always terminated. What is not printable
/// becomes '?': the text ends in logs, and nobody vouches for what a crashed process left there.
void corral_beacon_format(const corral_beacon *beacon, char *out_text, size_t size);

#endif
