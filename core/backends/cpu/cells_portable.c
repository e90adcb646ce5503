// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The cells in plain C.

#define CELL_TABLE corral_cell_table_portable

#include "backends/cpu/cells.h"
