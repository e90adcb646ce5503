// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// An agent acts as its policy does, from several threads at once.
#include "test.h"

#include "corral/base/file.h"
#include "corral/base/threads.h"
#include "corral/policy/agent.h"
#include "corral/policy/policy.h"

#include <unistd.h>

enum { ROWS = 400, WIDTH = 4 };

static char folder[64];
static float observation[ROWS][WIDTH];
static int32_t expected[ROWS];

/// A policy that normalises, in a file; what it does with each row.
static void write_policy(corral_policy_kind kind)
{
    const corral_policy_config config = {.kind = kind,
                                         .observation_size = WIDTH,
                                         .action_count = 3,
                                         .action_start = 5,
                                         .hidden = {2, {32, 32}},
                                         .activation = CORRAL_TANH,
                                         .initialisation = CORRAL_INIT_FAN_IN,
                                         .normalize_observation = true,
                                         .observation_clip = 5,
                                         .dueling = true,
                                         .noisy = kind == CORRAL_POLICY_Q,
                                         .noisy_sigma = 0.5};
    corral_policy *policy;
    TEST_OK(corral_policy_create(&config, 3, &policy));
    for (size_t i = 0; i < ROWS * WIDTH; i++)
        observation[i / WIDTH][i % WIDTH] = (float)(3 * sin(7.0 * (double)i));
    corral_policy_filter_update(policy, ROWS / 2, observation[0]);
    for (size_t i = 0; i < ROWS; i++) {
        float logits[3];
        int32_t action;
        TEST_OK(corral_policy_act(
            policy, 1, observation[i], NULL,
            &(corral_policy_output){.action = &action, .env_action = &expected[i], .logits = logits}));
    }
    char *path = corral_format("%s/policy.safetensors", folder);
    TEST_OK(corral_policy_write(policy, path));
    free(path);
    corral_policy_destroy(policy);
}

static corral_agent *agent;
static int32_t found[ROWS];

static void act(void *context, size_t index, unsigned thread)
{
    (void)context;
    (void)thread;
    if (corral_agent_act(agent, observation[index], &found[index]) != CORRAL_OK) found[index] = -1;
}

static void an_agent_acts_as_its_policy(void)
{
    for (int kind = 0; kind < 2; kind++) {
        write_policy((corral_policy_kind)kind);
        TEST_OK(corral_agent_load(folder, &agent));
        CU_ASSERT_EQUAL(corral_agent_observation_bytes(agent), WIDTH * sizeof(float));
        CU_ASSERT_EQUAL(corral_agent_action_bytes(agent), sizeof(int32_t));
        corral_team *team;
        TEST_OK(corral_team_create(4, &team));
        for (int round = 0; round < 5; round++) {
            memset(found, 0, sizeof found);
            corral_team_run(team, ROWS, act, NULL);
            CU_ASSERT_EQUAL(memcmp(found, expected, sizeof found), 0);
        }
        corral_team_destroy(team);
        corral_agent_destroy(agent);
    }
}

static void what_is_no_policy_is_refused(void)
{
    TEST_FAILS(corral_agent_load("/nowhere", &agent), CORRAL_ERROR_NOT_FOUND, "/nowhere");
    TEST_FAILS(corral_agent_load("/tmp", &agent), CORRAL_ERROR_NOT_FOUND, "/tmp/policy.safetensors");
    CU_ASSERT_NOT_EQUAL(corral_agent_load("/proc/self/exe", &agent), CORRAL_OK);
    // What only a Q-network can have, in an actor-critic.
    corral_policy *policy;
    corral_policy_config config = {
        .observation_size = WIDTH, .action_count = 2, .hidden = {1, {8}}, .noisy = true, .noisy_sigma = 0.5};
    TEST_FAILS(corral_policy_create(&config, 1, &policy), CORRAL_ERROR_INVALID, "no noisy layers");
    config.noisy = false;
    config.worth = CORRAL_WORTH_QUANTILE;
    config.atoms = 5;
    TEST_FAILS(corral_policy_create(&config, 1, &policy), CORRAL_ERROR_INVALID, "no distributions");
    config.kind = CORRAL_POLICY_Q;
    config.atoms = 1;
    TEST_FAILS(corral_policy_create(&config, 1, &policy), CORRAL_ERROR_INVALID, "dqn.atoms");
    config.worth = CORRAL_WORTH_CATEGORICAL;
    config.atoms = 5;
    TEST_FAILS(corral_policy_create(&config, 1, &policy), CORRAL_ERROR_INVALID, "dqn.value_min");
    corral_agent_destroy(NULL);
}

int main(void)
{
    snprintf(folder, sizeof folder, "/tmp/corral-test-agent-XXXXXX");
    if (mkdtemp(folder) == NULL) return 2;
    const int result = test_run("agent", (test_case[]){
                                             {"an agent acts as its policy", an_agent_acts_as_its_policy},
                                             {"what is no policy is refused", what_is_no_policy_is_refused},
                                             {NULL, NULL},
                                         });
    return corral_folder_remove(folder) == CORRAL_OK ? result : 2;
}
