// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The cells for x86-64-v3.

#define CELL_TABLE corral_cell_table_v3

#include "backends/cpu/cells.h"
