// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Allocating a memfd takes pages until there are none left, and then the kernel kills somebody, most likely
/// us. So the question is asked before. The host answers in /proc/meminfo (MemAvailable counts what can be
/// reclaimed). A control group has a limit and a usage; the usage counts file cache, which would be
/// reclaimed, so that is added back. A group's parents limit it too, so each of them is asked. Inside a
/// container the path that the kernel reports may not exist below the mount: the mount's own root, asked
/// last, is then the container's group.
#include "corral/actors/host_memory.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_SIZE = 4096 };

typedef struct group_files {
    const char *limit, *usage; // one number each
    const char *cache[2];      // keys in memory.stat
} group_files;

static const group_files version_2 = {"memory.max", "memory.current", {"inactive_file", "active_file"}};
static const group_files version_1 = {
    "memory.limit_in_bytes", "memory.usage_in_bytes", {"total_inactive_file", "total_active_file"}};

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static FILE *open_in(const char *folder, const char *name)
{
    char path[PATH_SIZE + 64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return fopen(path, "re");
}

// "max" is not a number and means no limit, like a file that is not there.
static bool read_number(const char *folder, const char *name, uint64_t *out_number)
{
    FILE *file = open_in(folder, name);
    if (file == NULL) return false;
    unsigned long long number = 0;
    const bool found = fscanf(file, "%llu", &number) == 1;
    fclose(file);
    *out_number = number;
    return found;
}

static uint64_t reclaimable(const char *folder, const group_files *names)
{
    FILE *file = open_in(folder, "memory.stat");
    if (file == NULL) return 0;
    uint64_t total = 0;
    char key[64];
    unsigned long long value = 0;
    while (fscanf(file, "%63s %llu", key, &value) == 2)
        if (strcmp(key, names->cache[0]) == 0 || strcmp(key, names->cache[1]) == 0) total += value;
    fclose(file);
    return total;
}

static uint64_t left_in_group(const char *folder, const group_files *names)
{
    uint64_t limit = 0, usage = 0;
    if (!read_number(folder, names->limit, &limit) || !read_number(folder, names->usage, &usage))
        return UINT64_MAX;
    const uint64_t cache = reclaimable(folder, names);
    const uint64_t held = usage > cache ? usage - cache : 0;
    return limit > held ? limit - held : 0;
}

static uint64_t tightest_on_the_way_up(const char *mount, const char *group, const group_files *names)
{
    char folder[PATH_SIZE];
    const int length = snprintf(folder, sizeof folder, "%s%s", mount, group);
    if (length < 0 || (size_t)length >= sizeof folder) return left_in_group(mount, names);

    uint64_t left = UINT64_MAX;
    for (;;) {
        left = smaller(left, left_in_group(folder, names));
        if (strlen(folder) <= strlen(mount)) return left;
        *strrchr(folder, '/') = '\0';
    }
}

// One line of /proc/self/cgroup: "0::/user.slice" (version 2) or "4:memory:/docker/1f" (version 1, where
// memory always has a hierarchy of its own name).
static uint64_t left_by_line(char *line, const char *mount)
{
    line[strcspn(line, "\n")] = '\0';
    char *controllers = strchr(line, ':');
    char *group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
    if (group == NULL || group[1] != '/') return UINT64_MAX;
    *group++ = '\0';
    controllers++;
    if (*controllers == '\0') return tightest_on_the_way_up(mount, group, &version_2);
    if (strcmp(controllers, "memory") != 0) return UINT64_MAX;

    char hierarchy[PATH_SIZE];
    snprintf(hierarchy, sizeof hierarchy, "%s/memory", mount);
    return tightest_on_the_way_up(hierarchy, group, &version_1);
}

static uint64_t left_by_groups(const char *membership, const char *mount)
{
    FILE *file = fopen(membership, "re");
    if (file == NULL) return UINT64_MAX;
    uint64_t left = UINT64_MAX;
    char line[PATH_SIZE];
    while (fgets(line, sizeof line, file) != NULL)
        left = smaller(left, left_by_line(line, mount));
    fclose(file);
    return left;
}

static uint64_t left_on_host(const char *meminfo)
{
    FILE *file = fopen(meminfo, "re");
    if (file == NULL) return UINT64_MAX;
    uint64_t left = UINT64_MAX;
    char line[256];
    unsigned long long kib = 0;
    while (fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1) left = (uint64_t)kib * 1024;
    fclose(file);
    return left;
}

uint64_t corral_host_memory_from(const char *meminfo, const char *membership, const char *mount)
{
    return smaller(left_on_host(meminfo), left_by_groups(membership, mount));
}

uint64_t corral_host_memory_available(void)
{
    return corral_host_memory_from("/proc/meminfo", "/proc/self/cgroup", "/sys/fs/cgroup");
}
