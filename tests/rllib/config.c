// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "test.h"

#include "environment.h"

#include "corral/rllib/config.h"

static const char *const examples[] = {"cartpole-ppo.yaml", "cartpole-ppo-zoo.yaml",
                                       "cartpole-ppo-cleanrl.yaml", "cartpole-dqn.yaml"};

static void the_examples_are_sound(void)
{
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/examples/%s", CORRAL_SOURCE_DIR, examples[i]);
        corral_train_config config = corral_train_config_default();
        TEST_OK(corral_config_read(corral_train_fields, &config, path));
        TEST_OK(corral_train_config_check(&config));
        CU_ASSERT_STRING_EQUAL(config.env, "CartPole-v1");
    }
}

static void what_is_written_reads_back(void)
{
    corral_train_config config = corral_train_config_default(), back = corral_train_config_default();
    strcpy(config.env, "CartPole-v1");
    config.ppo.learning_rate = (corral_schedule){2.5e-4, 1e-5};
    config.stop.target_return = 490;
    config.network.hidden = (corral_sizes){3, {32, 16, 8}};
    config.transport = 1;
    char *text;
    TEST_OK(corral_config_write(corral_train_fields, &config, &text));
    TEST_OK(corral_config_parse(corral_train_fields, &back, "written", text, strlen(text)));
    const char *names[8];
    CU_ASSERT_EQUAL(corral_config_diff(corral_train_fields, &config, &back, names, 8), 0);
    free(text);
}

static void mistakes_are_named(void)
{
    corral_train_config config = corral_train_config_default();
    TEST_FAILS(corral_train_config_check(&config), CORRAL_ERROR_INVALID, "env: no environment is named");
    strcpy(config.env, "CartPole-v2");
    TEST_FAILS(corral_train_config_check(&config), CORRAL_ERROR_NOT_FOUND, "did you mean CartPole-v");
    strcpy(config.env, "CartPole-v1");
    config.workers = 9;
    TEST_FAILS(corral_train_config_check(&config), CORRAL_ERROR_INVALID, "9 workers for 8 environments");
    config.workers = 1;
    TEST_FAILS(corral_config_set(corral_train_fields, &config, "ppo.learning_rte=1"), CORRAL_ERROR_INVALID,
               "ppo.learning_rate");
    TEST_FAILS(corral_config_set(corral_train_fields, &config, "ppo.epochs=0"), CORRAL_ERROR_INVALID,
               "below 1");
    TEST_OK(corral_config_set(corral_train_fields, &config, "env_params.sutton_barto_reward=2"));
    TEST_FAILS(corral_train_config_check(&config), CORRAL_ERROR_INVALID,
               "env_params.sutton_barto_reward: 2 is outside");
    config.env_params.count = 0;
    TEST_OK(corral_config_set(corral_train_fields, &config, "env_params.sutton_barto_rewrad=1"));
    TEST_FAILS(corral_train_config_check(&config), CORRAL_ERROR_INVALID,
               "did you mean \"sutton_barto_reward\"");
}

static void presets_are_sound(void)
{
    static const char *const names[] = {"sb3", "cleanrl", "rllib"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        corral_train_config config = corral_train_config_default();
        config.ppo.gamma = 0.123;
        TEST_OK(corral_train_config_preset(&config, names[i]));
        strcpy(config.env, "CartPole-v1");
        TEST_OK(corral_train_config_check(&config));
        CU_ASSERT_EQUAL(config.ppo.gamma, 0.99);
    }
    corral_train_config config = corral_train_config_default();
    TEST_FAILS(corral_train_config_preset(&config, "sb4"), CORRAL_ERROR_INVALID, "sb3, cleanrl and rllib");
}

static void a_target_needs_a_coefficient(void)
{
    corral_train_config config = corral_train_config_default();
    strcpy(config.env, "CartPole-v1");
    config.ppo.kl_target = 0.01;
    TEST_FAILS(corral_train_config_check(&config), CORRAL_ERROR_INVALID, "ppo.kl_target");
    config.ppo.kl_coefficient = 0.2;
    TEST_OK(corral_train_config_check(&config));
}

static void every_key_has_help(void)
{
    for (const corral_field *field = corral_train_fields; field->name != NULL; field++) {
        CU_ASSERT_TRUE(field->help != NULL && strlen(field->help) > 4);
        CU_ASSERT_EQUAL(field->help[strlen(field->help) - 1] == '.', 0);
    }
}

int main(void)
{
    return test_run("config", (test_case[]){
                                  {"the examples are sound", the_examples_are_sound},
                                  {"what is written reads back", what_is_written_reads_back},
                                  {"mistakes are named", mistakes_are_named},
                                  {"presets are sound", presets_are_sound},
                                  {"a target needs a coefficient", a_target_needs_a_coefficient},
                                  {"every key has help", every_key_has_help},
                                  {NULL, NULL},
                              });
}
