// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// For agents and whoever allocates: how much memory this process can still be given without anybody being
/// killed for it.
#ifndef CORRAL_ACTORS_HOST_MEMORY_H
#define CORRAL_ACTORS_HOST_MEMORY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Bytes: the smaller of what the host has available and what the memory control groups of this process
/// leave. UINT64_MAX where nothing can be read.
uint64_t corral_host_memory_available(void);

/// The same with other files: /proc/meminfo, /proc/self/cgroup and /sys/fs/cgroup.
uint64_t corral_host_memory_from(const char *meminfo, const char *membership, const char *mount);

#ifdef __cplusplus
}
#endif
#endif
