// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The bridge to Gymnasium, with the Gymnasium of whatever Python is found; skipped where there is none. The
// environments that have something to look at are in python/corral_test_envs.py.

#include "rig.h"

#include "corral/base/clock.h"
#include "corral/base/log.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEST_ENV(id) "gym:corral_test_envs:" id

static char logged[1 << 16];

static void keep_log(void *context, corral_log_level level, const char *line)
{
    (void)context, (void)level;
    const size_t used = strlen(logged);
    snprintf(logged + used, sizeof logged - used, "%s\n", line);
}

static bool was_logged(const char *text)
{
    const bool found = strstr(logged, text) != NULL;
    if (!found) fprintf(stderr, "the log lacks \"%s\":\n%s", text, logged);
    return found;
}

// --- the same as ours

static void cartpole_is_ours_bit_for_bit(void)
{
    enum { COUNT = 8, STEPS = 2000 };
    static rig ours, theirs;
    corral_env_batch_config config = rig_config("CartPole-v1", COUNT);
    rig_open(&ours, &config);
    config = rig_config("gym:CartPole-v1", COUNT);
    CU_ASSERT_EQUAL(config.type->max_episode_steps, 500);
    CU_ASSERT_EQUAL(config.type->reward_threshold, 475);
    CU_ASSERT_EQUAL(config.type->render_fps, 50);
    rig_open(&theirs, &config);
    uint32_t episodes = 0;
    for (uint64_t t = 0; t < STEPS; t++) {
        rig_draw_actions(&ours, t);
        rig_draw_actions(&theirs, t);
        rig_step(&ours);
        rig_step(&theirs);
        CU_ASSERT_EQUAL_FATAL(memcmp(ours.observation, theirs.observation, sizeof ours.observation), 0);
        CU_ASSERT_EQUAL_FATAL(memcmp(ours.reward, theirs.reward, sizeof ours.reward), 0);
        CU_ASSERT_EQUAL_FATAL(ours.step.ended_count, theirs.step.ended_count);
        for (uint32_t k = 0; k < ours.step.ended_count; k++) {
            CU_ASSERT_EQUAL(memcmp(ours.final[k], theirs.final[k], sizeof ours.final[k]), 0);
            CU_ASSERT_EQUAL(ours.ended[k].length, theirs.ended[k].length);
        }
        episodes += ours.step.ended_count;
    }
    CU_ASSERT_TRUE(episodes > 300);
    rig_close(&ours);
    rig_close(&theirs);
}

// --- spaces

static void expect_leaf(const corral_space *leaf, const char *path, uint32_t kind, uint32_t dtype)
{
    CU_ASSERT_STRING_EQUAL(leaf->path, path);
    CU_ASSERT_EQUAL(leaf->kind, kind);
    CU_ASSERT_EQUAL(leaf->dtype, dtype);
}

static void nested_spaces_become_leaves(void)
{
    const corral_env_type *type;
    TEST_OK(corral_env_find(TEST_ENV("Nested-v0"), &type));
    const corral_env_spaces *s = &type->spaces;
    CU_ASSERT_EQUAL_FATAL(s->observation_count, 5);
    expect_leaf(&s->observation[0], "arm/0", CORRAL_SPACE_BOX, CORRAL_SPACE_F32);
    expect_leaf(&s->observation[1], "arm/1", CORRAL_SPACE_DISCRETE, CORRAL_SPACE_I32);
    CU_ASSERT_EQUAL(s->observation[1].start, -2);
    expect_leaf(&s->observation[2], "depth", CORRAL_SPACE_BOX, CORRAL_SPACE_I32);
    CU_ASSERT_EQUAL(s->observation[2].dimension_count, 4);
    CU_ASSERT_EQUAL(s->observation[2].shape[3], 3); // five dimensions in four
    expect_leaf(&s->observation[3], "lamps", CORRAL_SPACE_MULTI_BINARY, CORRAL_SPACE_U8);
    expect_leaf(&s->observation[4], "wheels", CORRAL_SPACE_MULTI_DISCRETE, CORRAL_SPACE_I32);
    CU_ASSERT_EQUAL(s->observation[4].nvec[1], 4);
    CU_ASSERT_EQUAL_FATAL(s->action_count, 3);
    expect_leaf(&s->action[0], "a", CORRAL_SPACE_BOX, CORRAL_SPACE_F32);
    expect_leaf(&s->action[1], "b/0", CORRAL_SPACE_DISCRETE, CORRAL_SPACE_I32);
    expect_leaf(&s->action[2], "b/1", CORRAL_SPACE_MULTI_DISCRETE, CORRAL_SPACE_I32);
}

static void what_goes_in_comes_out(void)
{
    const corral_env_type *type;
    TEST_OK(corral_env_find(TEST_ENV("Nested-v0"), &type));
    const double values[] = {60};
    void *batch;
    CU_ASSERT_EQUAL_FATAL(type->batch->create(corral_env_host_default(), 2, values, &batch), 0);
    float a[2][6] = {{0}, {0.5f, -1, 1.5f, -2, 2, 0.25f}}, arm[2][6];
    int32_t b0[2] = {1, 2}, b1[2][2] = {{0, 1}, {2, 3}}, hand[2], depth[2][12], wheels[2][2];
    uint8_t lamps[2][4], ended[2][2], failed[2];
    double reward[2];
    const corral_env_rows action[] = {{a, sizeof a[0]}, {b0, sizeof b0[0]}, {b1, sizeof b1[0]}};
    const corral_env_rows observation[] = {{arm, sizeof arm[0]},
                                           {hand, sizeof hand[0]},
                                           {depth, sizeof depth[0]},
                                           {lamps, sizeof lamps[0]},
                                           {wheels, sizeof wheels[0]}};
    const corral_env_step io = {sizeof io, action, observation, reward, ended[0], ended[1], failed};
    const uint64_t seeds[] = {1, 2};
    CU_ASSERT_EQUAL_FATAL(type->batch->reset(batch, NULL, seeds, &io), 0);
    CU_ASSERT_EQUAL(hand[0], -2);
    CU_ASSERT_EQUAL_FATAL(type->batch->step(batch, &io), 0);
    CU_ASSERT_EQUAL(failed[0] + failed[1], 0);
    CU_ASSERT_EQUAL(memcmp(arm, a, sizeof a), 0);
    CU_ASSERT_EQUAL(hand[0], -2);
    CU_ASSERT_EQUAL(hand[1], -1);
    CU_ASSERT_EQUAL(depth[1][11], 55000);
    CU_ASSERT_EQUAL(lamps[1][3], 1);
    CU_ASSERT_EQUAL(memcmp(wheels, b1, sizeof b1), 0);
    CU_ASSERT_EQUAL(reward[1], 1.25);
    type->batch->destroy(batch);
}

static void a_mask_comes_along(void)
{
    corral_env_batch_config config = rig_config(TEST_ENV("Masked-v0"), 3);
    const corral_env_action_mask *mask = config.type->extension(CORRAL_ENV_ACTION_MASK);
    CU_ASSERT_PTR_NOT_NULL_FATAL(mask);
    static rig r;
    rig_open(&r, &config);
    for (int t = 0; t < 5; t++) {
        for (uint32_t i = 0; i < 3; i++) {
            uint8_t allowed[4];
            uint32_t index;
            const void *handle = corral_env_batch_handle(r.batch, i, &index);
            mask->mask(handle, index, allowed);
            CU_ASSERT_EQUAL(allowed[0] + allowed[1] + allowed[2] + allowed[3], 1);
            for (r.action[i] = 0; !allowed[r.action[i]]; r.action[i]++) {
            }
        }
        rig_step(&r);
        CU_ASSERT_EQUAL(r.step.failed_count, 0);
    }
    rig_close(&r);
}

// --- failures

static corral_env_batch_config troubled(const char *what, uint32_t count, double *values)
{
    char name[128];
    snprintf(name, sizeof name, TEST_ENV("Troubled-v0%s"), what);
    const corral_env_batch_config config = rig_config(name, count);
    for (uint32_t i = 0; i < config.type->param_count; i++)
        values[i] = config.type->params[i].default_value;
    logged[0] = '\0';
    return config;
}

/// Steps until one fails; the others shall go on.
static void step_to_failure(rig *r)
{
    for (int t = 0; t < 100; t++) {
        rig_step(r);
        if (r->step.failed_count > 0) return;
    }
    CU_FAIL_FATAL("nothing has failed");
}

static void an_exception_is_one_sentence_and_a_traceback(void)
{
    static rig r;
    double values[8];
    corral_env_batch_config config = troubled("", 6, values);
    values[0] = 1;
    config.param_values = values;
    rig_open(&r, &config);
    step_to_failure(&r);
    CU_ASSERT_TRUE(r.step.failed_count < 6); // those with even seeds go on
    const char *said = corral_env_batch_failure(r.batch);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "Troubled-v0: environment "));
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "step 4: ValueError: the pump is dry (corral_test_envs.py:"));
    CU_ASSERT_PTR_NOT_NULL(strstr(said, ", in stumble)"));
    CU_ASSERT_TRUE(was_logged("Traceback (most recent call last):\n"));
    CU_ASSERT_TRUE(was_logged("corral_test_envs.py\", line"));
    CU_ASSERT_TRUE(was_logged("ValueError: the pump is dry"));
    CU_ASSERT_PTR_NULL(strstr(logged, "<string>")); // our own side is not shown
    rig_close(&r);
}

static void exit_is_an_exception(void)
{
    static rig r;
    double values[8];
    const corral_env_batch_config config = troubled("?trouble=5", 6, values);
    rig_open(&r, &config);
    step_to_failure(&r);
    CU_ASSERT_TRUE(r.step.failed_count < 6);
    CU_ASSERT_PTR_NOT_NULL(strstr(corral_env_batch_failure(r.batch), "SystemExit: 3"));
    rig_close(&r);
}

/// All episodes of the process are lost and begin anew in another one.
static void expect_process_lost(const char *what, const char *said)
{
    static rig r;
    double values[8];
    corral_env_batch_config config = troubled(what, 6, values);
    values[2] = 1; // timeout
    config.param_values = values;
    config.run_seed = 5;
    rig_open(&r, &config);
    const float first_process = r.observation[0][0];
    const int64_t begun = corral_now_ns();
    step_to_failure(&r);
    CU_ASSERT_TRUE(corral_now_ns() - begun < 30 * CORRAL_SECOND);
    CU_ASSERT_EQUAL(r.step.failed_count, 6);
    if (strstr(corral_env_batch_failure(r.batch), said) == NULL) CU_FAIL("another sentence");
    CU_ASSERT_NOT_EQUAL(r.observation[0][0], first_process);
    CU_ASSERT_EQUAL(r.observation[0][1], 0);
    CU_ASSERT_NOT_EQUAL(kill((pid_t)first_process, 0), 0);
    rig_step(&r);
    CU_ASSERT_EQUAL(r.step.failed_count, 0);
    rig_close(&r);
}

static void a_crash_is_survived(void)
{
    expect_process_lost("?trouble=2", "its Python process was ended by signal 11 (Segmentation fault)");
}

static void a_hang_is_survived(void)
{
    expect_process_lost("?trouble=3", "no answer from its Python process within 1 s");
    expect_process_lost("?trouble=4", "no answer from its Python process within 1 s");
}

static bool is_running(pid_t process)
{
    char path[64], text[256] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
    FILE *file = fopen(path, "r");
    if (file == NULL) return false;
    const bool got = fgets(text, sizeof text, file) != NULL;
    fclose(file);
    const char *state = got ? strrchr(text, ')') : NULL;
    return state != NULL && state[2] != 'Z';
}

/// Whoever is killed takes its Python along, also one that hangs with Python's lock.
static void python_does_not_outlive_us(void)
{
    int pipe_ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe(pipe_ends), 0);
    const pid_t player = fork();
    if (player == 0) {
        static rig r;
        double values[8];
        const corral_env_batch_config config = troubled("?trouble=4", 6, values);
        rig_open(&r, &config);
        if (write(pipe_ends[1], r.observation[0], sizeof(float)) != sizeof(float)) _exit(1);
        step_to_failure(&r);
        _exit(1);
    }
    float process;
    CU_ASSERT_EQUAL_FATAL(read(pipe_ends[0], &process, sizeof process), sizeof process);
    corral_sleep_ns(300 * CORRAL_MILLISECOND); // it hangs by now
    CU_ASSERT_TRUE(is_running((pid_t)process));
    kill(player, SIGKILL);
    waitpid(player, NULL, 0);
    for (int i = 0; i < 200 && is_running((pid_t)process); i++)
        corral_sleep_ns(10 * CORRAL_MILLISECOND);
    CU_ASSERT_FALSE(is_running((pid_t)process));
    close(pipe_ends[0]);
    close(pipe_ends[1]);
}

static void what_cannot_be_is_refused(void)
{
    const corral_env_type *type;
    TEST_FAILS(corral_env_find("gym:CartPol-v1", &type), CORRAL_ERROR_ENVIRONMENT, "gym:CartPol-v1: ");
    TEST_FAILS(corral_env_find("gym:no_such_module:Env-v0", &type), CORRAL_ERROR_ENVIRONMENT,
               "finds no module no_such_module");
    TEST_FAILS(corral_env_find(TEST_ENV("Endless-v0"), &type), CORRAL_ERROR_ENVIRONMENT, "is a Sequence");
    static rig r;
    double values[8];
    corral_env_batch_config config = rig_config(TEST_ENV("Painted-v0"), 1);
    for (uint32_t i = 0; i < config.type->param_count; i++)
        values[i] = config.type->params[i].default_value;
    values[0] = 3; // size
    config.param_values = values;
    r.config = config;
    rig_start(&r);
    TEST_FAILS(corral_env_batch_reset(r.batch, &r.observation_rows), CORRAL_ERROR_ENVIRONMENT,
               "name them with the environment, as in gym:corral_test_envs:Painted-v0?size=3");
    rig_close(&r);
    TEST_OK(corral_env_find(TEST_ENV("Painted-v0?size=3"), &type));
    CU_ASSERT_EQUAL(type->spaces.observation->shape[0], 3);
}

static void a_wrong_observation_is_a_failure(void)
{
    static rig r;
    const corral_env_batch_config config = rig_config(TEST_ENV("Painted-v0"), 2);
    rig_open(&r, &config);
    const float actions[] = {1, 0.5f};
    memcpy(r.action, actions, sizeof actions);
    rig_step(&r);
    CU_ASSERT_EQUAL(r.step.failed_count, 1);
    CU_ASSERT_EQUAL(r.failed[0], 1);
    CU_ASSERT_EQUAL(r.reward[1], 0.5);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(corral_env_batch_failure(r.batch), "the observation has the shape (7,) instead of (1,)"));
    rig_close(&r);
}

// --- pictures

static void pictures_come_along(void)
{
    static rig r;
    const corral_env_batch_config config = rig_config(TEST_ENV("Painted-v0?brightness=100"), 2);
    const corral_env_render *render = config.type->extension(CORRAL_ENV_RENDER);
    CU_ASSERT_PTR_NOT_NULL_FATAL(render);
    CU_ASSERT_EQUAL(render->width, 5);
    CU_ASSERT_EQUAL(render->height, 3);
    rig_open(&r, &config);
    uint32_t index;
    const void *handle = corral_env_batch_handle(r.batch, 1, &index);
    corral_draw item;
    CU_ASSERT_EQUAL_FATAL(render->draw(handle, index, &item, 1), 1);
    CU_ASSERT_EQUAL(item.kind, CORRAL_DRAW_IMAGE);
    CU_ASSERT_EQUAL(item.image_width, 5);
    CU_ASSERT_EQUAL(item.image_height, 3);
    CU_ASSERT_EQUAL(item.image[0], 100);          // red, top left
    CU_ASSERT_EQUAL(item.image[4 * 3 + 1], 100);  // green, top right
    CU_ASSERT_EQUAL(item.image[2 * 15 + 2], 100); // blue, bottom left
    handle = corral_env_batch_handle(r.batch, 0, &index);
    r.action[0] = r.action[1] = 0;
    rig_step(&r);
    CU_ASSERT_EQUAL(render->draw(handle, index, &item, 1), 0); // from its next episode on
    TEST_OK(corral_env_batch_reset(r.batch, &r.observation_rows));
    CU_ASSERT_EQUAL(render->draw(handle, index, &item, 1), 1);
    rig_close(&r);
}

int main(void)
{
    setenv("PYTHONPATH", CORRAL_SOURCE_DIR "/tests/envs/python", 1);
    // NumPy's AVX-512 sine and cosine differ from the C library's in the last bit.
    setenv("NPY_DISABLE_CPU_FEATURES",
           "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR", 1);
    corral_log_set_sink(keep_log, NULL);
    const corral_env_type *type;
    if (corral_env_find("gym:CartPole-v1", &type) != CORRAL_OK) {
        fprintf(stderr, "skipped: %s\n", corral_last_error());
        return 77;
    }
    return test_run("gym",
                    (test_case[]){{"CartPole is ours bit for bit", cartpole_is_ours_bit_for_bit},
                                  {"nested spaces become leaves", nested_spaces_become_leaves},
                                  {"what goes in comes out", what_goes_in_comes_out},
                                  {"a mask comes along", a_mask_comes_along},
                                  {"an exception is one sentence and a traceback",
                                   an_exception_is_one_sentence_and_a_traceback},
                                  {"exit is an exception", exit_is_an_exception},
                                  {"a crash is survived", a_crash_is_survived},
                                  {"a hang is survived", a_hang_is_survived},
                                  {"Python does not outlive us", python_does_not_outlive_us},
                                  {"what cannot be is refused", what_cannot_be_is_refused},
                                  {"a wrong observation is a failure", a_wrong_observation_is_a_failure},
                                  {"pictures come along", pictures_come_along},
                                  {NULL, NULL}});
}
