// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Models of MuJoCo as environments: our own two, and what is said of files that are none.

#include "corral/base/file.h"
#include "corral/envs/batch.h"
#include "corral/envs/examine.h"
#include "corral/envs/registry.h"

#include "test.h"

#include <math.h>
#include <unistd.h>

#define MODELS CORRAL_SOURCE_DIR "/examples/mujoco/"

static void the_examiner_is_content(void)
{
    static const char *const names[] = {"mujoco:" MODELS "pendulum.yaml", "mujoco:" MODELS "hopper.yaml"};
    for (size_t i = 0; i < 2; i++) {
        const corral_env_type *type;
        TEST_OK(corral_env_find(names[i], &type));
        CU_ASSERT_STRING_EQUAL(type->id, names[i]);
        corral_examine_config config = corral_examine_config_default(type);
        config.leak_steps = 1000;
        corral_examine_report report;
        TEST_OK(corral_env_examine(&config, &report));
        for (uint32_t k = 0; k < report.count; k++)
            if (report.result[k].verdict == CORRAL_VERDICT_FAILED)
                fprintf(stderr, "%s: %s: %s\n", names[i], report.result[k].rule, report.result[k].sentence);
        CU_ASSERT_EQUAL(report.failed, 0);
    }
}

typedef struct one {
    corral_env_batch *batch;
    float action[3], observation[16];
    double reward;
    uint8_t terminated, truncated, failed;
    corral_episode ended;
    uint32_t ended_row;
} one;

/// The mean reward of `steps` steps with the first action's number `power`.
static double play(const char *name, float power, int steps, corral_episode *out_first)
{
    one o = {.action = {power, power, power}};
    corral_env_batch_config config = {.count = 1, .run_seed = 2, .max_episode_steps = -1};
    TEST_OK(corral_env_find(name, &config.type));
    TEST_OK(corral_env_batch_create(&config, &o.batch));
    const corral_env_rows action = {o.action, sizeof o.action}, rows = {o.observation, sizeof o.observation};
    corral_env_batch_step step = {&rows,    NULL,         &o.reward, &o.terminated, &o.truncated,
                                  &o.ended, &o.ended_row, 0,         &o.failed,     0};
    TEST_OK(corral_env_batch_reset(o.batch, &rows));
    double sum = 0;
    for (int t = 0; t < steps; t++) {
        TEST_OK(corral_env_batch_step_all(o.batch, &action, &step));
        sum += o.reward;
        if (step.ended_count > 0 && out_first->length == 0) *out_first = o.ended;
    }
    corral_env_batch_destroy(o.batch);
    return sum / steps;
}

static void a_pendulum_hangs(void)
{
    corral_episode first = {0};
    const double hanging = play("mujoco:" MODELS "pendulum.yaml", 0, 500, &first);
    CU_ASSERT_TRUE(hanging < -0.8 && hanging > -1.05);
    CU_ASSERT_TRUE(first.length == 500 && first.truncated && !first.terminated);
}

static void a_hopper_falls(void)
{
    corral_episode first = {0};
    play("mujoco:" MODELS "hopper.yaml", 0, 400, &first);
    CU_ASSERT_TRUE(first.length > 10 && first.length < 300 && first.terminated);
}

static void what_is_wrong_is_told(void)
{
    static const struct {
        const char *text, *sentence;
    } wrong[] = {
        {"", "expects lines of the form"},
        {"model: [", "not valid YAML"},
        {"summary: x\n", "model: names no file"},
        {"model: nothing.xml\n", "nothing.xml: "},
        {"model: " MODELS "pendulum.xml\n", "observation: nothing is observed"},
        {"model: " MODELS "pendulum.xml\nobservation: [qpos]\n", "reward: there are no terms"},
        {"model: " MODELS "pendulum.xml\nobservation: [up, down]\n", "the model has no sensor down"},
        {"model: " MODELS "pendulum.xml\nobservation: [\"up[3]\"]\n", "up has 3 values, counted from 0"},
        {"model: " MODELS "pendulum.xml\nobservation: [\"up[x]\"]\n", "is written NAME or NAME[INDEX]"},
        {"model: " MODELS "pendulum.xml\nobservation: qpos\n", "observation: expects a list"},
        {"model: " MODELS "pendulum.xml\nreward: {alive: much}\n", "\"much\" is not a number"},
        {"model: " MODELS "pendulum.xml\nend: {spin: 3}\n", "expects [LOW, HIGH]"},
        {"model: " MODELS "pendulum.xml\nend: {spin: [3, 2]}\n", "2 is outside 3 to inf"},
        {"model: " MODELS "pendulum.xml\nframe_skip: 0\n", "frame_skip: 0 is outside 1 to 1000"},
        {"model: " MODELS "pendulum.xml\nfrme_skip: 1\n", "unknown key \"frme_skip\""},
    };
    char path[] = "/tmp/corral-mujoco-XXXXXX", name[64];
    const int file = mkstemp(path);
    CU_ASSERT_TRUE_FATAL(file >= 0);
    close(file);
    snprintf(name, sizeof name, "mujoco:%s", path);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const corral_env_type *type;
        TEST_OK(corral_file_write(path, wrong[i].text, strlen(wrong[i].text)));
        TEST_FAILS(corral_env_find(name, &type), CORRAL_ERROR_INVALID, wrong[i].sentence);
    }
    unlink(path);
    const corral_env_type *type;
    TEST_FAILS(corral_env_find("mujoco:nowhere.yaml", &type), CORRAL_ERROR_NOT_FOUND, "no such file");
}

int main(void)
{
    const corral_env_type *type;
    const corral_status status = corral_env_find("mujoco:" MODELS "pendulum.yaml", &type);
    if (status == CORRAL_ERROR_NOT_FOUND) {
        printf("skipped: %s\n", corral_last_error());
        return 77;
    }
    return test_run("mujoco", (test_case[]){{"a pendulum hangs", a_pendulum_hangs},
                                            {"a hopper falls", a_hopper_falls},
                                            {"what is wrong is told", what_is_wrong_is_told},
                                            {"the examiner is content", the_examiner_is_content},
                                            {NULL, NULL}});
}
