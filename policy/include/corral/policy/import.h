// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Policies that other libraries have trained.
#ifndef CORRAL_POLICY_IMPORT_H
#define CORRAL_POLICY_IMPORT_H

#include "corral/policy/policy.h"

#ifdef __cplusplus
extern "C" {
#endif

/// An agent of Stable-Baselines3 as a safetensors file of its state dictionary: the tensors under PyTorch's
/// names, with "activation" (tanh, relu) and "obs_norm" (JSON: epsilon, clip_obs) as metadata where they
/// differ from the library's defaults. Actor-critics (PPO, A2C), also with numbers as actions, and Q-networks
/// (DQN), of linear layers over an observation that the network sees as it is.
/// `spaces` is a configuration whose spaces are filled in, those of the environment to be played; NULL: a
/// flat observation and one choice. CORRAL_ERROR_UNSUPPORTED names the tensor that is part of another kind of
/// network, CORRAL_ERROR_INVALID says what does not fit the spaces.
CORRAL_MUST_USE corral_status corral_policy_import_sb3(const char *path, const corral_policy_config *spaces,
                                                       corral_policy **out_policy);
/// The same from memory. `name` is what messages call it.
CORRAL_MUST_USE corral_status corral_policy_import_sb3_bytes(const char *name, const void *bytes, size_t size,
                                                             const corral_policy_config *spaces,
                                                             corral_policy **out_policy);

#ifdef __cplusplus
}
#endif
#endif
