// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The parts of the table that the .cu files fill.
#ifndef CORRAL_CUDA_KERNELS_H
#define CORRAL_CUDA_KERNELS_H

#ifdef __cplusplus
#include "kernel.h"
extern "C" {
#else
#include "device/table.h"
#endif

void corral_cuda_fill_elements(corral_device_table *table);
void corral_cuda_fill_rows(corral_device_table *table);
void corral_cuda_fill_scans(corral_device_table *table);
void corral_cuda_fill_losses(corral_device_table *table);
void corral_cuda_fill_step(corral_device_table *table);

#ifdef __cplusplus
}
#endif
#endif
