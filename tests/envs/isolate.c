// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Environments in processes of their own: the same game, and whatever one does costs one episode of its own.

#include "corral/base/clock.h"
#include "corral/base/rng.h"
#include "corral/envs/batch.h"
#include "corral/envs/registry.h"

#include "test.h"

#include <dirent.h>
#include <signal.h>
#include <unistd.h>

enum { COUNT = 3, WIDTH = 8, EPISODE = 25, TROUBLE = 7 };
#define TROUBLESOME PLUGIN_DIR "/troublesome.so:"

typedef struct rig {
    corral_env_batch *batch;
    const corral_env_type *type;
    int32_t action[COUNT];
    float observation[COUNT][WIDTH];
    double reward[COUNT];
    uint8_t terminated[COUNT], truncated[COUNT], failed[COUNT];
    corral_episode ended[COUNT];
    uint32_t ended_row[COUNT];
    corral_env_rows action_rows, observation_rows;
    corral_env_batch_step step;
} rig;

static void rig_open(rig *r, const char *name, const double *values, bool begin)
{
    memset(r, 0, sizeof *r);
    TEST_OK(corral_env_find(name, &r->type));
    const corral_env_batch_config config = {.type = r->type,
                                            .count = COUNT,
                                            .run_seed = 5,
                                            .role = CORRAL_STREAM_ENVIRONMENT,
                                            .max_episode_steps = -1,
                                            .param_values = values};
    r->action_rows = (corral_env_rows){r->action, sizeof r->action[0]};
    r->observation_rows = (corral_env_rows){r->observation, sizeof r->observation[0]};
    r->step = (corral_env_batch_step){.observation = &r->observation_rows,
                                      .reward = r->reward,
                                      .terminated = r->terminated,
                                      .truncated = r->truncated,
                                      .ended = r->ended,
                                      .ended_row = r->ended_row,
                                      .failed = r->failed};
    TEST_OK(corral_env_batch_create(&config, &r->batch));
    if (begin) TEST_OK(corral_env_batch_reset(r->batch, &r->observation_rows));
}

static void rig_step(rig *r, uint64_t t)
{
    for (uint32_t i = 0; i < COUNT; i++)
        r->action[i] = (int32_t)(corral_stream_u64(i, t) & 1);
    TEST_OK(corral_env_batch_step_all(r->batch, &r->action_rows, &r->step));
}

static bool same(const rig *a, const rig *b)
{
    return memcmp(a->observation, b->observation, sizeof a->observation) == 0 &&
           memcmp(a->reward, b->reward, sizeof a->reward) == 0 &&
           memcmp(a->terminated, b->terminated, COUNT) == 0 && memcmp(a->truncated, b->truncated, COUNT) == 0;
}

/// Processes of ours that play environments.
static int hosts(void)
{
    int count = 0;
    DIR *folder = opendir("/proc");
    CU_ASSERT_PTR_NOT_NULL_FATAL(folder);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char path[300], line[300];
        snprintf(path, sizeof path, "/proc/%.20s/stat", entry->d_name);
        FILE *file = fopen(path, "r");
        if (file == NULL) continue;
        int parent = 0;
        if (fgets(line, sizeof line, file) != NULL && strstr(line, "(corral-env-host)") != NULL &&
            sscanf(strrchr(line, ')') + 1, " %*c %d", &parent) == 1)
            count += parent == getpid();
        fclose(file);
    }
    closedir(folder);
    return count;
}

static void the_game_is_the_same(void)
{
    static const char *const names[][2] = {
        {"CartPole-v1", "CartPole-v1+process"},
        {TROUBLESOME "Calm-v0", TROUBLESOME "Calm-v0+process=5"},
        {"CartPole-v1+time_limit=9+frame_stack=2", "CartPole-v1+time_limit=9+process+frame_stack=2"},
    };
    for (int n = 0; n < 3; n++) {
        rig a, b;
        rig_open(&a, names[n][0], NULL, true);
        rig_open(&b, names[n][1], NULL, true);
        CU_ASSERT_EQUAL(hosts(), COUNT);
        for (uint64_t t = 0; t < 60; t++) {
            CU_ASSERT_TRUE_FATAL(same(&a, &b));
            rig_step(&a, t);
            rig_step(&b, t);
        }
        corral_env_batch_destroy(a.batch);
        corral_env_batch_destroy(b.batch);
        CU_ASSERT_EQUAL(hosts(), 0);
    }
}

static void states_travel(void)
{
    rig a, b;
    rig_open(&a, TROUBLESOME "Calm-v0+process", NULL, true);
    for (uint64_t t = 0; t < 31; t++)
        rig_step(&a, t);
    const size_t each = corral_env_batch_state_size(a.batch);
    char *states = calloc(COUNT, each);
    for (uint32_t i = 0; i < COUNT; i++)
        corral_env_batch_save(a.batch, i, states + i * each);
    rig_open(&b, TROUBLESOME "Calm-v0+process", NULL, false);
    memcpy(b.observation, a.observation, sizeof b.observation);
    TEST_OK(corral_env_batch_load(b.batch, states, COUNT * each, &b.observation_rows));
    for (uint64_t t = 31; t < 70; t++) {
        rig_step(&a, t);
        rig_step(&b, t);
        CU_ASSERT_TRUE_FATAL(same(&a, &b));
    }
    free(states);
    corral_env_batch_destroy(a.batch);
    corral_env_batch_destroy(b.batch);
}

/// Each kind of trouble, at step 7 of each episode: it is told in words, it costs that step's episode, the
/// others go on, and the next one begins.
static void trouble_costs_one_episode(void)
{
    static const struct {
        const char *name, *sentence;
    } troubles[] = {
        {"Abort-v0+process", "its process was ended by signal 6 (Aborted)"},
        {"Exit-v0+process", "its process ended with exit code 0"},
        {"Hang-v0+process=0.2", "no answer within 0.2 s, so its process was ended"},
        {"Overrun-v0+process", "its process was ended by signal"},
        {"Error-v0+process", "the gearbox is stuck"},
    };
    const double always[] = {1};
    const bool sanitized = getenv("CORRAL_SANITIZER") != NULL && getenv("CORRAL_SANITIZER")[0] != '\0';
    for (size_t n = 0; n < sizeof troubles / sizeof *troubles; n++) {
        if (sanitized && strstr(troubles[n].name, "Overrun") != NULL)
            continue; // it reports and exits instead
        char name[600];
        snprintf(name, sizeof name, "%s%s", TROUBLESOME, troubles[n].name);
        rig r;
        rig_open(&r, name, always, true);
        for (uint64_t t = 1; t <= 2 * TROUBLE; t++) {
            rig_step(&r, t);
            CU_ASSERT_EQUAL(r.step.failed_count, t % TROUBLE == 0 ? COUNT : 0);
            CU_ASSERT_EQUAL(r.step.ended_count, 0);
            if (t % TROUBLE != 0) continue;
            const char *said = corral_env_batch_failure(r.batch);
            if (strstr(said, troubles[n].sentence) == NULL) fprintf(stderr, "%s\n", said);
            CU_ASSERT_PTR_NOT_NULL(strstr(said, troubles[n].sentence));
            CU_ASSERT_PTR_NOT_NULL(strstr(said, "environment 0, seed "));
            for (int i = 0; i < COUNT; i++)
                CU_ASSERT_EQUAL(r.observation[i][1], 0); // the first step of a new episode
        }
        CU_ASSERT_EQUAL(hosts(), COUNT);
        corral_env_batch_destroy(r.batch);
        CU_ASSERT_EQUAL(hosts(), 0);
    }
}

/// One process that is killed from outside is one environment's episode.
static void the_others_go_on(void)
{
    rig r;
    rig_open(&r, "CartPole-v1+process", NULL, true);
    rig_step(&r, 0);
    char path[100];
    int victim = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", getpid());
    FILE *children = fopen(path, "r");
    if (children == NULL || fscanf(children, "%d", &victim) != 1) victim = 0;
    if (children != NULL) fclose(children);
    if (victim > 0) {
        kill(victim, SIGKILL);
        rig_step(&r, 1);
        CU_ASSERT_EQUAL(r.step.failed_count, 1);
        CU_ASSERT_PTR_NOT_NULL(strstr(corral_env_batch_failure(r.batch), "signal 9 (Killed)"));
        rig_step(&r, 2);
        CU_ASSERT_EQUAL(r.step.failed_count, 0);
    }
    corral_env_batch_destroy(r.batch);
    CU_ASSERT_EQUAL(hosts(), 0);
}

static void pictures_come_through(void)
{
    rig a, b;
    rig_open(&a, "Chase-v0", NULL, false);
    rig_open(&b, "Chase-v0+process", NULL, false);
    static uint8_t frames[2][COUNT][42 * 42];
    const corral_env_rows rows[2] = {{frames[0], 42 * 42}, {frames[1], 42 * 42}};
    TEST_OK(corral_env_batch_reset(a.batch, &rows[0]));
    TEST_OK(corral_env_batch_reset(b.batch, &rows[1]));
    static corral_draw items[2][256];
    uint32_t count[2];
    for (int k = 0; k < 2; k++) {
        const rig *r = k == 0 ? &a : &b;
        const corral_env_render *render = corral_env_extension(r->type, CORRAL_ENV_RENDER);
        uint32_t index;
        const void *handle = corral_env_batch_handle(r->batch, 2, &index);
        count[k] = render->draw(handle, index, items[k], 256);
    }
    CU_ASSERT_TRUE(count[0] == count[1] && count[0] > 10);
    CU_ASSERT_EQUAL(memcmp(items[0], items[1], count[0] * sizeof items[0][0]), 0);
    corral_env_batch_destroy(a.batch);
    corral_env_batch_destroy(b.batch);
}

static void what_cannot_begin_is_told(void)
{
    const corral_env_type *type;
    TEST_FAILS(corral_env_find("CartPole-v1+process=0", &type), CORRAL_ERROR_INVALID, "process[=SECONDS]");
    TEST_FAILS(corral_env_find("CartPole-v1+process=soon", &type), CORRAL_ERROR_INVALID, "process[=SECONDS]");
    TEST_OK(corral_env_find("CartPole-v1+process", &type));
    double values[16];
    for (uint32_t i = 0; i < type->param_count; i++)
        values[i] = type->params[i].default_value;
    for (uint32_t i = 0; i < type->param_count; i++)
        if (strcmp(type->params[i].name, "reset_low") == 0) values[i] = type->params[i].max;
    const corral_env_batch_config config = {
        .type = type, .count = 1, .max_episode_steps = -1, .param_values = values};
    corral_env_batch *batch;
    TEST_FAILS(corral_env_batch_create(&config, &batch), CORRAL_ERROR_ENVIRONMENT,
               "reset_low is above reset_high");
    CU_ASSERT_EQUAL(hosts(), 0);
}

int main(void)
{
    return test_run("isolate", (test_case[]){{"the game is the same", the_game_is_the_same},
                                             {"states travel", states_travel},
                                             {"trouble costs one episode", trouble_costs_one_episode},
                                             {"the others go on", the_others_go_on},
                                             {"pictures come through", pictures_come_through},
                                             {"what cannot begin is told", what_cannot_begin_is_told},
                                             {NULL, NULL}});
}
