// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// GPUs are counted as the driver tells, and nothing of the driver stays. Runs with a driver of its own:
/// fake_driver.c.
#include "corral/base/threads.h"
#include "test.h"

static unsigned gpus_with(const char *fake)
{
    setenv("CORRAL_FAKE_GPUS", fake, 1);
    return corral_available_gpus();
}

static void as_the_driver_says(void)
{
    CU_ASSERT_EQUAL(gpus_with("3"), 3);
    CU_ASSERT_EQUAL(gpus_with("0"), 0);
    CU_ASSERT_EQUAL(gpus_with("-1"), 0);
}

static void a_driver_that_crashes(void)
{
    CU_ASSERT_EQUAL(gpus_with("crash"), 0);
}

static void nothing_stays(void)
{
    char line[4096];
    int mapped = 0;
    CU_ASSERT_EQUAL(gpus_with("2"), 2);
    FILE *maps = fopen("/proc/self/maps", "re");
    CU_ASSERT_PTR_NOT_NULL_FATAL(maps);
    while (fgets(line, sizeof line, maps) != NULL)
        mapped += strstr(line, "libcuda") != NULL;
    fclose(maps);
    CU_ASSERT_EQUAL(mapped, 0);
}

int main(void)
{
    return test_run("gpus", (test_case[]){{"as the driver says", as_the_driver_says},
                                          {"a driver that crashes", a_driver_that_crashes},
                                          {"nothing stays", nothing_stays},
                                          {NULL, NULL}});
}
