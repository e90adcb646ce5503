// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Curves are read as they were written; runs that differ by their seed are one group.
#include "chart.h"

#include "corral/base/file.h"

#include "test.h"

static char folder[] = "/tmp/corral-curves-XXXXXX";

static char *make_run(const char *name, const char *config, const char *progress)
{
    char *run = corral_format("%s/%s", folder, name);
    char *csv = corral_format("%s/progress.csv", run), *yaml = corral_format("%s/config.yaml", run);
    TEST_OK(corral_folder_create(run));
    TEST_OK(corral_file_write(csv, progress, strlen(progress)));
    TEST_OK(corral_file_write(yaml, config, strlen(config)));
    free(csv);
    free(yaml);
    return run;
}

#define HEAD "time/total_timesteps,rollout/ep_rew_mean,eval/mean_reward\n"

static void runs_that_differ_by_seed_are_one(void)
{
    char *const runs[] = {
        make_run("a", "seed: 1\n", HEAD "100,10,\n200,20,5\n300,30,\n"),
        make_run("b", "seed: 2\n", HEAD "100,20,\n300,60,7\n"),
        make_run("c", "seed: 1\nppo: {epochs: 7}\n", HEAD "100,1,\n200,2,\n"),
    };
    curves c;
    TEST_OK(curves_read((const char *const *)runs, 3, "time/total_timesteps", "rollout/ep_rew_mean", &c));
    CU_ASSERT_EQUAL(c.count, 2);
    CU_ASSERT_EQUAL(c.groups[0].member_count, 2);
    double y;
    CU_ASSERT_TRUE(curve_at(&c.groups[0].mean, 200, &y));
    CU_ASSERT_DOUBLE_EQUAL(y, 30, 0.2); // the mean of 20 and 40
    CU_ASSERT_TRUE(curve_at(&c.groups[0].mean, 300, &y));
    CU_ASSERT_EQUAL(y, 45);
    CU_ASSERT_EQUAL(c.groups[0].high[c.groups[0].mean.count - 1], 60);
    CU_ASSERT_EQUAL(c.groups[0].low[c.groups[0].mean.count - 1], 30);
    CU_ASSERT_FALSE(curve_at(&c.groups[1].mean, 250, &y));
    CU_ASSERT_EQUAL(c.y_high, 60);
    curves_finish(&c);

    TEST_OK(curves_read((const char *const *)runs, 1, "time/total_timesteps", "eval/mean_reward", &c));
    CU_ASSERT_EQUAL(c.groups[0].members[0].count, 1); // empty cells are absent
    curves_finish(&c);
    for (int i = 0; i < 3; i++)
        free(runs[i]);
}

static void what_is_missing_is_named(void)
{
    char *run = make_run("d", "seed: 1\n", HEAD "100,,\n"), *none = corral_format("%s/none", folder);
    curves c;
    const char *const runs[] = {run}, *const nones[] = {none};
    TEST_FAILS(curves_read(runs, 1, "time/total_timesteps", "rollout/ep_rew_maen", &c),
               CORRAL_ERROR_NOT_FOUND, "did you mean rollout/ep_rew_mean");
    TEST_FAILS(curves_read(runs, 1, "time/total_timesteps", "rollout/ep_rew_mean", &c), CORRAL_ERROR_EMPTY,
               "has been reported yet");
    CU_ASSERT_EQUAL(curves_read(nones, 1, "a", "b", &c), CORRAL_ERROR_NOT_FOUND);
    free(run);
    free(none);
}

/// The mean over the episodes so far, over the steps that they took.
static void monitor_files_are_curves(void)
{
    char *path = corral_format("%s/0.monitor.csv", folder);
    const char text[] = "#{\"t_start\": 5, \"env_id\": \"X\"}\nr,l,t\n10,20,1\n30,40,2\n";
    TEST_OK(corral_file_write(path, text, strlen(text)));
    curves c;
    const char *const files[] = {path};
    TEST_OK(curves_read(files, 1, "time/total_timesteps", "rollout/ep_rew_mean", &c));
    CU_ASSERT_EQUAL_FATAL(c.groups[0].members[0].count, 2);
    CU_ASSERT_EQUAL(c.groups[0].members[0].x[1], 60);
    CU_ASSERT_EQUAL(c.groups[0].members[0].y[1], 20);
    curves_finish(&c);
    TEST_OK(curves_read(files, 1, "time/time_elapsed", "rollout/ep_len_mean", &c));
    CU_ASSERT_EQUAL(c.groups[0].members[0].x[1], 2);
    CU_ASSERT_EQUAL(c.groups[0].members[0].y[1], 30);
    curves_finish(&c);
    TEST_FAILS(curves_read(files, 1, "time/total_timesteps", "train/loss", &c), CORRAL_ERROR_NOT_FOUND,
               "of monitor files there are");
    free(path);
}

static void charts_are_drawn(void)
{
    char *run = make_run("e<&>", "seed: 1\n", HEAD "100,10,\n200,-20,5\n300,30,\n");
    const char *const runs[] = {run};
    curves c;
    TEST_OK(curves_read(runs, 1, "time/total_timesteps", "rollout/ep_rew_mean", &c));
    const chart drawn = {&c, "rollout/ep_rew_mean", "environment steps"};
    char *text = NULL;
    size_t size;
    FILE *memory = open_memstream(&text, &size);
    chart_draw(&drawn, &(sheet){.svg = memory, .scale = 1});
    fclose(memory);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "e&lt;&amp;>"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "</svg>"));
    free(text);
    memory = open_memstream(&text, &size);
    chart_print(&drawn, memory, 80, false);
    fclose(memory);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "\xe2\xa0")); // dots
    CU_ASSERT_PTR_NULL(strchr(text, '\033'));
    free(text);
    curves_finish(&c);
    free(run);
}

static void axes_are_round(void)
{
    char text[32];
    CU_ASSERT_DOUBLE_EQUAL(chart_step(0, 500, 5), 100, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(chart_step(-0.31, 0.4, 5), 0.2, 1e-9);
    CU_ASSERT_STRING_EQUAL(chart_number(20000, text, sizeof text), "20k");
    CU_ASSERT_STRING_EQUAL(chart_number(-1.5e6, text, sizeof text), "-1.5M");
    CU_ASSERT_STRING_EQUAL(chart_number(1e-16, text, sizeof text), "0");
}

int main(void)
{
    if (mkdtemp(folder) == NULL) return 2;
    const int result = test_run(
        "curves", (test_case[]){{"runs that differ by seed are one", runs_that_differ_by_seed_are_one},
                                {"what is missing is named", what_is_missing_is_named},
                                {"monitor files are curves", monitor_files_are_curves},
                                {"charts are drawn", charts_are_drawn},
                                {"axes are round", axes_are_round},
                                {NULL, NULL}});
    return corral_folder_remove(folder) == CORRAL_OK ? result : 2;
}
