// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "test.h"

#include "environment.h"

#include "corral/rllib/config.h"
#include "corral/rllib/evaluate.h"

static corral_policy *some_policy(void)
{
    corral_policy_config config = {.observation_size = 4,
                                   .action_count = 2,
                                   .hidden = {1, {16}},
                                   .activation = CORRAL_TANH,
                                   .normalize_observation = true,
                                   .observation_clip = 10};
    corral_policy *policy;
    TEST_OK(corral_policy_create(&config, 3, &policy));
    const float rows[8] = {0.1f, 0.2f, -0.1f, 0, 0.3f, -0.2f, 0.1f, 0.2f};
    corral_policy_filter_update(policy, 2, rows);
    return policy;
}

static corral_evaluation_result run(const corral_policy *policy, unsigned threads, uint64_t seed,
                                    bool stochastic)
{
    environment_setup setup;
    corral_team *team;
    corral_evaluation_result result;
    TEST_OK(environment_setup_init(&setup, "CartPole-v1", NULL));
    TEST_OK(corral_team_create(threads, &team));
    const corral_evaluation_request request = {.type = setup.type,
                                               .param_values = setup.values,
                                               .max_episode_steps = -1,
                                               .seed = seed,
                                               .episodes = 37,
                                               .stochastic = stochastic,
                                               .team = team};
    TEST_OK(corral_evaluate(&request, policy, &result));
    corral_team_destroy(team);
    return result;
}

static void threads_do_not_change_the_result(void)
{
    corral_policy *policy = some_policy();
    for (int stochastic = 0; stochastic < 2; stochastic++) {
        const corral_evaluation_result one = run(policy, 1, 5, stochastic);
        CU_ASSERT_EQUAL(one.episodes, 37);
        CU_ASSERT_TRUE(one.min_return <= one.mean_return && one.mean_return <= one.max_return);
        CU_ASSERT_EQUAL(one.mean_return, one.mean_length); // CartPole pays 1 a step
        for (unsigned threads = 2; threads <= 5; threads++) {
            const corral_evaluation_result many = run(policy, threads, 5, stochastic);
            CU_ASSERT_EQUAL(memcmp(&one, &many, sizeof one), 0);
        }
    }
    corral_policy_destroy(policy);
}

static void the_seed_chooses_the_episodes(void)
{
    corral_policy *policy = some_policy();
    const corral_evaluation_result a = run(policy, 2, 5, true), b = run(policy, 2, 6, true);
    CU_ASSERT_NOT_EQUAL(a.mean_return, b.mean_return);
    corral_policy_destroy(policy);
}

static void the_policy_is_left_as_it_was(void)
{
    corral_policy *policy = some_policy();
    const size_t size = corral_policy_bytes(policy);
    char *before = malloc(size), *after = malloc(size);
    CU_ASSERT_FATAL(before != NULL && after != NULL);
    corral_policy_pack(policy, before);
    run(policy, 2, 5, false);
    corral_policy_pack(policy, after);
    CU_ASSERT_EQUAL(memcmp(before, after, size), 0);
    free(before);
    free(after);
    corral_policy_destroy(policy);
}

static void a_policy_of_another_shape_is_refused(void)
{
    const corral_policy_config config = {.observation_size = 3,
                                         .action_count = 2,
                                         .hidden = {1, {8}},
                                         .activation = CORRAL_TANH,
                                         .observation_clip = 1};
    corral_policy *policy;
    environment_setup setup;
    corral_evaluation_result result;
    TEST_OK(corral_policy_create(&config, 3, &policy));
    TEST_OK(environment_setup_init(&setup, "CartPole-v1", NULL));
    const corral_evaluation_request request = {.type = setup.type, .max_episode_steps = -1, .episodes = 1};
    TEST_FAILS(corral_evaluate(&request, policy, &result), CORRAL_ERROR_INVALID,
               "takes 3 observation elements");
    corral_policy_destroy(policy);
}

int main(void)
{
    return test_run("evaluate",
                    (test_case[]){
                        {"threads do not change the result", threads_do_not_change_the_result},
                        {"the seed chooses the episodes", the_seed_chooses_the_episodes},
                        {"the policy is left as it was", the_policy_is_left_as_it_was},
                        {"a policy of another shape is refused", a_policy_of_another_shape_is_refused},
                        {NULL, NULL},
                    });
}
