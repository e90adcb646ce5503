// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// All kernels as one translation unit: nvcc's time is mostly that of CUDA's headers, which are read once
// here.

#include "elements.cu"
#include "losses.cu"
#include "rows.cu"
#include "scans.cu"
#include "step.cu"
