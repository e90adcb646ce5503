// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// An environment as the algorithms of this folder can use it: found by name, parameters read, spaces
/// checked.
#ifndef CORRAL_RLLIB_ENVIRONMENT_H
#define CORRAL_RLLIB_ENVIRONMENT_H

#include "spaces.h"

#include "corral/base/config.h"

typedef struct environment_setup {
    const corral_env_type *type;
    double values[64]; // [type->param_count]
    environment_spaces spaces;
} environment_setup;

/// The sentence names the key (env, env_params.NAME) or the space that cannot be used.
CORRAL_MUST_USE corral_status environment_setup_init(environment_setup *setup, const char *name,
                                                     const corral_pairs *params);

#endif
