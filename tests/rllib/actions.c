// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Actions of every space, through rollouts, updates and evaluation.
#include "test.h"

#include "learner/batch.h"
#include "ppo/ppo.h"
#include "rollout/rollout.h"

#include "corral/core/distributions.h"
#include "corral/envs/registry.h"
#include "corral/rllib/evaluate.h"

#include <math.h>
#include <unistd.h>

enum { ENVS = 6, STEPS = 30 };

typedef struct kind {
    const char *env;
    corral_deviation_kind deviation;
    bool squash, rescale, masked, shared;
    corral_cnn cnn;
    corral_memory memory;
} kind;

static const kind kinds[] = {
    {"Pendulum-v1", CORRAL_DEVIATION_FREE, false, false, false, false},
    {"Pendulum-v1", CORRAL_DEVIATION_FREE, false, true, false, true},
    {"Pendulum-v1", CORRAL_DEVIATION_STATE, false, false, false, false},
    {"Pendulum-v1", CORRAL_DEVIATION_GSDE, false, false, false, true},
    {"MountainCarContinuous-v0", CORRAL_DEVIATION_FREE, true, false, false, false},
    {"MountainCarContinuous-v0", CORRAL_DEVIATION_GSDE, true, false, false, false},
    {"Taxi-v4", CORRAL_DEVIATION_FREE, false, false, true, false},
    {"Switchboard-v0", CORRAL_DEVIATION_FREE, false, false, true, true},
    {"Switchboard-v0", CORRAL_DEVIATION_FREE, false, false, false, false},
    {"Chase-v0", CORRAL_DEVIATION_FREE, false, false, false, true, CORRAL_CNN_SMALL},
    {"Chase-v0", CORRAL_DEVIATION_FREE, false, false, false, false, CORRAL_CNN_NATURE},
    {"Recall-v0", CORRAL_DEVIATION_FREE, false, false, false, true, CORRAL_CNN_NONE, CORRAL_MEMORY_LSTM},
    {"Switchboard-v0", CORRAL_DEVIATION_FREE, false, false, true, true, CORRAL_CNN_NONE, CORRAL_MEMORY_GRU},
    {"Pendulum-v1", CORRAL_DEVIATION_GSDE, false, false, false, true, CORRAL_CNN_NONE, CORRAL_MEMORY_LSTM},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

typedef struct stage {
    environment_setup setup;
    rollout_config config;
    corral_policy *policy;
    corral_train_config train;
} stage;

static void stage_init(stage *s, const kind *k)
{
    s->train = corral_train_config_default();
    snprintf(s->train.env, sizeof s->train.env, "%s", k->env);
    s->train.ppo.steps = STEPS;
    s->train.ppo.sequence = 10;
    s->train.seed = 4;
    s->train.max_episode_steps = 17; // so that episodes are cut off
    TEST_OK(environment_setup_init(&s->setup, s->train.env, NULL));
    corral_policy_config policy;
    memset(&policy, 0, sizeof policy);
    environment_spaces_describe(&s->setup.spaces, k->masked, &policy);
    policy.hidden = (corral_sizes){2, {32, 16}};
    policy.activation = CORRAL_TANH;
    policy.shared = k->shared;
    policy.normalize_observation = true;
    policy.observation_clip = 10;
    policy.cnn = k->cnn;
    policy.memory = k->memory;
    policy.memory_units = k->memory != CORRAL_MEMORY_NONE ? 12 : 0;
    policy.deviation = k->deviation;
    policy.squash = k->squash;
    policy.rescale = k->rescale;
    policy.log_std_init = k->deviation == CORRAL_DEVIATION_GSDE ? -1.5 : -0.5;
    policy.noise_every = 4;
    TEST_OK(corral_policy_create(&policy, 4, &s->policy));
    TEST_OK(rollout_config_init(&s->config, &s->train, &s->setup, &policy));
}

static void stage_finish(stage *s)
{
    corral_policy_destroy(s->policy);
}

/// Plays a round with the environments cut into `parts` slices.
static void play(stage *s, uint32_t parts, batch *b)
{
    rollout_slice *slices[ENVS];
    void *blocks[ENVS];
    corral_fragment fragments[ENVS];
    TEST_OK(batch_init(b, ENVS, STEPS, corral_policy_get_config(s->policy)));
    TEST_OK(batch_keep_log_probs(b));
    if (corral_policy_get_config(s->policy)->memory != CORRAL_MEMORY_NONE)
        TEST_OK(batch_keep_memory(b, s->config.sequence, corral_policy_get_config(s->policy)));
    for (uint32_t i = 0; i < parts; i++) {
        const uint32_t begin = ENVS * i / parts, end = ENVS * (i + 1) / parts;
        TEST_OK(rollout_slice_create(&s->config, &s->setup, begin, end - begin, &slices[i]));
        const corral_fragment_layout *layout = rollout_slice_layout(slices[i]);
        blocks[i] = aligned_alloc(64, (layout->capacity + 63) / 64 * 64);
        CU_ASSERT_PTR_NOT_NULL_FATAL(blocks[i]);
        const rollout_request request = {.env_count = end - begin};
        size_t length;
        TEST_OK(rollout_slice_seek(slices[i], &request, NULL));
        TEST_OK(rollout_slice_collect(slices[i], s->policy, i, NULL, blocks[i], layout->capacity, &length));
        TEST_OK(corral_fragment_open(layout, blocks[i], length, &fragments[i]));
    }
    TEST_OK(batch_gather(b, fragments, parts, s->policy));
    for (uint32_t i = 0; i < parts; i++) {
        rollout_slice_destroy(slices[i]);
        free(blocks[i]);
    }
}

#define SAME(column, count) CU_ASSERT_EQUAL(memcmp(a.column, b.column, (count) * sizeof *a.column), 0)

static void any_cutting_gives_the_same_actions(void)
{
    for (int i = 0; i < KINDS; i++) {
        stage s;
        batch a, b;
        stage_init(&s, &kinds[i]);
        play(&s, 1, &a);
        play(&s, 4, &b);
        CU_ASSERT_TRUE(a.episode_count >= ENVS);
        SAME(raw, a.rows * a.observation_bytes);
        SAME(action, a.rows * a.action_words);
        SAME(mask, a.rows * a.mask_bytes);
        SAME(log_prob, a.rows);
        SAME(log_probs, a.rows * a.actions);
        SAME(value, a.rows);
        if (a.sequence > 0) SAME(memory, a.rows / a.sequence * a.memory_size);
        if (a.sequence > 0) SAME(reset, a.rows);
        batch_finish(&a);
        batch_finish(&b);
        stage_finish(&s);
    }
}

static void updating(stage *s, batch *b, double kl_coefficient, ppo_result *out)
{
    corral_team *team;
    ppo *p;
    corral_ppo_config config = s->train.ppo;
    config.epochs = 1;
    config.kl_coefficient = kl_coefficient;
    config.entropy_coefficient = (corral_schedule){0.01, 0.01};
    TEST_OK(corral_team_create(2, &team));
    TEST_OK(ppo_create(&config, 1, s->policy, team, &p));
    const ppo_moment now = {.kl_coefficient = kl_coefficient};
    TEST_OK(ppo_update(p, b, &now, out));
    ppo_destroy(p);
    corral_team_destroy(team);
}

/// The learner computes the very log-probabilities that the workers did.
static void the_first_ratio_is_exactly_one(void)
{
    for (int i = 0; i < KINDS; i++) {
        stage s;
        batch b;
        ppo_result result;
        stage_init(&s, &kinds[i]);
        play(&s, 2, &b);
        updating(&s, &b, 0.5, &result);
        CU_ASSERT_EQUAL(result.first_ratio_deviation, 0);
        CU_ASSERT_DOUBLE_EQUAL(result.kl, 0, 1e-7); // one minibatch, before anything has moved
        CU_ASSERT_EQUAL(result.minibatches, 1);
        CU_ASSERT_EQUAL(result.skipped, 0);
        CU_ASSERT_TRUE(isfinite(result.entropy) && result.grad_norm > 0);
        updating(&s, &b, 0.5, &result); // the same rows, now from an older policy
        CU_ASSERT_TRUE(result.first_ratio_deviation > 0);
        CU_ASSERT_TRUE(result.kl > 0);
        batch_finish(&b);
        stage_finish(&s);
    }
}

static void what_a_mask_forbids_is_never_done(void)
{
    for (int i = 0; i < KINDS; i++) {
        if (!kinds[i].masked) continue;
        stage s;
        batch b;
        stage_init(&s, &kinds[i]);
        play(&s, 2, &b);
        const uint32_t sizes[2] = {b.action_words == 1 ? 6 : 4, 4};
        size_t forbidden = 0;
        for (size_t row = 0; row < b.rows; row++) {
            const uint8_t *mask = b.mask + row * b.mask_bytes;
            for (uint32_t w = 0; w < b.action_words; mask += sizes[w++]) {
                CU_ASSERT_EQUAL(mask[b.action[row * b.action_words + w]], 1);
                for (uint32_t c = 0; c < sizes[w]; c++)
                    forbidden += !mask[c];
            }
        }
        CU_ASSERT_TRUE(forbidden > b.rows / 2); // or there was nothing to be seen
        batch_finish(&b);
        stage_finish(&s);
    }
}

// --- numbers ----------------------------------------------------------------------------------------------

static corral_policy_config numbers_config(uint32_t dtype, double low, double high)
{
    return (corral_policy_config){
        .observation_size = 1,
        .action_count = 4,
        .action =
            {.row_bytes = 16,
             .part_count = 1,
             .part = {{.kind = CORRAL_PART_NUMBERS, .dtype = dtype, .count = 2, .low = low, .high = high}}},
        .hidden = {1, {4}},
        .noise_every = 1,
        .observation_clip = 10};
}

static double env_number(const corral_policy_config *config, float x)
{
    int32_t words[2];
    memcpy(&words[0], &x, sizeof x);
    words[1] = words[0];
    union {
        float f32[2];
        double f64[2];
        int32_t i32[2];
        uint8_t u8[2];
    } row;
    corral_policy_env_action(config, words, &row);
    switch (config->action.part[0].dtype) {
    case CORRAL_PART_F32:
        return (double)row.f32[1];
    case CORRAL_PART_F64:
        return row.f64[1];
    case CORRAL_PART_U8:
        return row.u8[1];
    default:
        return row.i32[1];
    }
}

static void numbers_are_clipped_or_scaled_as_asked(void)
{
    corral_policy_config config = numbers_config(CORRAL_PART_F32, 0, 5);
    CU_ASSERT_EQUAL(env_number(&config, 1.25f), 1.25); // as it was drawn
    CU_ASSERT_EQUAL(env_number(&config, -3), 0);
    CU_ASSERT_EQUAL(env_number(&config, 7), 5);
    config.rescale = true;
    CU_ASSERT_EQUAL(env_number(&config, -1), 0);
    CU_ASSERT_EQUAL(env_number(&config, 0), 2.5);
    CU_ASSERT_EQUAL(env_number(&config, 1), 5);
    CU_ASSERT_EQUAL(env_number(&config, 1.5f), 5); // and within its bounds
    config.squash = true;
    CU_ASSERT_DOUBLE_EQUAL(env_number(&config, 0.5f), 2.5 * (1 + tanh(0.5)), 1e-6);
    CU_ASSERT_EQUAL(env_number(&config, 100), 5);
    config = numbers_config(CORRAL_PART_F64, -INFINITY, INFINITY);
    config.rescale = true; // into no bounds: left alone
    CU_ASSERT_EQUAL(env_number(&config, -123.5f), -123.5);
    config = numbers_config(CORRAL_PART_I32, -1, 1);
    CU_ASSERT_EQUAL(env_number(&config, -0.6f), -1);
    CU_ASSERT_EQUAL(env_number(&config, 0.4f), 0);
    CU_ASSERT_EQUAL(env_number(&config, 1e30f), 1);
    config = numbers_config(CORRAL_PART_U8, 0, 255);
    CU_ASSERT_EQUAL(env_number(&config, 300), 255);
    CU_ASSERT_EQUAL(env_number(&config, -4), 0);
}

/// Bounds like 0.1 are not whole in f32, and the host compares in f32.
static void every_number_lies_in_its_space(void)
{
    corral_policy_config config = numbers_config(CORRAL_PART_F32, -0.1, 0.1);
    for (int i = -40; i <= 40; i++) {
        const double x = env_number(&config, (float)i * 0.01f);
        CU_ASSERT_TRUE(x >= (double)-0.1f && x <= (double)0.1f);
    }
}

static void squashing_needs_bounds(void)
{
    corral_policy_config config = numbers_config(CORRAL_PART_F32, 0, INFINITY);
    config.squash = true;
    corral_policy *policy;
    TEST_FAILS(corral_policy_create(&config, 1, &policy), CORRAL_ERROR_INVALID, "network.squash");
}

/// The golden diagonal normal: mean (0.1, -0.3), log_std (-0.5, 0.2), action (0.4, -1).
static void a_density_is_that_of_the_reference(void)
{
    const float mean[] = {0.1f, -0.3f}, log_std[] = {-0.5f, 0.2f}, action[] = {0.4f, -1.0f};
    float log_prob;
    corral_normal_log_probs(1, 2, mean, log_std, CORRAL_LOG_STD_SHARED, action, &log_prob);
    CU_ASSERT_DOUBLE_EQUAL(log_prob, -1.8244281599687342, 1e-6);
}

static void gsde_keeps_its_noise_for_some_steps(void)
{
    corral_policy_config config = numbers_config(CORRAL_PART_F32, -1, 1);
    config.deviation = CORRAL_DEVIATION_GSDE;
    config.noise_every = 3;
    const size_t width = corral_policy_noise_width(&config);
    CU_ASSERT_EQUAL_FATAL(width, 4 * 2);
    float noise[7][8], again[8];
    for (uint64_t step = 0; step < 7; step++) {
        if (step > 0) memcpy(noise[step], noise[step - 1], sizeof noise[0]);
        corral_policy_draw(&config, 5, step, step == 0, noise[step]);
        corral_policy_draw(&config, 5, step, true, again); // as one who begins here
        CU_ASSERT_EQUAL(memcmp(noise[step], again, sizeof again), 0);
        if (step > 0) CU_ASSERT_EQUAL(memcmp(noise[step], noise[step - 1], sizeof again) == 0, step % 3 != 0);
    }
}

// --- files and evaluation ---------------------------------------------------------------------------------

static void the_file_keeps_every_kind(void)
{
    char path[] = "/tmp/corral-actions-XXXXXX";
    const int file = mkstemp(path);
    CU_ASSERT_TRUE_FATAL(file >= 0);
    close(file);
    for (int i = 0; i < KINDS; i++) {
        stage s;
        corral_policy *loaded;
        corral_evaluation_result one, two;
        stage_init(&s, &kinds[i]);
        TEST_OK(corral_policy_write(s.policy, path));
        TEST_OK(corral_policy_read(path, &loaded));
        const corral_evaluation_request request = {.type = s.setup.type,
                                                   .param_values = s.setup.values,
                                                   .max_episode_steps = 40,
                                                   .seed = 3,
                                                   .episodes = 3,
                                                   .stochastic = true};
        TEST_OK(corral_evaluate(&request, s.policy, &one));
        TEST_OK(corral_evaluate(&request, loaded, &two));
        CU_ASSERT_EQUAL(one.mean_return, two.mean_return);
        corral_policy_destroy(loaded);
        stage_finish(&s);
    }
    unlink(path);
}

int main(void)
{
    return test_run("actions",
                    (test_case[]){
                        {"any cutting gives the same actions", any_cutting_gives_the_same_actions},
                        {"the first ratio is exactly one", the_first_ratio_is_exactly_one},
                        {"what a mask forbids is never done", what_a_mask_forbids_is_never_done},
                        {"numbers are clipped or scaled as asked", numbers_are_clipped_or_scaled_as_asked},
                        {"every number lies in its space", every_number_lies_in_its_space},
                        {"squashing needs bounds", squashing_needs_bounds},
                        {"a density is that of the reference", a_density_is_that_of_the_reference},
                        {"gsde keeps its noise for some steps", gsde_keeps_its_noise_for_some_steps},
                        {"the file keeps every kind", the_file_keeps_every_kind},
                        {NULL, NULL},
                    });
}
