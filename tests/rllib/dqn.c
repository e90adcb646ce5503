// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The update of DQN: its targets, what comes into the replay, the target network, and that neither threads
/// nor the cutting of a round change a bit.
#include "rig.h"

#include "corral/base/file.h"
#include "corral/base/rng.h"
#include "dqn/dqn.h"

#include <cjson/cJSON.h>

// --- targets ----------------------------------------------------------------------------------------------

static void read_numbers(const cJSON *list, float *out)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        if (cJSON_IsArray(item)) {
            read_numbers(item, out);
            out += cJSON_GetArraySize(item);
        } else {
            *out++ = (float)item->valuedouble;
        }
    }
}

static void targets_match_the_reference(void)
{
    char *text;
    size_t size;
    TEST_OK(corral_file_read(CORRAL_SOURCE_DIR "/tests/golden/algo_numerics.json", 1 << 20, &text, &size));
    cJSON *root = cJSON_ParseWithLength(text, size);
    const cJSON *golden = cJSON_GetObjectItem(cJSON_GetObjectItem(root, "cases"), "dqn_target");
    CU_ASSERT_PTR_NOT_NULL_FATAL(golden);
    float reward[2], terminated[2], discount[2], online[4], target[4], expected[2], found[2];
    read_numbers(cJSON_GetObjectItem(golden, "rewards"), reward);
    read_numbers(cJSON_GetObjectItem(golden, "terminated"), terminated);
    read_numbers(cJSON_GetObjectItem(golden, "q_next_online"), online);
    read_numbers(cJSON_GetObjectItem(golden, "q_next_target"), target);
    for (int i = 0; i < 2; i++)
        discount[i] = terminated[i] != 0 ? 0 : (float)cJSON_GetObjectItem(golden, "gamma")->valuedouble;
    read_numbers(cJSON_GetObjectItem(golden, "target_dqn"), expected);
    int32_t best[2];
    corral_categorical_mode(2, 2, target, best);
    dqn_targets(2, 2, reward, discount, target, best, found);
    for (int i = 0; i < 2; i++)
        CU_ASSERT_DOUBLE_EQUAL(found[i], expected[i], 1e-6);
    read_numbers(cJSON_GetObjectItem(golden, "target_double_dqn"), expected);
    corral_categorical_mode(2, 2, online, best);
    dqn_targets(2, 2, reward, discount, target, best, found);
    for (int i = 0; i < 2; i++)
        CU_ASSERT_DOUBLE_EQUAL(found[i], expected[i], 1e-6);
    cJSON_Delete(root);
    free(text);
}

static void nothing_comes_after_an_end(void)
{
    const float reward[2] = {1, 1}, discount[2] = {0.5f, 0}, target[4] = {10, 20, INFINITY, NAN};
    const int32_t next[2] = {1, 1};
    float found[2];
    dqn_targets(2, 2, reward, discount, target, next, found);
    CU_ASSERT_EQUAL(found[0], 11);
    CU_ASSERT_EQUAL(found[1], 1);
}

static void exploration_falls_and_stays(void)
{
    corral_dqn_config config = corral_train_config_default().dqn;
    config.epsilon_start = 1;
    config.epsilon_end = 0.1;
    config.exploration_fraction = 0.5;
    CU_ASSERT_EQUAL(dqn_epsilon(&config, 0), 1);
    CU_ASSERT_DOUBLE_EQUAL(dqn_epsilon(&config, 0.25), 0.55, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(dqn_epsilon(&config, 0.5), 0.1, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(dqn_epsilon(&config, 1), 0.1, 1e-12);
    config.exploration_fraction = 0;
    CU_ASSERT_DOUBLE_EQUAL(dqn_epsilon(&config, 0), 0.1, 1e-12);
}

// --- a learner --------------------------------------------------------------------------------------------

typedef struct learner {
    rig rig;
    corral_team *team;
    dqn *dqn;
    corral_dqn_config config;
    uint64_t env_steps, draws;
} learner;

static void learner_init(learner *l, unsigned threads, int64_t max_episode_steps)
{
    rig *r = &l->rig;
    memset(l, 0, sizeof *l);
    rig_init(r, max_episode_steps);
    corral_policy_destroy(r->policy);
    r->policy_config.kind = CORRAL_POLICY_Q;
    r->policy_config.dueling = true;
    TEST_OK(corral_policy_create(&r->policy_config, 4, &r->policy));
    TEST_OK(rollout_config_init(&r->config, &r->train, &r->setup, &r->policy_config));
    l->config = r->train.dqn;
    l->config.buffer_size = 2000;
    l->config.learning_starts = 100;
    l->config.minibatch = 200; // several lanes
    l->config.gradient_steps = 5;
    l->config.n_step = (corral_sizes){1, {3}};
    l->config.priority_alpha = 0.6;
    TEST_OK(corral_team_create(threads, &l->team));
}

/// With the configuration as it is by now.
static void learner_start(learner *l)
{
    TEST_OK(dqn_create(&l->config, 4, ENVS, STEPS, l->rig.policy, l->team, &l->dqn));
}

static void learner_finish(learner *l)
{
    dqn_destroy(l->dqn);
    corral_team_destroy(l->team);
    rig_finish(&l->rig);
}

static dqn_result learn(learner *l, uint64_t env_steps)
{
    const dqn_moment now = {
        .first_draw = l->draws, .env_steps_before = l->env_steps, .env_steps = l->env_steps + env_steps};
    dqn_result result;
    TEST_OK(dqn_update(l->dqn, &now, &result));
    l->env_steps += env_steps;
    l->draws += result.minibatches + result.skipped;
    return result;
}

/// Plays rounds with the environments cut into `parts`, and learns from each.
static void train(learner *l, uint32_t parts, int rounds)
{
    rollout_slice *slices[ENVS];
    void *blocks[ENVS];
    corral_fragment fragments[ENVS];
    for (uint32_t i = 0; i < parts; i++) {
        const uint32_t begin = ENVS * i / parts, end = ENVS * (i + 1) / parts;
        TEST_OK(rollout_slice_create(&l->rig.config, &l->rig.setup, begin, end - begin, &slices[i]));
        blocks[i] = aligned_alloc(64, (rollout_slice_layout(slices[i])->capacity + 63) / 64 * 64);
        CU_ASSERT_PTR_NOT_NULL_FATAL(blocks[i]);
    }
    for (int k = 0; k < rounds; k++) {
        for (uint32_t i = 0; i < parts; i++) {
            const corral_fragment_layout *layout = rollout_slice_layout(slices[i]);
            const rollout_request request = {
                .env_count = 1, .first_step = (uint64_t)k * STEPS, .exploration = 0.3};
            size_t length;
            TEST_OK(rollout_slice_seek(slices[i], &request, NULL));
            TEST_OK(rollout_slice_collect(slices[i], l->rig.policy, i, NULL, blocks[i], layout->capacity,
                                          &length));
            TEST_OK(corral_fragment_open(layout, blocks[i], length, &fragments[i]));
        }
        dqn_insert(l->dqn, fragments, parts);
        learn(l, ENVS * STEPS);
    }
    for (uint32_t i = 0; i < parts; i++) {
        rollout_slice_destroy(slices[i]);
        free(blocks[i]);
    }
}

static bool same_weights(corral_policy *a, corral_policy *b)
{
    const corral_params *x = corral_policy_params(a), *y = corral_policy_params(b);
    return memcmp(corral_params_data_const(x), corral_params_data_const(y),
                  corral_params_count(x) * sizeof(float)) == 0;
}

static void neither_threads_nor_cuts_change_a_bit(void)
{
    learner reference, other;
    corral_policy *untrained;
    learner_init(&reference, 1, 15);
    TEST_OK(corral_policy_clone(reference.rig.policy, &untrained));
    learner_start(&reference);
    train(&reference, 1, 4);
    CU_ASSERT_FALSE(same_weights(untrained, reference.rig.policy));
    for (uint32_t parts = 2; parts <= 3; parts++) {
        learner_init(&other, parts, 15);
        learner_start(&other);
        train(&other, parts, 4);
        CU_ASSERT_EQUAL(replay_count(dqn_replay(other.dqn)), replay_count(dqn_replay(reference.dqn)));
        CU_ASSERT_TRUE(same_weights(other.rig.policy, reference.rig.policy));
        CU_ASSERT_TRUE(same_weights(dqn_target(other.dqn), dqn_target(reference.dqn)));
        learner_finish(&other);
    }
    corral_policy_destroy(untrained);
    learner_finish(&reference);
}

/// A successor is one step of the pole's physics away from what was acted on, also at a time limit: never the
/// next episode's first observation. Returns how many rows have a true end; the others keep their discount.
static size_t check_successors(int64_t max_episode_steps)
{
    learner l;
    learner_init(&l, 1, max_episode_steps);
    l.config.n_step = (corral_sizes){1, {1}};
    l.config.learning_starts = 2000;
    learner_start(&l);
    train(&l, 2, 2);
    replay *r = dqn_replay(l.dqn);
    size_t ended = 0, bad = 0;
    CU_ASSERT_EQUAL_FATAL(replay_count(r), 2 * ENVS * STEPS);
    enum { DRAWS = 5000 };
    static replay_draw draws[DRAWS];
    replay_sample(r, 1, DRAWS, 0, draws);
    for (size_t i = 0; i < DRAWS; i++) {
        const replay_transition drawn = replay_at(r, &draws[i]);
        const struct {
            const float *observation, *next;
            float reward, discount;
        } t = {drawn.observation, drawn.next, drawn.reward, drawn.discount};
        ended += t.discount == 0;
        bad += t.discount != 0 && t.discount != (float)l.config.gamma;
        // The position moves by 0.02 s of the velocity, the angle by 0.02 s of the angular velocity.
        bad += fabsf(t.next[0] - (t.observation[0] + 0.02f * t.observation[1])) > 1e-5f;
        bad += fabsf(t.next[2] - (t.observation[2] + 0.02f * t.observation[3])) > 1e-5f;
        bad += t.reward != 1;
    }
    CU_ASSERT_EQUAL(bad, 0);
    learner_finish(&l);
    return ended;
}

static void the_replay_holds_true_successors(void)
{
    CU_ASSERT_EQUAL(check_successors(5), 0); // too short for a pole to fall
    CU_ASSERT_TRUE(check_successors(500) > 0);
}

/// Taxi says which of its six actions would change something.
static void learner_init_masked(learner *l, unsigned threads)
{
    learner_init(l, threads, 20);
    rig *r = &l->rig;
    corral_policy_destroy(r->policy);
    strcpy(r->train.env, "Taxi-v4");
    TEST_OK(environment_setup_init(&r->setup, r->train.env, NULL));
    r->policy_config.normalize_observation = false;
    environment_spaces_describe(&r->setup.spaces, true, &r->policy_config);
    TEST_OK(corral_policy_create(&r->policy_config, 4, &r->policy));
    TEST_OK(rollout_config_init(&r->config, &r->train, &r->setup, &r->policy_config));
}

/// What was done was allowed, and each successor comes with what is allowed there: the same bits for any
/// number of threads and cuts.
static void masks_go_with_the_rows(void)
{
    enum { DRAWS = 2000, CHOICES = 6 };
    static replay_draw draws[DRAWS];
    learner one, other;
    learner_init_masked(&one, 1);
    learner_start(&one);
    train(&one, 1, 4);
    const size_t bytes = corral_policy_observation_bytes(&one.rig.policy_config);
    size_t forbidden = 0, impossible = 0, open = 0;
    replay_sample(dqn_replay(one.dqn), 1, DRAWS, 0, draws);
    for (size_t i = 0; i < DRAWS; i++) {
        const replay_transition t = replay_at(dqn_replay(one.dqn), &draws[i]);
        const uint8_t *now = (const uint8_t *)t.observation + bytes, *then = (const uint8_t *)t.next + bytes;
        size_t allowed = 0;
        for (size_t a = 0; a < CHOICES; a++)
            allowed += then[a];
        forbidden += now[t.action] != 1;
        impossible += allowed == 0;
        open += allowed == CHOICES;
    }
    CU_ASSERT_EQUAL(forbidden, 0);
    CU_ASSERT_EQUAL(impossible, 0);
    CU_ASSERT_TRUE(open < DRAWS / 2); // few rows are the last of an episode
    learner_init_masked(&other, 3);
    learner_start(&other);
    train(&other, 3, 4);
    CU_ASSERT_TRUE(same_weights(other.rig.policy, one.rig.policy));
    learner_finish(&other);
    learner_finish(&one);
}

static void learning_waits_for_its_start(void)
{
    learner l;
    learner_init(&l, 1, 500);
    l.config.learning_starts = 400;
    l.config.n_step = (corral_sizes){1, {1}};
    learner_start(&l);
    corral_policy *before;
    TEST_OK(corral_policy_clone(l.rig.policy, &before));
    train(&l, 1, 1); // 240 rows
    CU_ASSERT_EQUAL(l.draws, 0);
    CU_ASSERT_TRUE(same_weights(before, l.rig.policy));
    train(&l, 1, 1);
    CU_ASSERT_EQUAL(l.draws, 5);
    CU_ASSERT_FALSE(same_weights(before, l.rig.policy));
    corral_policy_destroy(before);
    learner_finish(&l);
}

/// Rewards that add up to infinity: nothing is learned from them, and each attempt is counted.
static void what_is_not_finite_is_skipped(void)
{
    learner l;
    learner_init(&l, 1, 500);
    learner_start(&l);
    const float observation[4] = {0.1f, 0, 0, 0};
    for (int i = 0; i < 400; i++)
        replay_push(dqn_replay(l.dqn), 0,
                    &(replay_step){.observation = observation, .reward = 3e38f, .next = observation});
    corral_policy *before;
    TEST_OK(corral_policy_clone(l.rig.policy, &before));
    const dqn_result result = learn(&l, 10);
    CU_ASSERT_EQUAL(result.skipped, 5);
    CU_ASSERT_EQUAL(result.minibatches, 0);
    CU_ASSERT_TRUE(same_weights(before, l.rig.policy));
    corral_policy_destroy(before);
    learner_finish(&l);
}

/// As many rows are drawn for each that comes in as was asked for, however many come in together.
static void rates_are_kept(void)
{
    learner l;
    learner_init(&l, 1, 500);
    l.config.samples_per_insert = 2.5;
    l.config.minibatch = 64;
    l.config.train_freq = ENVS * STEPS;
    learner_start(&l);
    train(&l, 1, 8);
    const rate_limiter *limiter = replay_limiter(dqn_replay(l.dqn));
    CU_ASSERT_EQUAL(limiter->inserts, 8 * ENVS * STEPS);
    CU_ASSERT_EQUAL(limiter->samples, 64 * (int64_t)l.draws);
    const double wanted = 2.5 * (double)(limiter->inserts - l.config.learning_starts);
    CU_ASSERT_TRUE(fabs(wanted - (double)limiter->samples) <= limiter->tolerance);
    learner_finish(&l);
}

// --- the target network -----------------------------------------------------------------------------------

static void the_target_network_has_a_counter_of_its_own(void)
{
    learner l;
    learner_init(&l, 1, 500);
    l.config.target_update = 501;
    learner_start(&l);
    uint64_t updates = 0, next = 501;
    for (uint64_t step = 10; step <= 10000; step += 10) {
        const dqn_result result = learn(&l, 10);
        CU_ASSERT_EQUAL(result.target_updates, step >= next);
        if (result.target_updates > 0) next += 501;
        updates += result.target_updates;
    }
    CU_ASSERT_EQUAL(updates, 10000 / 501);
    learner_finish(&l);
}

static void the_target_network_is_another_one(void)
{
    learner l;
    learner_init(&l, 1, 500);
    l.config.target_update = 2 * ENVS * STEPS;
    learner_start(&l);
    CU_ASSERT_TRUE(same_weights(l.rig.policy, dqn_target(l.dqn)));
    train(&l, 1, 1);
    CU_ASSERT_FALSE(same_weights(l.rig.policy, dqn_target(l.dqn)));
    train(&l, 1, 1);
    CU_ASSERT_TRUE(same_weights(l.rig.policy, dqn_target(l.dqn)));
    learner_finish(&l);
}

static void a_soft_update_goes_a_part_of_the_way(void)
{
    learner l;
    learner_init(&l, 1, 500);
    l.config.target_update = 0;
    l.config.tau = 0.25;
    l.config.gradient_steps = 1;
    learner_start(&l);
    corral_policy *before;
    TEST_OK(corral_policy_clone(l.rig.policy, &before));
    train(&l, 1, 1);
    const float *old = corral_params_data_const(corral_policy_params(before));
    const float *online = corral_params_data_const(corral_policy_params(l.rig.policy));
    const float *target = corral_params_data_const(corral_policy_params(dqn_target(l.dqn)));
    for (size_t i = 0; i < corral_params_count(corral_policy_params(before)); i++)
        CU_ASSERT_DOUBLE_EQUAL(target[i], 0.75f * old[i] + 0.25f * online[i], 1e-6);
    corral_policy_destroy(before);
    learner_finish(&l);
}

// --- distributions and noise ------------------------------------------------------------------------------

/// With the configuration's kind of network.
static void learner_start_shaped(learner *l)
{
    rig *r = &l->rig;
    corral_policy_destroy(r->policy);
    dqn_shape_policy(&l->config, &r->policy_config);
    TEST_OK(corral_policy_create(&r->policy_config, 4, &r->policy));
    TEST_OK(rollout_config_init(&r->config, &r->train, &r->setup, &r->policy_config));
    learner_start(l);
}

/// One state, two actions that end the episode at once: one always gives 1, the other 0 or 4 by turns.
/// Whatever is learned of their worths, the means are 1 and 2.
static void distributions_find_the_worths(void)
{
    for (int distribution = 0; distribution < 3; distribution++) {
        for (int dueling = 0; dueling < 2; dueling++) {
            learner l;
            learner_init(&l, 2, 500);
            l.config.distribution = distribution;
            l.config.atoms = 21;
            l.config.value_min = -2;
            l.config.value_max = 8;
            l.config.dueling = dueling;
            l.config.huber_delta = distribution == CORRAL_WORTH_QUANTILE ? 0.1 : 0;
            l.config.gradient_steps = 400;
            l.config.learning_rate = (corral_schedule){3e-3, 3e-3};
            l.config.n_step = (corral_sizes){1, {1}};
            l.config.priority_alpha = 0;
            learner_start_shaped(&l);
            const float observation[4] = {0.1f, 0.2f, 0.3f, 0.4f};
            for (int i = 0; i < 400; i++)
                replay_push(dqn_replay(l.dqn), 0,
                            &(replay_step){.observation = observation,
                                           .action = i % 2,
                                           .reward = i % 2 == 0   ? 1
                                                     : i % 4 == 1 ? 0
                                                                  : 4,
                                           .terminated = true,
                                           .next = observation});
            learn(&l, 10);
            float worth[2];
            int32_t action;
            TEST_OK(corral_policy_act(l.rig.policy, 1, observation, NULL,
                                      &(corral_policy_output){.logits = worth, .action = &action}));
            CU_ASSERT_DOUBLE_EQUAL(worth[0], 1, 0.15);
            CU_ASSERT_DOUBLE_EQUAL(worth[1], 2, 0.25);
            CU_ASSERT_EQUAL(action, 1);
            learner_finish(&l);
        }
    }
}

/// Noise changes what is done and nothing else: without it the policy is still, whoever looks at it and
/// however often, and its gradient moves the sigmas.
static void noise_explores_and_learns(void)
{
    learner l;
    learner_init(&l, 1, 500);
    l.config.noisy = true;
    learner_start_shaped(&l);
    corral_policy *policy = l.rig.policy, *copy;
    TEST_OK(corral_policy_clone(policy, &copy));
    const float observation[4] = {0.1f, 0.2f, 0.3f, 0.4f};
    float still[2], noisy[2], again[2];
    TEST_OK(corral_policy_act(policy, 1, observation, NULL, &(corral_policy_output){.logits = still}));
    corral_policy_draw_noise(policy, 7);
    TEST_OK(corral_policy_act(policy, 1, observation, NULL, &(corral_policy_output){.logits = noisy}));
    TEST_OK(corral_policy_act(copy, 1, observation, NULL, &(corral_policy_output){.logits = again}));
    CU_ASSERT_NOT_EQUAL(memcmp(still, noisy, sizeof still), 0);
    CU_ASSERT_EQUAL(memcmp(still, again, sizeof still), 0);
    corral_policy_draw_noise(policy, 8);
    TEST_OK(corral_policy_act(policy, 1, observation, NULL, &(corral_policy_output){.logits = again}));
    CU_ASSERT_NOT_EQUAL(memcmp(again, noisy, sizeof again), 0);
    corral_policy_still_noise(policy);
    TEST_OK(corral_policy_act(policy, 1, observation, NULL, &(corral_policy_output){.logits = again}));
    CU_ASSERT_EQUAL(memcmp(still, again, sizeof still), 0);
    train(&l, 2, 3);
    size_t changed = 0, entries = 0;
    corral_params *now = corral_policy_params(policy), *before = corral_policy_params(copy);
    for (uint32_t i = 0; i < corral_params_entry_count(now); i++) {
        const corral_param *entry = corral_params_entry(now, i);
        if (strstr(entry->name, ".sigma") == NULL) continue;
        entries++;
        changed += memcmp((const float *)corral_params_data(now) + entry->offset,
                          (const float *)corral_params_data(before) + entry->offset,
                          entry->count * sizeof(float)) != 0;
    }
    CU_ASSERT_TRUE(entries == 8 && changed == entries); // two hidden layers, advantages and a value
    corral_policy_destroy(copy);
    learner_finish(&l);
}

// --- settings ---------------------------------------------------------------------------------------------

/// However often it is written and read, and whatever the number of environments.
static void settings_are_stored_as_given(void)
{
    corral_train_config config = corral_train_config_default(), back;
    strcpy(config.env, "CartPole-v1");
    config.algorithm = CORRAL_ALGORITHM_DQN;
    config.dqn.target_update = 2500;
    config.dqn.train_freq = 64;
    for (int i = 0; i < 5; i++) {
        char *text;
        TEST_OK(corral_config_write(corral_train_fields, &config, &text));
        back = corral_train_config_default();
        TEST_OK(corral_config_parse(corral_train_fields, &back, "written", text, strlen(text)));
        TEST_OK(corral_train_config_check(&back));
        CU_ASSERT_EQUAL(back.dqn.target_update, 2500);
        CU_ASSERT_EQUAL(back.dqn.train_freq, 64);
        CU_ASSERT_EQUAL(back.algorithm, CORRAL_ALGORITHM_DQN);
        CU_ASSERT_EQUAL(corral_train_config_rollout_steps(&back), 8);
        config = back;
        free(text);
    }
}

static void impossible_settings_are_named(void)
{
    corral_train_config config = corral_train_config_default();
    strcpy(config.env, "CartPole-v1");
    config.algorithm = CORRAL_ALGORITHM_DQN;
    config.dqn.train_freq = 12;
    TEST_FAILS(corral_train_config_check(&config), CORRAL_ERROR_INVALID,
               "dqn.train_freq: 12 steps cannot be shared out evenly among 8 environments");
    config.dqn.train_freq = 16;
    config.dqn.buffer_size = 500;
    TEST_FAILS(corral_train_config_check(&config), CORRAL_ERROR_INVALID,
               "dqn.learning_starts: a replay of 500 rows never has 1000");
    config.dqn.learning_starts = 100;
    config.dqn.n_step = (corral_sizes){2, {5, 2}};
    TEST_FAILS(corral_train_config_check(&config), CORRAL_ERROR_INVALID, "dqn.n_step: needs a number");
    config.dqn.n_step = (corral_sizes){2, {2, 5}};
    TEST_OK(corral_train_config_check(&config));
    config.dqn.samples_tolerance = 50;
    TEST_FAILS(corral_train_config_check(&config), CORRAL_ERROR_INVALID,
               "dqn.samples_per_insert, which is 0");
    config.dqn.samples_per_insert = 10;
    TEST_FAILS(corral_train_config_check(&config), CORRAL_ERROR_INVALID,
               "dqn.samples_tolerance: a tolerance of 50 samples is too small for 16 rows");
    config.dqn.samples_tolerance = 0;
    TEST_OK(corral_train_config_check(&config));
}

int main(void)
{
    return test_run(
        "dqn",
        (test_case[]){
            {"targets match the reference", targets_match_the_reference},
            {"nothing comes after an end", nothing_comes_after_an_end},
            {"distributions find the worths", distributions_find_the_worths},
            {"noise explores and learns", noise_explores_and_learns},
            {"exploration falls and stays", exploration_falls_and_stays},
            {"neither threads nor cuts change a bit", neither_threads_nor_cuts_change_a_bit},
            {"the replay holds true successors", the_replay_holds_true_successors},
            {"masks go with the rows", masks_go_with_the_rows},
            {"learning waits for its start", learning_waits_for_its_start},
            {"what is not finite is skipped", what_is_not_finite_is_skipped},
            {"rates are kept", rates_are_kept},
            {"the target network has a counter of its own", the_target_network_has_a_counter_of_its_own},
            {"the target network is another one", the_target_network_is_another_one},
            {"a soft update goes a part of the way", a_soft_update_goes_a_part_of_the_way},
            {"settings are stored as given", settings_are_stored_as_given},
            {"impossible settings are named", impossible_settings_are_named},
            {NULL, NULL},
        });
}
