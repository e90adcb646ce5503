// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Policies for other programs.
#ifndef CORRAL_POLICY_EXPORT_H
#define CORRAL_POLICY_EXPORT_H

#include "corral/policy/policy.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Writes the policy as an ONNX model (operation set 17), normalisation included, to act without drawing.
///
///     observation  float [batch, observation_size]: encoded, that is one-hot, divided by 255 and so on
///                  (space.h), but not normalised
///     action       int64 [batch] of one choice, as the environment counts; else
///     choices      int64 [batch, choices], numbers float [batch, numbers]: what the action is made of,
///     numbers
///                  squashed, scaled and within their bounds
///     logits, mean, log_std, value; of a Q-network q_values: what acting computes on the way. log_std is
///     left
///                  out where it depends on features (gSDE): acting without drawing does not need it
CORRAL_MUST_USE corral_status corral_policy_export_onnx(const corral_policy *policy, const char *path);

#ifdef __cplusplus
}
#endif
#endif
