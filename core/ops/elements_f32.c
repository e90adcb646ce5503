// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The functions of elements.h in f32.

#include "corral/base/rng.h"

#include "ops/element_kernels.h"

#include "ops/real_f32.h"

#include "ops/real_functions.h"
