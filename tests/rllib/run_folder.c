// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "test.h"

#include "run/tfevents.h"

#include "corral/base/file.h"
#include "corral/rllib/run_folder.h"

#include <cjson/cJSON.h>

#include <dirent.h>
#include <math.h>
#include <unistd.h>

static char *read_text(const char *folder, const char *name)
{
    char *path = corral_format("%s/%s", folder, name), *text;
    size_t size;
    TEST_OK(corral_file_read(path, 1 << 20, &text, &size));
    free(path);
    return text;
}

static size_t lines_of(const char *text)
{
    size_t count = 0;
    for (; *text != '\0'; text++)
        count += *text == '\n';
    return count;
}

static void event_records_equal_tensorboards(void)
{
    CU_ASSERT_EQUAL(tfevents_crc32c("123456789", 9), 0xe3069283u);
    CU_ASSERT_EQUAL(tfevents_crc32c("", 0), 0);
    char *text = read_text(CORRAL_SOURCE_DIR "/tests/golden", "tfevents.json");
    cJSON *root = cJSON_Parse(text);
    const cJSON *records = cJSON_GetObjectItem(root, "records");
    const struct {
        int record;
        double wall;
        uint64_t step;
        float value;
    } scalars[] = {
        {1, 1700000001.0, 0, 22.5f}, {2, 1700000002.62, 256, 41.25f}, {3, 1700000003.24, 512, 500.0f}};
    (void)scalars[0].wall; // the wall times are read from the records themselves
    for (int i = 0; i < 4; i++) {
        const char *hex =
            cJSON_GetStringValue(cJSON_GetObjectItem(cJSON_GetArrayItem(records, i), "record_hex"));
        unsigned char expected[256], made[256];
        const size_t size = strlen(hex) / 2;
        for (size_t k = 0; k < size; k++)
            sscanf(hex + 2 * k, "%2hhx", &expected[k]);
        double wall;
        memcpy(&wall, expected + 13, sizeof wall);
        FILE *file = fmemopen(made, sizeof made, "w");
        if (i == 0)
            tfevents_write_header(file, wall);
        else
            tfevents_write_scalar(file, wall, scalars[i - 1].step, "rollout/ep_rew_mean",
                                  scalars[i - 1].value);
        CU_ASSERT_EQUAL((size_t)ftell(file), size);
        fclose(file);
        CU_ASSERT_EQUAL(memcmp(made, expected, size), 0);
    }
    cJSON_Delete(root);
    free(text);
}

static char *temporary(void)
{
    static char path[] = "/tmp/corral-run-XXXXXX";
    strcpy(path, "/tmp/corral-run-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(path));
    return path;
}

static corral_train_config some_config(void)
{
    corral_train_config config = corral_train_config_default();
    strcpy(config.env, "CartPole-v1");
    return config;
}

static void absent_values_are_absent(void)
{
    const corral_train_config config = some_config();
    char *path = temporary();
    corral_run_folder *folder;
    TEST_OK(corral_run_folder_open(path, &config, NULL, false, 0, &folder));
    corral_train_report report = {.env_steps = 256, .iteration = 1};
    TEST_OK(corral_run_folder_report(folder, &report)); // no episode, no evaluation, no time
    report = (corral_train_report){.env_steps = 512,
                                   .iteration = 2,
                                   .episodes = 1,
                                   .return_mean = 21,
                                   .session_seconds = 1,
                                   .session_steps = 512,
                                   .evaluated = true,
                                   .eval_mean = 30};
    TEST_OK(corral_run_folder_report(folder, &report));
    corral_run_folder_close(folder);
    char *csv = read_text(path, "progress.csv"), *json = read_text(path, "metrics.jsonl");
    CU_ASSERT_PTR_NULL(strstr(csv, "nan"));
    CU_ASSERT_EQUAL(lines_of(csv), 3);
    CU_ASSERT_EQUAL(lines_of(json), 2);
    cJSON *first = cJSON_Parse(json), *second = cJSON_Parse(strchr(json, '\n') + 1);
    CU_ASSERT_PTR_NOT_NULL(first);
    CU_ASSERT_PTR_NULL(cJSON_GetObjectItem(first, "rollout/ep_rew_mean"));
    CU_ASSERT_PTR_NULL(cJSON_GetObjectItem(first, "time/fps"));
    CU_ASSERT_EQUAL(cJSON_GetObjectItem(second, "eval/mean_reward")->valuedouble, 30);
    CU_ASSERT_EQUAL(cJSON_GetObjectItem(second, "time/fps")->valuedouble, 512);
    cJSON_Delete(first);
    cJSON_Delete(second);
    free(csv);
    free(json);
    TEST_OK(corral_folder_remove(path));
}

/// What environments say of themselves has columns of its own; a number that is not said is an empty cell.
static void infos_are_columns(void)
{
    static const char *const names[] = {"score", "fuel"};
    const corral_env_info info = {sizeof info, 2, names, NULL};
    char path[] = "/tmp/corral-run-XXXXXX";
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(path));
    const corral_train_config config = corral_train_config_default();
    corral_run_folder *folder;
    TEST_OK(corral_run_folder_open(path, &config, &info, false, 0, &folder));
    const double said[] = {2.5, NAN};
    TEST_OK(corral_run_folder_episode(
        folder, &(corral_train_episode){.env_steps = 64, .length = 3, .terminated = true, .info = said}));
    TEST_OK(corral_run_folder_report(
        folder, &(corral_train_report){.env_steps = 64, .info_count = 2, .info = {2.5, NAN}}));
    corral_run_folder_close(folder);
    char *episodes = read_text(path, "episodes.csv"), *metrics = read_text(path, "metrics.jsonl"),
         *progress = read_text(path, "progress.csv");
    CU_ASSERT_PTR_NOT_NULL(strstr(episodes, "truncated,info/score,info/fuel\n64,0,0,0,3,1,0,2.5,\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(metrics, "\"info/score\": 2.5"));
    CU_ASSERT_PTR_NULL(strstr(metrics, "info/fuel"));
    CU_ASSERT_PTR_NOT_NULL(strstr(progress, ",info/score,info/fuel\n"));
    free(episodes);
    free(metrics);
    free(progress);
    TEST_OK(corral_folder_remove(path));
}

static void a_resumed_run_goes_on_where_it_stopped(void)
{
    const corral_train_config config = some_config();
    char *path = temporary();
    corral_run_folder *folder;
    TEST_OK(corral_run_folder_open(path, &config, NULL, false, 0, &folder));
    for (uint64_t step = 100; step <= 500; step += 100) {
        TEST_OK(corral_run_folder_report(folder, &(corral_train_report){.env_steps = step}));
        TEST_OK(corral_run_folder_episode(folder, &(corral_train_episode){.env_steps = step,
                                                                          .environment = 1,
                                                                          .number = step,
                                                                          .episode_return = 2.5,
                                                                          .length = 3,
                                                                          .terminated = true}));
    }
    corral_run_folder_close(folder);
    TEST_FAILS(corral_run_folder_open(path, &config, NULL, false, 0, &folder), CORRAL_ERROR_EXISTS,
               "holds a run already");
    TEST_OK(corral_run_folder_open(path, &config, NULL, true, 300, &folder));
    TEST_OK(corral_run_folder_report(folder, &(corral_train_report){.env_steps = 400}));
    corral_run_folder_close(folder);
    char *csv = read_text(path, "progress.csv"), *episodes = read_text(path, "episodes.csv"),
         *json = read_text(path, "metrics.jsonl");
    CU_ASSERT_EQUAL(lines_of(csv), 1 + 4);
    CU_ASSERT_EQUAL(lines_of(json), 4);
    CU_ASSERT_EQUAL(lines_of(episodes), 1 + 3);
    free(csv);
    free(json);
    free(episodes);
    TEST_OK(corral_folder_remove(path));
}

/// How many records a run's event files hold, and the highest step in them.
static size_t count_events(const char *path, uint64_t *out_last)
{
    size_t count = 0;
    *out_last = 0;
    DIR *entries = opendir(path);
    CU_ASSERT_PTR_NOT_NULL_FATAL(entries);
    for (const struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        if (strncmp(entry->d_name, TFEVENTS_PREFIX, strlen(TFEVENTS_PREFIX)) != 0) continue;
        char *name = corral_format("%s/%s", path, entry->d_name);
        FILE *file = fopen(name, "rb");
        for (uint64_t step; tfevents_read_step(file, &step); count++)
            if (step > *out_last) *out_last = step;
        fclose(file);
        free(name);
    }
    closedir(entries);
    return count;
}

static void resumed_events_do_not_loop_back(void)
{
    const corral_train_config config = some_config();
    char *path = temporary();
    corral_run_folder *folder;
    uint64_t last;
    TEST_OK(corral_run_folder_open(path, &config, NULL, false, 0, &folder));
    for (uint64_t step = 100; step <= 500; step += 100)
        TEST_OK(
            corral_run_folder_report(folder, &(corral_train_report){.env_steps = step, .evaluated = true}));
    corral_run_folder_close(folder);
    const size_t all = count_events(path, &last);
    CU_ASSERT_EQUAL(last, 500);
    TEST_OK(corral_run_folder_open(path, &config, NULL, true, 300, &folder));
    CU_ASSERT(count_events(path, &last) < all);
    CU_ASSERT_EQUAL(last, 300);
    corral_run_folder_close(folder);
    TEST_OK(corral_folder_remove(path));
}

static void append(const char *folder, const char *name, const char *text)
{
    char *path = corral_format("%s/%s", folder, name);
    FILE *file = fopen(path, "a");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs(text, file);
    fclose(file);
    free(path);
}

static void what_a_killed_process_left_half_written_goes(void)
{
    const corral_train_config config = some_config();
    char *path = temporary();
    corral_run_folder *folder;
    TEST_OK(corral_run_folder_open(path, &config, NULL, false, 0, &folder));
    TEST_OK(corral_run_folder_report(folder, &(corral_train_report){.env_steps = 100}));
    corral_run_folder_close(folder);
    append(path, "progress.csv", "200,2,0.");
    append(path, "metrics.jsonl", "{\"time/total_timesteps\": 200");
    append(path, "episodes.csv", "1"); // of a step that would pass
    TEST_OK(corral_run_folder_open(path, &config, NULL, true, 1000, &folder));
    TEST_OK(corral_run_folder_report(folder, &(corral_train_report){.env_steps = 200}));
    corral_run_folder_close(folder);
    char *csv = read_text(path, "progress.csv"), *json = read_text(path, "metrics.jsonl"),
         *episodes = read_text(path, "episodes.csv");
    CU_ASSERT_EQUAL(lines_of(csv), 3);
    CU_ASSERT_PTR_NOT_NULL(strstr(csv, "\n200,0,"));
    CU_ASSERT_EQUAL(lines_of(json), 2);
    CU_ASSERT_EQUAL(lines_of(episodes), 1);
    free(csv);
    free(json);
    free(episodes);
    TEST_OK(corral_folder_remove(path));
}

static void a_run_has_one_writer(void)
{
    const corral_train_config config = some_config();
    char *path = temporary();
    corral_run_folder *folder, *other;
    TEST_OK(corral_run_folder_open(path, &config, NULL, false, 0, &folder));
    TEST_FAILS(corral_run_folder_open(path, &config, NULL, true, 0, &other), CORRAL_ERROR_REFUSED,
               "is being written by another process");
    corral_run_folder_close(folder);
    TEST_OK(corral_run_folder_open(path, &config, NULL, true, 0, &folder));
    corral_run_folder_close(folder);
    TEST_OK(corral_folder_remove(path));
}

static void a_running_run_says_so(void)
{
    const corral_train_config config = some_config();
    char *path = temporary();
    corral_run_folder *folder;
    TEST_OK(corral_run_folder_open(path, &config, NULL, false, 0, &folder));
    TEST_OK(corral_run_folder_report(folder, &(corral_train_report){.env_steps = 100}));
    char *text = read_text(path, "run.json");
    cJSON *root = cJSON_Parse(text);
    CU_ASSERT_STRING_EQUAL(cJSON_GetStringValue(cJSON_GetObjectItem(root, "stop_reason")), "running");
    CU_ASSERT_EQUAL(cJSON_GetObjectItem(root, "env_steps")->valuedouble, 100);
    cJSON_Delete(root);
    free(text);
    corral_run_folder_close(folder);
    TEST_OK(corral_folder_remove(path));
}

static void a_discarded_run_leaves_nothing(void)
{
    const corral_train_config config = some_config();
    char *path = temporary();
    corral_run_folder *folder;
    TEST_OK(corral_run_folder_open(path, &config, NULL, false, 0, &folder)); // was there, empty
    corral_run_folder_discard(folder);
    CU_ASSERT_EQUAL(rmdir(path), 0);                                         // is there, empty
    TEST_OK(corral_run_folder_open(path, &config, NULL, false, 0, &folder)); // was not there
    corral_run_folder_discard(folder);
    CU_ASSERT_NOT_EQUAL(access(path, F_OK), 0);
    corral_run_folder_discard(NULL);
}

static void names_lead_nowhere_else(void)
{
    corral_train_config config = some_config();
    char *path = temporary(), was[4096];
    CU_ASSERT_PTR_NOT_NULL_FATAL(getcwd(was, sizeof was));
    CU_ASSERT_EQUAL_FATAL(chdir(path), 0);
    static const char *const names[][2] = {{"CartPole-v1", "runs/CartPole-v1-ppo-1"},
                                           {"CartPole-v1", "runs/CartPole-v1-ppo-2"},
                                           {"MinAtar/Breakout-v1", "runs/MinAtar-Breakout-v1-ppo-1"},
                                           {"../up/walk.so:Walk-v0", "runs/walk.so-Walk-v0-ppo-1"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        corral_run_folder *folder;
        strcpy(config.env, names[i][0]);
        TEST_OK(corral_run_folder_open(NULL, &config, NULL, false, 0, &folder));
        CU_ASSERT_STRING_EQUAL(corral_run_folder_path(folder), names[i][1]);
        corral_run_folder_close(folder);
    }
    CU_ASSERT_EQUAL(chdir(was), 0);
    TEST_OK(corral_folder_remove(path));
}

static void a_place_that_cannot_be_written_is_named(void)
{
    const corral_train_config config = some_config();
    corral_run_folder *folder;
    TEST_FAILS(corral_run_folder_open("/proc/corral-run", &config, NULL, false, 0, &folder), CORRAL_ERROR_IO,
               "/proc/corral-run");
}

int main(void)
{
    return test_run(
        "run folder",
        (test_case[]){
            {"event records equal TensorBoard's", event_records_equal_tensorboards},
            {"absent values are absent", absent_values_are_absent},
            {"infos are columns", infos_are_columns},
            {"a resumed run goes on where it stopped", a_resumed_run_goes_on_where_it_stopped},
            {"resumed events do not loop back", resumed_events_do_not_loop_back},
            {"what a killed process left half written goes", what_a_killed_process_left_half_written_goes},
            {"a run has one writer", a_run_has_one_writer},
            {"a running run says so", a_running_run_says_so},
            {"a discarded run leaves nothing", a_discarded_run_leaves_nothing},
            {"names lead nowhere else", names_lead_nowhere_else},
            {"a place that cannot be written is named", a_place_that_cannot_be_written_is_named},
            {NULL, NULL},
        });
}
