// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A libcuda.so.1 with as many devices as CORRAL_FAKE_GPUS says: what counting GPUs is tested with. "crash"
/// is a driver that does.
#include <stdlib.h>
#include <string.h>

int cuInit(unsigned flags);
int cuDeviceGetCount(int *out_count);

int cuInit(unsigned flags)
{
    const char *gpus = getenv("CORRAL_FAKE_GPUS");
    if (gpus != NULL && strcmp(gpus, "crash") == 0) abort();
    return flags == 0 ? 0 : 1;
}

int cuDeviceGetCount(int *out_count)
{
    const char *gpus = getenv("CORRAL_FAKE_GPUS");
    *out_count = gpus != NULL ? atoi(gpus) : 0;
    return 0;
}
