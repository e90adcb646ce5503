// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Wrappers against Gymnasium's of the same names, and what only ours promise.

#include "golden.h"

#include "corral/base/rng.h"
#include "corral/envs/batch.h"
#include "corral/envs/examine.h"
#include "corral/envs/registry.h"

#include "test.h"

#include <math.h>

enum { WIDTH = 64 };

/// One environment of a type, stepped by hand below the host.
typedef struct one {
    const corral_env_type *type;
    void *batch;
    int32_t discrete;
    float box, observation[WIDTH];
    double reward;
    uint8_t terminated, truncated, failed;
    corral_env_rows action_rows, observation_rows;
    corral_env_step io;
} one;

static void one_open(one *o, const corral_env_type *type)
{
    *o = (one){.type = type};
    double values[16];
    for (uint32_t i = 0; i < type->param_count; i++)
        values[i] = type->params[i].default_value;
    const corral_env_host *host = corral_env_host_default();
    CU_ASSERT_EQUAL_FATAL(type->create_for != NULL ? type->create_for(type, host, 1, values, &o->batch)
                                                   : type->batch->create(host, 1, values, &o->batch),
                          0);
    const bool discrete = type->spaces.action->kind == CORRAL_SPACE_DISCRETE;
    o->action_rows = (corral_env_rows){discrete ? (void *)&o->discrete : (void *)&o->box, 4};
    o->observation_rows = (corral_env_rows){o->observation, sizeof o->observation};
    o->io =
        (corral_env_step){sizeof o->io,  &o->action_rows, &o->observation_rows, &o->reward, &o->terminated,
                          &o->truncated, &o->failed};
}

static void one_close(one *o)
{
    o->type->batch->destroy(o->batch);
}

static void one_reset(one *o, uint64_t seed)
{
    CU_ASSERT_EQUAL_FATAL(o->type->batch->reset(o->batch, NULL, &seed, &o->io), 0);
}

static void one_step(one *o)
{
    o->truncated = o->failed = 0;
    CU_ASSERT_EQUAL_FATAL(o->type->batch->step(o->batch, &o->io), 0);
}

// --- CartPole as the recording has it: the first reset seeds, the others go on with the same generator

typedef struct pole {
    one inner;
    corral_rng rng;
} pole;

static const corral_env_type *cartpole;

static int32_t pole_create(const corral_env_host *host, uint32_t count, const double *values,
                           void **out_batch)
{
    (void)host, (void)count, (void)values;
    pole *p = calloc(1, sizeof *p);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    one_open(&p->inner, cartpole);
    *out_batch = p;
    return 0;
}

static void pole_destroy(void *batch)
{
    one_close(&((pole *)batch)->inner);
    free(batch);
}

static int32_t pole_reset(void *batch, const uint8_t *mask, const uint64_t *seed, const corral_env_step *out)
{
    (void)mask;
    pole *p = batch;
    one_reset(&p->inner, 0);
    if (seed[0] != 0) corral_rng_seed(&p->rng, seed[0]);
    struct {
        double number[4];
        uint64_t fallen;
    } state = {{0}, 0};
    float *row = out->observation->data;
    for (int i = 0; i < 4; i++)
        row[i] = (float)(state.number[i] = corral_rng_uniform(&p->rng, -0.05, 0.05));
    const corral_env_state *extension = cartpole->extension(CORRAL_ENV_STATE);
    return extension->load(p->inner.batch, 0, &state);
}

static int32_t pole_step(void *batch, const corral_env_step *io)
{
    return cartpole->batch->step(((pole *)batch)->inner.batch, io);
}

static const corral_env_batch_functions pole_functions = {pole_create, pole_destroy, pole_reset, pole_step};
static corral_env_type recorded_pole;

static const corral_env_type *wrapped(const corral_env_type *type, const char *wrapper)
{
    const corral_env_type *out = NULL;
    TEST_OK(corral_env_wrap(type, wrapper, &out));
    return out;
}

static cJSON *golden;

static const cJSON *golden_case(const char *name)
{
    return golden_at(golden_at(golden, "cases"), name);
}

/// Numbers of an array of any nesting, in order.
static int flat_numbers(const cJSON *item, float *out, int at)
{
    if (!cJSON_IsArray(item)) {
        out[at] = (float)golden_number(item);
        return at + 1;
    }
    const cJSON *child;
    cJSON_ArrayForEach(child, item) at = flat_numbers(child, out, at);
    return at;
}

static bool same_observation(const one *o, const cJSON *recorded)
{
    float expected[WIDTH];
    const int count = flat_numbers(recorded, expected, 0);
    CU_ASSERT_EQUAL_FATAL((size_t)count, corral_space_count(o->type->spaces.observation));
    return same_bytes(o->observation, expected, (size_t)count * sizeof(float));
}

/// Replays a case of CartPole; `skip_ends`: how an episode ends is told differently on purpose.
static void replay(const char *name, const char *wrapper, bool skip_ends)
{
    const cJSON *recorded = golden_case(name), *row;
    one o;
    one_open(&o, wrapped(&recorded_pole, wrapper));
    one_reset(&o, 123);
    CU_ASSERT_TRUE(same_observation(&o, golden_at(recorded, "reset_obs")));
    int steps = 0, ends = 0;
    cJSON_ArrayForEach(row, golden_at(recorded, "steps"))
    {
        o.discrete = golden_at(row, "action")->valueint;
        one_step(&o);
        const bool over = cJSON_IsTrue(golden_at(row, "terminated"));
        CU_ASSERT_EQUAL(o.terminated, over);
        CU_ASSERT_EQUAL(o.reward, golden_number(golden_at(row, "reward")));
        if (!over || !skip_ends) CU_ASSERT_TRUE(same_observation(&o, golden_at(row, "obs")));
        steps++;
        if (!over) continue;
        ends++;
        one_reset(&o, 0);
        CU_ASSERT_TRUE(same_observation(&o, golden_at(row, "reset_obs")));
    }
    CU_ASSERT_TRUE(steps >= 12);
    one_close(&o);
}

static void stacks_as_gymnasium_does(void)
{
    replay("FrameStack3_reset", "frame_stack=3", false);
    replay("FrameStack3_zero", "frame_stack=3:zero", false);
}

static void knows_the_time_as_gymnasium_does(void)
{
    replay("TimeAware", "time_aware", false);
}

/// Gymnasium's buffer holds frames of an earlier step where an episode ends before it was filled; ours has
/// the frames that were played.
static void skips_as_gymnasium_does_but_for_ends(void)
{
    replay("MaxAndSkip4", "max_and_skip=4", true);
}

/// Recorded with the older NumPy, whose rewards differ from ours in the last digits of a float.
static void replay_pendulum(const char *name, const char *wrapper)
{
    const corral_env_type *pendulum;
    TEST_OK(corral_env_find("Pendulum-v1", &pendulum));
    const cJSON *recorded = golden_case(name), *row;
    one o;
    one_open(&o, wrapped(pendulum, wrapper));
    one_reset(&o, 123);
    CU_ASSERT_TRUE(same_observation(&o, golden_at(recorded, "reset_obs")));
    cJSON_ArrayForEach(row, golden_at(recorded, "steps"))
    {
        o.box = (float)golden_number(cJSON_GetArrayItem(golden_at(row, "action"), 0));
        one_step(&o);
        CU_ASSERT_TRUE(same_observation(&o, golden_at(row, "obs")));
        CU_ASSERT_DOUBLE_EQUAL(o.reward, golden_number(golden_at(row, "reward")), 2e-7);
    }
    one_close(&o);
}

static void acts_as_gymnasium_does(void)
{
    replay_pendulum("RescaleAction(-1,1)_Pendulum", "rescale_action");
    replay_pendulum("ClipAction_Pendulum", "clip_action");
}

// --- below the host

enum { COUNT = 5 };
typedef struct many {
    corral_env_batch *batch;
    int32_t action[COUNT];
    float observation[COUNT][WIDTH];
    double reward[COUNT];
    uint8_t terminated[COUNT], truncated[COUNT], failed[COUNT];
    corral_episode ended[COUNT];
    uint32_t ended_row[COUNT];
    corral_env_rows action_rows, observation_rows;
    corral_env_batch_step step;
} many;

static void many_open(many *m, const char *name)
{
    memset(m, 0, sizeof *m);
    corral_env_batch_config config = {
        .count = COUNT, .run_seed = 3, .role = CORRAL_STREAM_ENVIRONMENT, .max_episode_steps = -1};
    TEST_OK(corral_env_find(name, &config.type));
    m->action_rows = (corral_env_rows){m->action, sizeof m->action[0]};
    m->observation_rows = (corral_env_rows){m->observation, sizeof m->observation[0]};
    m->step = (corral_env_batch_step){.observation = &m->observation_rows,
                                      .reward = m->reward,
                                      .terminated = m->terminated,
                                      .truncated = m->truncated,
                                      .ended = m->ended,
                                      .ended_row = m->ended_row,
                                      .failed = m->failed};
    TEST_OK(corral_env_batch_create(&config, &m->batch));
    TEST_OK(corral_env_batch_reset(m->batch, &m->observation_rows));
}

static void many_step(many *m)
{
    TEST_OK(corral_env_batch_step_all(m->batch, &m->action_rows, &m->step));
}

/// As the recording of RecordEpisodeStatistics has it: return 5, length 5.
static void limits_and_counts(void)
{
    many m;
    many_open(&m, "CartPole-v1+time_limit=5");
    for (int t = 1; t <= 20; t++) {
        for (int i = 0; i < COUNT; i++)
            m.action[i] = t & 1;
        many_step(&m);
        CU_ASSERT_EQUAL_FATAL(m.step.ended_count, t % 5 == 0 ? COUNT : 0);
        for (uint32_t k = 0; k < m.step.ended_count; k++) {
            CU_ASSERT_EQUAL(m.ended[k].length, 5);
            CU_ASSERT_EQUAL(m.ended[k].episode_return, 5);
            CU_ASSERT_TRUE(m.ended[k].truncated && !m.ended[k].terminated);
        }
    }
    corral_env_batch_destroy(m.batch);
}

static void limits_count_outer_steps(void)
{
    const corral_env_type *type;
    TEST_OK(corral_env_find("CartPole-v1+frame_skip=3", &type));
    CU_ASSERT_EQUAL(type->max_episode_steps, 167);
    TEST_OK(corral_env_find("CartPole-v1+frame_skip=3+time_limit=9", &type));
    CU_ASSERT_EQUAL(type->max_episode_steps, 9);
    TEST_OK(corral_env_find("CartPole-v1+time_limit=9+frame_skip=3", &type));
    CU_ASSERT_EQUAL(type->max_episode_steps, 3);
    TEST_OK(corral_env_find("CartPole-v1+time_limit=900", &type));
    CU_ASSERT_EQUAL(type->max_episode_steps, 500);
    CU_ASSERT_STRING_EQUAL(type->id, "CartPole-v1+time_limit=900");
}

/// The learner sees what the stages make of rewards; people see what the rules said.
static void returns_are_told_as_the_rules_gave_them(void)
{
    static const char *const names[] = {"CartPole-v1+scale_reward=0.5+time_limit=8",
                                        "CartPole-v1+clip_reward=0:0.25+time_limit=8",
                                        "CartPole-v1+scale_reward=-3+frame_skip=2+clip_reward+time_limit=4"};
    static const double rewards[] = {0.5, 0.25, -1};
    for (int n = 0; n < 3; n++) {
        many m;
        many_open(&m, names[n]);
        bool ended = false;
        for (int t = 1; !ended && t <= 8; t++) {
            for (int i = 0; i < COUNT; i++)
                m.action[i] = n == 2 ? 0 : t & 1;
            many_step(&m);
            for (int i = 0; i < COUNT; i++)
                CU_ASSERT_EQUAL(m.reward[i], rewards[n]);
            ended = m.step.ended_count > 0;
        }
        CU_ASSERT_TRUE_FATAL(ended);
        CU_ASSERT_EQUAL(m.ended[0].episode_return, 8);
        corral_env_batch_destroy(m.batch);
    }
}

/// A stack is one name, and one type however often it is asked for.
static void one_name_is_one_type(void)
{
    const corral_env_type *a, *b, *c;
    TEST_OK(corral_env_find("CartPole-v1+frame_stack=4+flatten", &a));
    TEST_OK(corral_env_find("CartPole-v1+frame_stack=4+flatten", &b));
    TEST_OK(corral_env_find("CartPole-v0+frame_stack=4+flatten", &c));
    CU_ASSERT_PTR_EQUAL(a, b);
    CU_ASSERT_PTR_NOT_EQUAL(a, c);
    CU_ASSERT_EQUAL(corral_space_count(a->spaces.observation), 16);
    char *path = corral_env_library_path(PLUGIN_DIR "/right.so:Right-v0+frame_stack=2");
    CU_ASSERT_STRING_EQUAL_FATAL(path, PLUGIN_DIR "/right.so");
    free(path);
    TEST_OK(corral_env_find(PLUGIN_DIR "/right.so:Right-v0+frame_stack=2", &a));
}

static void what_does_not_fit_is_refused(void)
{
    static const struct {
        const char *name, *sentence;
    } wrong[] = {
        {"CartPole-v1+frame_stak=4", "no wrapper frame_stak; did you mean frame_stack?"},
        {"CartPole-v1+frame_stack", "it is written frame_stack=N[:zero]"},
        {"CartPole-v1+frame_stack=0", "1 to 64 frames"},
        {"CartPole-v1+frame_stack=4:5", "it is written"},
        {"CartPole-v1+frame_stack=four", "\"four\" is not a number"},
        {"CartPole-v1+frame_stack=nan", "\"nan\" is not a number"},
        {"CartPole-v1+grey", "no observation is a picture"},
        {"CartPole-v1+resize=42", "no observation is a picture"},
        {"CartPole-v1+one_hot", "no observation is a Discrete"},
        {"CartPole-v1+clip_action", "no action is a Box"},
        {"CartPole-v1+clip_reward=1:-1", "wrong order"},
        {"CartPole-v1+clip_reward=1", "two bounds"},
        {"CartPole-v1+scale_reward=0", "no reward"},
        {"CartPole-v1+time_limit=0", "at least 1"},
        {"CartPole-v1+time_limit=1.5", "at least 1"},
        {"CartPole-v1+frame_skip=0", "1 to 1000"},
        {"FrozenLake-v1+time_aware", "put flatten before it"},
        {"CliffWalking-v1+flatten+time_fraction", "put time_limit before it"},
        {"Pendulum-v1+rescale_action=1:1", "is empty"},
        {"Pendulum-v1+clip_action+rescale_action", "has no bounds"},
        {"CartPole-v1+", "no wrapper"},
        {"CartPole-v1++grey", "no wrapper"},
        {"CartPole-v1+frame_stack=4=4", "is not a number"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const corral_env_type *type;
        const corral_status status = corral_env_find(wrong[i].name, &type);
        CU_ASSERT_NOT_EQUAL(status, CORRAL_OK);
        if (strstr(corral_last_error(), wrong[i].sentence) == NULL) {
            fprintf(stderr, "%s: %s\n", wrong[i].name, corral_last_error());
            CU_FAIL("another sentence was expected");
        }
    }
}

/// Determinism, batches of any cut, save and load in the middle, memory: the examiner's rules hold for
/// stacks.
static void stacks_pass_the_examiner(void)
{
    static const char *const names[] = {
        "CartPole-v1+max_and_skip=2+frame_stack=3+flatten+time_fraction+clip_reward",
        "FrozenLake-v1+one_hot+frame_stack=2:zero",
        "Pendulum-v1+rescale_action=-3:3+clip_action+scale_reward=0.1+time_aware+time_limit=50",
        "Blackjack-v1+flatten",
        PLUGIN_DIR "/leaves.so+flatten+frame_stack=2",
        PLUGIN_DIR "/right.so:Right-v0+frame_skip=3",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const corral_env_type *type;
        TEST_OK(corral_env_find(names[i], &type));
        corral_examine_config config = corral_examine_config_default(type);
        config.leak_steps = 2000;
        corral_examine_report report;
        TEST_OK(corral_env_examine(&config, &report));
        CU_ASSERT_EQUAL(report.failed, 0);
        for (uint32_t k = 0; k < report.count; k++)
            if (report.result[k].verdict == CORRAL_VERDICT_FAILED)
                fprintf(stderr, "%s: %s: %s\n", names[i], report.result[k].rule, report.result[k].sentence);
    }
}

// --- pictures

static int32_t picture_reset(void *instance, uint64_t seed, void *observation)
{
    static const uint8_t colors[6][3] = {{255, 255, 255}, {255, 0, 0},  {0, 255, 0},
                                         {0, 0, 255},     {12, 34, 56}, {200, 100, 50}};
    (void)instance, (void)seed;
    memcpy(observation, colors, sizeof colors);
    return 0;
}

static int32_t picture_step(void *instance, const void *action, void *observation, corral_env_result *result)
{
    (void)action, (void)result;
    return picture_reset(instance, 0, observation);
}

static const corral_env_single picture_single = {1, NULL, NULL, picture_reset, picture_step};
static const corral_space picture_observation = {.path = "",
                                                 .kind = CORRAL_SPACE_BOX,
                                                 .dtype = CORRAL_SPACE_U8,
                                                 .dimension_count = 3,
                                                 .shape = {2, 3, 3},
                                                 .high = 255};
static const corral_space picture_action = {
    .path = "", .kind = CORRAL_SPACE_DISCRETE, .dtype = CORRAL_SPACE_I32, .n = 2};
static const corral_env_type picture = {.size = sizeof(corral_env_type),
                                        .id = "Picture-v0",
                                        .summary = "six pixels",
                                        .spaces = {&picture_observation, 1, &picture_action, 1},
                                        .reward_threshold = NAN,
                                        .single = &picture_single};

/// Gymnasium's GrayscaleObservation gives these for the six colours above.
static void grey_as_gymnasium_does(void)
{
    static const uint8_t expected[6] = {255, 54, 182, 18, 30, 117};
    one o;
    one_open(&o, wrapped(&picture, "grey"));
    one_reset(&o, 1);
    CU_ASSERT_TRUE(same_bytes(o.observation, expected, sizeof expected));
    CU_ASSERT_EQUAL(o.type->spaces.observation->dimension_count, 2);
    one_close(&o);
}

static void resize_takes_means(void)
{
    // 2 x 3 to 1 x 1: the mean of all; to 4 x 3: rows twice; to 2 x 2: a pixel and a half each.
    static const uint8_t mean[3] = {(255 + 255 + 0 + 0 + 12 + 200 + 3) / 6,
                                    (255 + 0 + 255 + 0 + 34 + 100 + 3) / 6,
                                    (255 + 0 + 0 + 255 + 56 + 50 + 3) / 6};
    one o;
    one_open(&o, wrapped(&picture, "resize=1"));
    one_reset(&o, 1);
    CU_ASSERT_TRUE(same_bytes(o.observation, mean, sizeof mean));
    one_close(&o);

    one_open(&o, wrapped(&picture, "resize=4:3"));
    one_reset(&o, 1);
    const uint8_t *pixel = (const uint8_t *)o.observation;
    CU_ASSERT_TRUE(same_bytes(pixel, pixel + 9, 9) && same_bytes(pixel + 18, pixel + 27, 9));
    CU_ASSERT_EQUAL(pixel[3], 255);
    one_close(&o);

    one_open(&o, wrapped(&picture, "resize=2"));
    one_reset(&o, 1);
    pixel = (const uint8_t *)o.observation;
    CU_ASSERT_EQUAL(pixel[0], 255);                    // 255 and half of 255
    CU_ASSERT_EQUAL(pixel[3], (255 + 1) / 3);          // half of 255, and 0
    CU_ASSERT_EQUAL(pixel[6 + 3], (12 + 400 + 1) / 3); // half of 12, and 200
    one_close(&o);
}

static void opens_the_recording(void)
{
    golden = golden_read("wrappers.json");
    TEST_OK(corral_env_find("CartPole-v1", &cartpole));
    recorded_pole = *cartpole;
    recorded_pole.id = "RecordedPole-v1";
    recorded_pole.batch = &pole_functions;
    recorded_pole.extension = NULL;
}

int main(void)
{
    const int result = test_run(
        "wrappers",
        (test_case[]){{"opens the recording", opens_the_recording},
                      {"stacks as Gymnasium does", stacks_as_gymnasium_does},
                      {"knows the time as Gymnasium does", knows_the_time_as_gymnasium_does},
                      {"skips as Gymnasium does but for ends", skips_as_gymnasium_does_but_for_ends},
                      {"acts as Gymnasium does", acts_as_gymnasium_does},
                      {"limits and counts", limits_and_counts},
                      {"limits count outer steps", limits_count_outer_steps},
                      {"returns are told as the rules gave them", returns_are_told_as_the_rules_gave_them},
                      {"one name is one type", one_name_is_one_type},
                      {"what does not fit is refused", what_does_not_fit_is_refused},
                      {"grey as Gymnasium does", grey_as_gymnasium_does},
                      {"resize takes means", resize_takes_means},
                      {"stacks pass the examiner", stacks_pass_the_examiner},
                      {NULL, NULL}});
    cJSON_Delete(golden);
    return result;
}
