// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Acrobot's picture, drawn from columns 0 and 1: the two angles.
#ifndef CORRAL_ENVS_CLASSIC_ACROBOT_H
#define CORRAL_ENVS_CLASSIC_ACROBOT_H

#include "corral/env.h"

extern const corral_env_render corral_acrobot_render;

#endif
