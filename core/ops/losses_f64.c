// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The losses in f64.

#include "ops/loss_kernels.h"

#include "ops/real_f64.h"

#include "ops/real_loss_table.h"
