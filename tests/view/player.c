// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Episodes of n steps are n + 1 moments, the last as it ended; history is walked back and forth without a
/// difference; episodes are those of evaluation.
#include "player.h"

#include "corral/envs/registry.h"
#include "corral/rllib/evaluate.h"

#include "test.h"

static player *open_player(const char *id, corral_policy *policy, bool stochastic)
{
    player_config config = {.max_episode_steps = -1, .policy = policy, .seed = 3, .stochastic = stochastic};
    player *p = NULL;
    TEST_OK(corral_env_find(id, &config.type));
    TEST_OK(player_create(&config, &p));
    return p;
}

static corral_policy *make_policy(void)
{
    corral_policy *policy = NULL;
    const corral_policy_config config = {.observation_size = 4,
                                         .action_count = 2,
                                         .hidden = {1, {16}},
                                         .activation = CORRAL_TANH,
                                         .initialisation = CORRAL_INIT_FAN_IN};
    TEST_OK(corral_policy_create(&config, 5, &policy));
    return policy;
}

static uint32_t play_out(player *p)
{
    uint32_t steps = 0;
    for (; !player_moment(p)->ended; steps++)
        TEST_OK(player_forward(p));
    return steps;
}

static void plays_what_evaluation_plays(void)
{
    corral_policy *policy = make_policy();
    for (int stochastic = 0; stochastic < 2; stochastic++) {
        player *p = open_player("CartPole-v1", policy, stochastic);
        double sum = 0;
        for (uint32_t episode = 0; episode < 3; episode++) {
            CU_ASSERT_EQUAL(player_moment(p)->episode, episode);
            CU_ASSERT_EQUAL(player_moment(p)->step, 0);
            CU_ASSERT_EQUAL(play_out(p), player_moment(p)->step);
            sum += player_moment(p)->episode_return;
            TEST_OK(player_forward(p));
        }
        const corral_evaluation_request request = {.type = player_get_config(p)->type,
                                                   .max_episode_steps = -1,
                                                   .seed = 3,
                                                   .episodes = 3,
                                                   .stochastic = stochastic};
        corral_evaluation_result result;
        TEST_OK(corral_evaluate(&request, policy, &result));
        CU_ASSERT_EQUAL(sum, result.mean_return * 3);
        player_destroy(p);
    }
    corral_policy_destroy(policy);
}

static void the_last_moment_is_the_end(void)
{
    player *p = open_player("CartPole-v1", NULL, false);
    play_out(p);
    float observation[4];
    CU_ASSERT_EQUAL(player_observation(p, observation, 4), 4);
    CU_ASSERT_TRUE(player_moment(p)->terminated);
    CU_ASSERT(fabsf(observation[2]) > 0.2f || fabsf(observation[0]) > 2.4f); // it fell, and is shown so
    const scene *drawn = player_scene(p);
    CU_ASSERT(drawn->count > 3);
    char shown[64];
    memcpy(shown, drawn->items[drawn->count - 1].text, sizeof shown);
    bool moved;
    TEST_OK(player_back(p, &moved));
    CU_ASSERT_TRUE(moved);
    CU_ASSERT_STRING_NOT_EQUAL(shown, player_scene(p)->items[drawn->count - 1].text);
    TEST_OK(player_forward(p)); // from its saved state
    CU_ASSERT_STRING_EQUAL(shown, player_scene(p)->items[drawn->count - 1].text);
    player_destroy(p);
}

static void history_comes_again(void)
{
    corral_policy *policy = make_policy();
    player *p = open_player("CartPole-v1", policy, true);
    float first[64][4], again[4];
    bool moved = true;
    for (int i = 0; i < 40; i++) { // over the end of at least one episode
        player_observation(p, first[i], 4);
        TEST_OK(player_forward(p));
    }
    for (int i = 39; i >= 0; i--) {
        TEST_OK(player_back(p, &moved));
        player_observation(p, again, 4);
        CU_ASSERT_EQUAL(memcmp(first[i], again, sizeof again), 0);
    }
    CU_ASSERT_FALSE(player_can_go_back(p));
    TEST_OK(player_back(p, &moved));
    CU_ASSERT_FALSE(moved);
    for (int i = 0; i < 40; i++) {
        player_observation(p, again, 4);
        CU_ASSERT_EQUAL(memcmp(first[i], again, sizeof again), 0);
        TEST_OK(player_forward(p));
    }
    player_destroy(p);
    corral_policy_destroy(policy);
}

static void a_person_changes_the_future(void)
{
    player *p = open_player("CartPole-v1", NULL, false);
    bool moved;
    TEST_OK(player_act(p, &(person){.choice = 0}));
    CU_ASSERT_EQUAL(player_moment(p)->action, 0);
    float left[4], right[4];
    player_observation(p, left, 4);
    TEST_OK(player_forward(p));
    TEST_OK(player_back(p, &moved));
    TEST_OK(player_back(p, &moved));
    TEST_OK(player_act(p, &(person){.choice = 1}));
    player_observation(p, right, 4);
    CU_ASSERT(left[1] < right[1]);
    CU_ASSERT_PTR_NULL(player_next(p)); // what came after is forgotten
    CU_ASSERT_EQUAL(player_moment(p)->step, 1);
    player_destroy(p);
}

static corral_policy *make_recurrent_policy(void)
{
    corral_policy *policy = NULL;
    const corral_policy_config config = {.observation_size = 2,
                                         .action_count = 2,
                                         .hidden = {1, {8}},
                                         .activation = CORRAL_TANH,
                                         .shared = true,
                                         .memory = CORRAL_MEMORY_LSTM,
                                         .memory_units = 8,
                                         .initialisation = CORRAL_INIT_FAN_IN};
    TEST_OK(corral_policy_create(&config, 5, &policy));
    return policy;
}

/// A moment's value depends on all that was seen before it, and on nothing that was seen after it.
static void what_is_remembered_goes_back_too(void)
{
    enum { STEPS = 12 };
    corral_policy *policy = make_recurrent_policy();
    player *p = open_player("Recall-v0", policy, true);
    float value[STEPS + 1];
    bool moved;
    for (int step = 0; step < STEPS; step++) {
        value[step] = player_moment(p)->value;
        TEST_OK(player_forward(p));
    }
    CU_ASSERT_NOT_EQUAL(value[5], value[6]); // though nothing is to be seen in either
    for (int step = STEPS - 1; step >= 3; step--) {
        TEST_OK(player_back(p, &moved));
        CU_ASSERT_EQUAL(player_moment(p)->value, value[step]);
    }
    TEST_OK(player_act(p, &(person){.choice = 0})); // from here anew
    CU_ASSERT_EQUAL(player_moment(p)->value, value[4]);
    TEST_OK(player_begin(p, 0));
    CU_ASSERT_EQUAL(player_moment(p)->value, value[0]);
    player_destroy(p);
    corral_policy_destroy(policy);
}

static void every_built_in_can_be_played(void)
{
    for (size_t i = 0; i < corral_env_builtin_count(); i++) {
        player *p = open_player(corral_env_builtin_at(i)->id, NULL, false);
        for (int step = 0; step < 120; step++)
            TEST_OK(player_forward(p));
        TEST_OK(player_act(p, &(person){.choice = 0}));
        TEST_OK(player_begin(p, 7));
        CU_ASSERT_EQUAL(player_moment(p)->episode, 7);
        bool moved;
        TEST_OK(player_back(p, &moved));
        player_destroy(p);
    }
}

static void long_plays_forget_their_beginning(void)
{
    player *p = open_player("CartPole-v1", NULL, false);
    for (int step = 0; step < 70000; step++)
        TEST_OK(player_forward(p));
    const moment *past;
    CU_ASSERT(player_past(p, 100, &past) >= 1);
    CU_ASSERT_PTR_EQUAL(&past[player_past(p, 100, &past) - 1], player_moment(p));
    player_destroy(p);
}

static void a_policy_that_does_not_fit_is_refused(void)
{
    corral_policy *policy = make_policy();
    player_config config = {.max_episode_steps = -1, .policy = policy};
    player *p = NULL;
    TEST_OK(corral_env_find("Acrobot-v1", &config.type));
    TEST_FAILS(player_create(&config, &p), CORRAL_ERROR_INVALID, "Acrobot-v1 does not fit");
    corral_policy_destroy(policy);
}

int main(void)
{
    return test_run(
        "player",
        (test_case[]){{"plays what evaluation plays", plays_what_evaluation_plays},
                      {"the last moment is the end", the_last_moment_is_the_end},
                      {"history comes again", history_comes_again},
                      {"a person changes the future", a_person_changes_the_future},
                      {"what is remembered goes back too", what_is_remembered_goes_back_too},
                      {"every built-in can be played", every_built_in_can_be_played},
                      {"long plays forget their beginning", long_plays_forget_their_beginning},
                      {"a policy that does not fit is refused", a_policy_that_does_not_fit_is_refused},
                      {NULL, NULL}});
}
