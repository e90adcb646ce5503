// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What memory is left, from files as the kernel writes them.
#include "test.h"

#include "corral/actors/host_memory.h"

#include "corral/base/file.h"

#include <unistd.h>

static char folder[] = "/tmp/corral-host-memory-XXXXXX";

static char *path_of(const char *name)
{
    return corral_format("%s/%s", folder, name);
}

static void put(const char *name, const char *text)
{
    char *path = path_of(name);
    char *parent = strdup(path);
    *strrchr(parent, '/') = '\0';
    TEST_OK(corral_folder_create(parent));
    TEST_OK(corral_file_write(path, text, strlen(text)));
    free(parent);
    free(path);
}

static uint64_t available(void)
{
    char *meminfo = path_of("meminfo"), *membership = path_of("cgroup"), *mount = path_of("mount");
    const uint64_t bytes = corral_host_memory_from(meminfo, membership, mount);
    free(meminfo);
    free(membership);
    free(mount);
    return bytes;
}

static void the_host_is_asked(void)
{
    CU_ASSERT_EQUAL(available(), UINT64_MAX);
    put("meminfo", "MemTotal:       24684096 kB\nMemFree: 7 kB\nMemAvailable:   1000 kB\n");
    CU_ASSERT_EQUAL(available(), 1000 * 1024);
}

static void groups_of_version_2_limit_it(void)
{
    put("cgroup", "0::/outer/inner\n");
    put("mount/outer/inner/memory.max", "max\n");
    put("mount/outer/inner/memory.current", "5\n");
    CU_ASSERT_EQUAL(available(), 1000 * 1024);
    put("mount/outer/memory.max", "500000\n");
    put("mount/outer/memory.current", "300000\n");
    CU_ASSERT_EQUAL(available(), 200000);
    put("mount/outer/memory.stat", "anon 1\ninactive_file 1000\nactive_file 500\nshmem 7\n");
    CU_ASSERT_EQUAL(available(), 201500);
    put("mount/outer/memory.current", "600000\n");
    CU_ASSERT_EQUAL(available(), 0);
}

static void groups_of_version_1_limit_it(void)
{
    put("cgroup", "9:name=systemd:/\n4:memory:/docker/1f\n0::/\n");
    put("mount/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("mount/memory/memory.usage_in_bytes", "4096\n");
    CU_ASSERT_EQUAL(available(), 1000 * 1024);
    put("mount/memory/memory.limit_in_bytes", "100000\n");
    put("mount/memory/memory.stat", "inactive_file 9\ntotal_inactive_file 96\n");
    CU_ASSERT_EQUAL(available(), 96000);
}

static void this_host_has_some(void)
{
    CU_ASSERT_TRUE(corral_host_memory_available() > 1 << 20);
}

int main(void)
{
    if (mkdtemp(folder) == NULL) return 2;
    const int failed =
        test_run("host memory", (test_case[]){{"the host is asked", the_host_is_asked},
                                              {"groups of version 2 limit it", groups_of_version_2_limit_it},
                                              {"groups of version 1 limit it", groups_of_version_1_limit_it},
                                              {"this host has some", this_host_has_some},
                                              {NULL, NULL}});
    return corral_folder_remove(folder) == CORRAL_OK ? failed : 2;
}
