// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Private to core/base: the two halves of corral_available_cores() that a test can aim at other files.
#ifndef CORRAL_BASE_CORES_H
#define CORRAL_BASE_CORES_H

/// The CPU quota of the control group that `membership` (/proc/self/cgroup) names, in whole cores rounded
/// up, the tightest one on the way to the root; 0 when there is none. `mount` is /sys/fs/cgroup.
unsigned corral_cores_from_quota(const char *membership, const char *mount);

#endif
