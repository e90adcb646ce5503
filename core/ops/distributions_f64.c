// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The distributions in f64.

#include "ops/distribution_kernels.h"

#include "ops/real_f64.h"

#include "ops/real_distribution_table.h"
