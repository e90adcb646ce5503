// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Which environments there are: the built-in ones, and those of loaded libraries.
#ifndef CORRAL_ENVS_REGISTRY_H
#define CORRAL_ENVS_REGISTRY_H

#include "corral/base/status.h"
#include "corral/env.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Finds an environment by name:
///   "CartPole-v1"                    built in
///   "./walk.so:Walk-v0"              of a library, loaded on first use and kept
///   "./walk.so"                      the same, where the library has just one
///   "mujoco:hopper.yaml"             of a model of MuJoCo (envs/mujoco/README.md)
///   "gym:LunarLander-v3"             of Gymnasium, played by the person's own Python (envs/gym/README.md)
///   "CartPole-v1+frame_stack=4"      any of these in wrappers, innermost first (envs/wrap/wrappers.md)
/// Everything in the library's descriptor is checked before it is used: version, sizes, pointers, ids,
/// spaces, parameters. Messages name the file, what is wrong and what to do; an unknown id gets the nearest
/// name. The result lives as long as the program. [any thread]
CORRAL_MUST_USE corral_status corral_env_find(const char *name, const corral_env_type **out_type);

/// Calls `each` with every environment that a name refers to: one, or all of a library where no id is given.
/// [any thread]
CORRAL_MUST_USE corral_status corral_env_find_all(const char *name,
                                                  void (*each)(void *context, const corral_env_type *type),
                                                  void *context);

/// Calls `each` with the ids that come in libraries of their own, and the package that their library needs.
void corral_env_shipped(void (*each)(void *context, const char *id, const char *needs), void *context);

/// Puts one wrapper around a type, written as in names: "frame_stack=4". The result lives as long as the
/// program; the same request gives the same one. [any thread]
CORRAL_MUST_USE corral_status corral_env_wrap(const corral_env_type *type, const char *wrapper,
                                              const corral_env_type **out_type);

/// Calls `each` with how every wrapper is written, "frame_stack=N[:zero]", and what it does.
void corral_env_wrappers(void (*each)(void *context, const char *usage, const char *help), void *context);

/// The built-in types, in alphabetical order. Static.
size_t corral_env_builtin_count(void);
const corral_env_type *corral_env_builtin_at(size_t index);

/// The file of a name that refers to a library ("./walk.so:Walk-v0" gives "./walk.so"), absolute, or NULL
/// for another one. The caller frees it.
char *corral_env_library_path(const char *name);

/// The name that other processes, in other folders, find `type` by, which was found by `name`: with absolute
/// paths. The caller frees it; NULL without memory.
char *corral_env_portable_name(const char *name, const corral_env_type *type);

/// Checks a descriptor as corral_env_find() does. `name` is what messages call it.
CORRAL_MUST_USE corral_status corral_env_check_descriptor(const char *name,
                                                          const corral_env_plugin_descriptor *descriptor);

/// What a type offers under a name of corral/env.h, or NULL.
const void *corral_env_extension(const corral_env_type *type, const char *name);

/// Elements and bytes of one row of a leaf.
size_t corral_space_count(const corral_space *space);
size_t corral_space_bytes(const corral_space *space);
/// "Box(4) f32 [-4.8, 4.8]", "Discrete(2)". The caller frees it; NULL without memory.
char *corral_space_describe(const corral_space *space);

/// What every environment gets as `host`. Static.
const corral_env_host *corral_env_host_default(void);
/// The sentence that the last failed call of this thread left through host->error(), "" if none; cleared by
/// reading.
const char *corral_env_host_take_error(void);

#ifdef __cplusplus
}
#endif
#endif
