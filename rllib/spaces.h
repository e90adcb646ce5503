// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// An environment's spaces as a policy takes them: how its leaves lie in one row, and what the parts of that
/// row are.
#ifndef CORRAL_RLLIB_SPACES_H
#define CORRAL_RLLIB_SPACES_H

#include "corral/env.h"
#include "corral/policy/policy.h"

enum { SPACES_LEAVES_MAX = 64 };

typedef struct environment_spaces {
    uint32_t observation_leaves;
    uint32_t observation_offset[SPACES_LEAVES_MAX]; // bytes, of each leaf in a row
    uint32_t observation_bytes;                     // of a row
    uint32_t observation_size;                      // floats that a network sees
    corral_policy_space observation;
    uint32_t action_leaves;
    uint32_t action_offset[SPACES_LEAVES_MAX];
    uint32_t action_bytes;
    uint32_t action_count; // of one plain choice, else inputs of the distribution
    int64_t action_start;
    corral_policy_space action;
    uint32_t mask_bytes; // of the masks that the environment has; 0: none
} environment_spaces;

/// CORRAL_ERROR_UNSUPPORTED names the space that no policy takes.
CORRAL_MUST_USE corral_status environment_spaces_init(environment_spaces *spaces,
                                                      const corral_env_type *type);

/// What a policy's configuration says of the spaces. `masked`: it follows the environment's masks, if any.
void environment_spaces_describe(const environment_spaces *spaces, bool masked, corral_policy_config *policy);

/// Whether a policy was made for these spaces; CORRAL_ERROR_INVALID says what it takes instead.
CORRAL_MUST_USE corral_status environment_spaces_fit(const environment_spaces *spaces, const char *id,
                                                     const corral_policy_config *policy);

/// Rows of observations at `base`, `stride` bytes apart, as the environments' host writes them.
void environment_observation_rows(const environment_spaces *spaces, void *base, size_t stride,
                                  corral_env_rows out_rows[SPACES_LEAVES_MAX]);
/// The same for actions.
void environment_action_rows(const environment_spaces *spaces, void *base, size_t stride,
                             corral_env_rows out_rows[SPACES_LEAVES_MAX]);

#endif
