// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A wrapper is a type around a type: it has the inner one's parameters and abilities, and changes what
/// passes between it and the host. Its rules are those of the inner type with a stage in front: actions go
/// through the stage inwards, observations and rewards outwards, all rows of a batch at once. A stack is
/// types around types.
///
/// What a stage remembers of an environment between steps is a fixed number of bytes, and saved with the
/// inner state, so that a wrapped environment is as exactly resumed as the inner one.
#ifndef CORRAL_ENVS_WRAP_H
#define CORRAL_ENVS_WRAP_H

#include "../rules.h"

#include "corral/base/status.h"

#include <stdbool.h>

enum { WRAP_ARGUMENTS = 4, WRAP_LEAVES = 64 };

typedef struct wrapper wrapper;
typedef struct wrapped wrapped;

/// What one kind of wrapper does; a member that is NULL leaves things as they are.
typedef struct wrapper_kind {
    const char *name;
    const char *arguments; // for help: "[LOW:HIGH]"
    const char *help;      // one line
    uint32_t least, most;  // how many arguments
    /// Checks arguments and spaces, and says what the spaces become: see wrapper.
    corral_status (*plan)(wrapper *w);
    /// One row of one changed action leaf, on its way in.
    void (*act)(const wrapper *w, uint32_t leaf, const void *outer, void *inner);
    /// One row of observations, on its way out. `first`: of a new episode.
    void (*observe)(const wrapper *w, void *memory, bool first, const void *const *inner, void *const *outer);
    double (*reward)(const wrapper *w, double reward);
    /// Instead of a step of the inner batch; then each environment has an inner batch of its own.
    int32_t (*step)(wrapped *batch, const corral_env_step *io);
} wrapper_kind;

struct wrapper {
    corral_env_type type; // what others see; its context is this
    const wrapper_kind *kind;
    const corral_env_type *inner;
    char id[320];
    double argument[WRAP_ARGUMENTS];
    uint32_t argument_count;
    bool zero; // an argument "zero" was given
    // What a plan fills in; before it these are the inner type's.
    corral_space observation[WRAP_LEAVES], action[WRAP_LEAVES];
    bool changed[WRAP_LEAVES]; // observation leaves, or action leaves, that the kind deals with
    size_t memory;             // bytes per environment
    // The inner abilities with a way through the stage.
    const corral_env_render *inner_render;
    const corral_env_action_mask *inner_mask;
    const corral_env_info *inner_info;
    const corral_env_keys *inner_keys; // NULL also where the actions are others
    const corral_env_state *inner_state;
    corral_env_render render;
    corral_env_action_mask mask;
    corral_env_info info;
    corral_env_keys keys;
    corral_env_state state;
    wrapper *next; // all that were made
};

/// A batch of a wrapped type.
struct wrapped {
    const wrapper *w;
    uint32_t count;
    corral_rules *inner;          // [inner_count]
    uint32_t inner_count;         // 1, or `count` where the kind steps environments one by one
    char *memory;                 // [count, w->memory]
    corral_env_rows *action;      // [action leaves] what the inner batch is given, where the kind acts
    corral_env_rows *observation; // [observation leaves] what it writes, where the kind observes
    double *plain_reward;         // [count] what the innermost rules said, where a stage changes rewards
};

/// What episodes are told by: the rewards of the rules themselves, whatever stages make of them.
#define CORRAL_ENV_PLAIN_REWARD "corral.plain-reward"
typedef struct corral_env_plain_reward {
    uint32_t size;
    const double *(*reward)(const void *batch); // [count] of the last step
} corral_env_plain_reward;

/// All kinds, ended by a NULL name.
extern const wrapper_kind *const corral_wrapper_kinds[];
extern const wrapper_kind corral_wrap_time_limit, corral_wrap_frame_skip, corral_wrap_max_and_skip,
    corral_wrap_frame_stack, corral_wrap_grey, corral_wrap_resize, corral_wrap_flatten, corral_wrap_one_hot,
    corral_wrap_time_aware, corral_wrap_time_fraction, corral_wrap_clip_action, corral_wrap_rescale_action,
    corral_wrap_clip_reward, corral_wrap_scale_reward;

/// Fills in the type of a wrapper whose kind and arguments are there.
CORRAL_MUST_USE corral_status corral_wrap_finish(wrapper *w);

/// Fails with "CartPole-v1+grey: ...".
#define WRAP_FAIL(w, ...) corral_fail_within(corral_fail(CORRAL_ERROR_INVALID, __VA_ARGS__), "%s", (w)->id)

#endif
