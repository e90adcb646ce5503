// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A GPU to learn on. Nothing here links CUDA: libcorral_cuda.so is opened when a device is asked for, and so
/// is the driver.
#ifndef CORRAL_CORE_DEVICE_H
#define CORRAL_CORE_DEVICE_H

#include "corral/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CORRAL_DEVICE_NAME = 300 };

/// What there is. Looking loads the driver where there is one, but nothing of CUDA's where there is none.
typedef struct corral_device_found {
    uint32_t count;                // devices that can be used
    char library[512];             // the plug-in's path; "" where there is none
    char name[CORRAL_DEVICE_NAME]; // of the first device: "NVIDIA H200, 139 GiB"
    char reason[640];              // why there is none; "" where there is one
} corral_device_found;

/// The plug-in is the file that CORRAL_CUDA_LIBRARY names, or libcorral_cuda.so beside the program, or in the
/// lib folder beside the program's. [any thread]
void corral_device_find(corral_device_found *out_found);

/// The first device of CUDA_VISIBLE_DEVICES. One thread at a time uses it, the one that opened it.
typedef struct corral_device corral_device;
CORRAL_MUST_USE corral_status corral_device_open(corral_device **out_device);
void corral_device_close(corral_device *device);
/// "NVIDIA H200, 139 GiB", while it is open.
const char *corral_device_name(const corral_device *device);

/// Tells the device that it may read this memory of the host by itself, which makes copies faster and lets
/// them run beside other work. False where it cannot: copies work all the same.
bool corral_device_pin(corral_device *device, void *host, size_t bytes, bool read_only);
void corral_device_unpin(corral_device *device, void *host);

#ifdef __cplusplus
}
#endif
#endif
