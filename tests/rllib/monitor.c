// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Monitor files are read as Stable-Baselines3 writes them, and a run's episodes are written as it reads
/// them.
#include "run/monitor.h"

#include "corral/base/file.h"

#include "test.h"

static char folder[] = "/tmp/corral-monitor-XXXXXX";

static char *put(const char *name, const char *text)
{
    char *path = corral_format("%s/%s", folder, name);
    TEST_OK(corral_file_write(path, text, strlen(text)));
    return path;
}

/// Two environments whose files began two seconds apart; the second file's last line is still being written.
static void files_are_merged_in_time(void)
{
    CU_ASSERT_FALSE(monitor_is_at(folder));
    char *first = put("0.monitor.csv", "#{\"t_start\": 1000.5, \"env_id\": \"CartPole-v1\"}\nr,l,t\n"
                                       "21.0,21,0.5\n9.0,9,4.25\n");
    char *second =
        put("1.monitor.csv", "#{\"t_start\": 1002.5, \"env_id\": \"CartPole-v1\"}\r\nr,l,t,extra\r\n"
                             "13.0,13,0.25,7\r\n50");
    CU_ASSERT_TRUE(monitor_is_at(folder));
    CU_ASSERT_TRUE(monitor_is_at(first));
    monitor_episode *episodes;
    size_t count;
    TEST_OK(monitor_read(folder, &episodes, &count));
    CU_ASSERT_EQUAL_FATAL(count, 3);
    const double expected[3][3] = {{21, 21, 0.5}, {13, 13, 2.25}, {9, 9, 4.25}};
    for (size_t i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(episodes[i].episode_return, expected[i][0]);
        CU_ASSERT_EQUAL(episodes[i].length, expected[i][1]);
        CU_ASSERT_DOUBLE_EQUAL(episodes[i].seconds, expected[i][2], 1e-6);
    }
    free(episodes);
    TEST_OK(monitor_read(second, &episodes, &count));
    CU_ASSERT_EQUAL(count, 1);
    CU_ASSERT_DOUBLE_EQUAL(episodes[0].seconds, 0.25, 1e-6);
    free(episodes);
    char *bad = put("bad.monitor.csv", "r,len,t\n1,2,3\n");
    TEST_FAILS(monitor_read(bad, &episodes, &count), CORRAL_ERROR_NOT_FOUND, "has no column l");
    char *empty = put("empty.monitor.csv", "");
    TEST_FAILS(monitor_read(empty, &episodes, &count), CORRAL_ERROR_NOT_FOUND, "has no column r");
    char *note = put("note.monitor.csv", "#{"); // nothing but the begin of the first line
    TEST_FAILS(monitor_read(note, &episodes, &count), CORRAL_ERROR_NOT_FOUND, "has no column r");
    char *const paths[] = {first, second, bad, empty, note};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        free(paths[i]);
}

static void a_run_becomes_a_file(void)
{
    char *run = corral_format("%s/run", folder), *out = corral_format("%s/out.monitor.csv", folder);
    TEST_OK(corral_folder_create(run));
    char *const parts[] = {
        put("run/config.yaml", "env: Acrobot-v1\n"),
        put("run/run.json", "{\"started\": 1700000000}"),
        put("run/progress.csv", "time/total_timesteps,time/time_elapsed\n100,0.5\n200,1\n"),
        put("run/episodes.csv", "step,environment,episode,return,length,terminated,truncated\n"
                                "100,0,0,-21.5,30,1,0\n100,1,0,-70,70,0,1\n200,0,1,-9,50,1,0\n"),
    };
    TEST_OK(monitor_write(run, out));
    char *text;
    size_t size;
    TEST_OK(corral_file_read(out, 1 << 20, &text, &size));
    CU_ASSERT_STRING_EQUAL(text,
                           "#{\"t_start\":1700000000,\"env_id\":\"Acrobot-v1\"}\nr,l,t\n-21.5,30,0.500000\n"
                           "-70,70,0.500000\n-9,50,1.000000\n");
    free(text);
    monitor_episode *episodes;
    size_t count;
    TEST_OK(monitor_read(out, &episodes, &count));
    CU_ASSERT_EQUAL(count, 3);
    CU_ASSERT_EQUAL(episodes[2].episode_return, -9);
    free(episodes);
    CU_ASSERT_EQUAL(remove(parts[3]), 0);
    TEST_FAILS(monitor_write(run, out), CORRAL_ERROR_NOT_FOUND, "episodes.csv");
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        free(parts[i]);
    free(run);
    free(out);
}

int main(void)
{
    if (mkdtemp(folder) == NULL) return 2;
    const int code = test_run("monitor", (test_case[]){
                                             {"files are merged in time", files_are_merged_in_time},
                                             {"a run becomes a file", a_run_becomes_a_file},
                                             {NULL, NULL},
                                         });
    return corral_folder_remove(folder) == CORRAL_OK ? code : 2;
}
