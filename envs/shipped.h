// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Environments that come with Corral in libraries of their own, because they need what not everybody has.
/// They are asked for by id, like built-in ones.
#ifndef CORRAL_ENVS_SHIPPED_H
#define CORRAL_ENVS_SHIPPED_H

#include "corral/base/status.h"

typedef struct corral_shipped {
    const char *id;      // or a scheme, "mujoco:"
    const char *library; // "corral_box2d.so"
    const char *needs;   // what it has to be built with
} corral_shipped;

extern const corral_shipped corral_shipped_environments[]; // ends with a NULL id

/// The entry of a name, or NULL.
const corral_shipped *corral_shipped_find(const char *name);

/// The file of its library, which the caller frees; a sentence that says what to install where there is none.
CORRAL_MUST_USE corral_status corral_shipped_library(const corral_shipped *shipped, char **out_path);

#endif
