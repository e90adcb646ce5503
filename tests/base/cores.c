// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The CPU quota, read from control groups that the test makes up.
#include "cores.h"

#include "temporary.h"

static void put(const char *path, const char *text)
{
    char *folder = strdup(path);
    if (folder == NULL) abort();
    *strrchr(folder, '/') = '\0';
    TEST_OK(corral_folder_create(folder));
    free(folder);
    TEST_OK(corral_file_write(path, text, strlen(text)));
}

static unsigned cores(void)
{
    return corral_cores_from_quota(temporary_path("membership"), temporary_path("mount"));
}

static void without_groups_there_is_no_limit(void)
{
    temporary_begin();
    CU_ASSERT_EQUAL(cores(), 0);
    put(temporary_path("membership"), "0::/user.slice\nnonsense\n");
    CU_ASSERT_EQUAL(cores(), 0);
    temporary_end();
}

static void version_2_asks_the_parents_too(void)
{
    temporary_begin();
    put(temporary_path("membership"), "0::/pods/one\n");
    put(temporary_path("mount/pods/one/cpu.max"), "max 100000\n");
    CU_ASSERT_EQUAL(cores(), 0);
    put(temporary_path("mount/pods/cpu.max"), "250000 100000\n");
    CU_ASSERT_EQUAL(cores(), 3); // two and a half
    put(temporary_path("mount/pods/one/cpu.max"), "20000 100000\n");
    CU_ASSERT_EQUAL(cores(), 1);
    temporary_end();
}

static void a_container_sees_its_group_as_the_root(void)
{
    temporary_begin();
    put(temporary_path("membership"), "0::/not/visible/here\n");
    put(temporary_path("mount/cpu.max"), "400000 100000\n");
    CU_ASSERT_EQUAL(cores(), 4);
    temporary_end();
}

static void version_1_has_two_files(void)
{
    temporary_begin();
    put(temporary_path("membership"), "9:name=systemd:/\n4:cpu,cpuacct:/docker/1f\n3:cpuset:/docker/1f\n");
    put(temporary_path("mount/cpu,cpuacct/docker/1f/cpu.cfs_quota_us"), "-1\n");
    put(temporary_path("mount/cpu,cpuacct/docker/1f/cpu.cfs_period_us"), "100000\n");
    CU_ASSERT_EQUAL(cores(), 0);
    put(temporary_path("mount/cpu,cpuacct/docker/1f/cpu.cfs_quota_us"), "200000\n");
    CU_ASSERT_EQUAL(cores(), 2);
    temporary_end();
}

static void version_1_may_be_mounted_as_cpu(void)
{
    temporary_begin();
    put(temporary_path("membership"), "4:cpuacct,cpu:/a\n");
    put(temporary_path("mount/cpu/a/cpu.cfs_quota_us"), "150000\n");
    put(temporary_path("mount/cpu/a/cpu.cfs_period_us"), "50000\n");
    CU_ASSERT_EQUAL(cores(), 3);
    temporary_end();
}

int main(void)
{
    return test_run(
        "cores",
        (test_case[]){{"without groups there is no limit", without_groups_there_is_no_limit},
                      {"version 2 asks the parents too", version_2_asks_the_parents_too},
                      {"a container sees its group as the root", a_container_sees_its_group_as_the_root},
                      {"version 1 has two files", version_1_has_two_files},
                      {"version 1 may be mounted as cpu", version_1_may_be_mounted_as_cpu},
                      {NULL, NULL}});
}
