// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Environment libraries: opened once, checked, and kept until the program ends.
#ifndef CORRAL_ENVS_PLUGIN_H
#define CORRAL_ENVS_PLUGIN_H

#include "corral/base/status.h"
#include "corral/env.h"

/// Opens and checks the library at `path`, or finds it among those already open. The descriptor stays. [any
/// thread]
CORRAL_MUST_USE corral_status corral_plugin_open(const char *path,
                                                 const corral_env_plugin_descriptor **out_descriptor);

/// The type that the library makes of `what`, made and checked once. CORRAL_ERROR_NOT_FOUND where it makes
/// none at all. [any thread]
CORRAL_MUST_USE corral_status corral_plugin_make(const corral_env_plugin_descriptor *descriptor,
                                                 const char *what, const corral_env_type **out_type);

/// Checks a type that was made at run time, in check.c.
CORRAL_MUST_USE corral_status corral_env_check_made(const corral_env_type *type);

/// Type `index` of a checked descriptor. A library made with a newer header has longer elements, so the array
/// is walked by the size that its elements state.
const corral_env_type *corral_plugin_type(const corral_env_plugin_descriptor *descriptor, size_t index);

#endif
