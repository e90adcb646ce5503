// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "CUnit.h"
