// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The loops of shapes.h in f32.

#include "ops/shape_kernels.h"

#include "ops/real_f32.h"

#include "ops/real_moves.h"

#include "ops/real_reductions.h"
