// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What the files of this folder share.
#ifndef CORRAL_CORE_DEVICE_DEVICE_H
#define CORRAL_CORE_DEVICE_DEVICE_H

#include "corral/core/device.h"

#include "device/table.h"

struct corral_device {
    const corral_device_table *table;
    char name[CORRAL_DEVICE_NAME];
};

/// CORRAL_ERROR_NO_MEMORY names what it was for; NULL out for no bytes is fine.
corral_status corral_device_allocate(const corral_device *device, size_t bytes, const char *what,
                                     void **out_memory);
/// Waits for the stream; a failure of the device is CORRAL_ERROR_LOST with its sentence.
corral_status corral_device_wait(const corral_device *device, corral_stream *stream);

#endif
