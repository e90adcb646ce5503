// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// How many cores this process may use. The affinity mask is exact; a container's CPU limit is a quota of
/// time per period, which control groups of version 2 keep in one file (`cpu.max`: "150000 100000", or
/// "max 100000") and those of version 1 in two. A group's parents limit it too, so each of them is asked.
/// Inside a container the path that the kernel reports may not exist below the mount: the mount's own
/// root, which is asked last, is then the container's group.
#include "cores.h"

#include "corral/base/threads.h"

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_SIZE = 4096 };

static bool read_line(const char *folder, const char *name, char *line, int size)
{
    char path[PATH_SIZE + 64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "re");
    if (file == NULL) return false;
    const bool found = fgets(line, size, file) != NULL;
    fclose(file);
    return found;
}

static unsigned whole_cores(long long quota, long long period)
{
    if (quota <= 0 || period <= 0) return 0;
    const long long cores = quota / period + (quota % period != 0);
    return cores > UINT16_MAX ? UINT16_MAX : (unsigned)cores;
}

static unsigned quota_of_version_2(const char *folder)
{
    char line[64];
    long long quota = 0, period = 0;
    if (!read_line(folder, "cpu.max", line, sizeof line)) return 0;
    if (sscanf(line, "%lld %lld", &quota, &period) != 2) return 0; // "max ..."
    return whole_cores(quota, period);
}

static unsigned quota_of_version_1(const char *folder)
{
    char line[64];
    if (!read_line(folder, "cpu.cfs_quota_us", line, sizeof line)) return 0;
    const long long quota = strtoll(line, NULL, 10); // -1: no limit
    if (!read_line(folder, "cpu.cfs_period_us", line, sizeof line)) return 0;
    return whole_cores(quota, strtoll(line, NULL, 10));
}

static unsigned smaller_limit(unsigned a, unsigned b)
{
    if (a == 0 || b == 0) return a + b;
    return a < b ? a : b;
}

static unsigned tightest_on_the_way_up(const char *mount, const char *group,
                                       unsigned (*quota_of)(const char *folder))
{
    char folder[PATH_SIZE];
    const int length = snprintf(folder, sizeof folder, "%s%s", mount, group);
    if (length < 0 || (size_t)length >= sizeof folder) return quota_of(mount);

    unsigned cores = 0;
    for (;;) {
        cores = smaller_limit(cores, quota_of(folder));
        if (strlen(folder) <= strlen(mount)) return cores;
        *strrchr(folder, '/') = '\0';
    }
}

static bool lists_cpu(char *controllers)
{
    char *rest = NULL;
    for (char *name = strtok_r(controllers, ",", &rest); name != NULL; name = strtok_r(NULL, ",", &rest))
        if (strcmp(name, "cpu") == 0) return true;
    return false;
}

// One line of /proc/self/cgroup: "0::/user.slice" (version 2) or "4:cpu,cpuacct:/docker/1f" (version 1).
static unsigned quota_of_line(char *line, const char *mount)
{
    line[strcspn(line, "\n")] = '\0';
    char *controllers = strchr(line, ':');
    char *group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
    if (group == NULL) return 0;
    *group++ = '\0';
    controllers++;
    if (*group != '/') return 0;
    if (*controllers == '\0') return tightest_on_the_way_up(mount, group, quota_of_version_2);

    char hierarchy[PATH_SIZE];
    const int length = snprintf(hierarchy, sizeof hierarchy, "%s/%s", mount, controllers);
    if (length < 0 || (size_t)length >= sizeof hierarchy || !lists_cpu(controllers)) return 0;
    if (access(hierarchy, F_OK) != 0) snprintf(hierarchy, sizeof hierarchy, "%s/cpu", mount);
    return tightest_on_the_way_up(hierarchy, group, quota_of_version_1);
}

unsigned corral_cores_from_quota(const char *membership, const char *mount)
{
    FILE *file = fopen(membership, "re");
    if (file == NULL) return 0;
    unsigned cores = 0;
    char line[PATH_SIZE];
    while (fgets(line, sizeof line, file) != NULL)
        cores = smaller_limit(cores, quota_of_line(line, mount));
    fclose(file);
    return cores;
}

static unsigned cores_from_affinity(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0) return (unsigned)CPU_COUNT(&set);
    const long online = sysconf(_SC_NPROCESSORS_ONLN); // more cores than the set can name
    return online > 0 ? (unsigned)online : 1;
}

unsigned corral_available_cores(void)
{
    const unsigned cores =
        smaller_limit(cores_from_affinity(), corral_cores_from_quota("/proc/self/cgroup", "/sys/fs/cgroup"));
    return cores > 0 ? cores : 1;
}
