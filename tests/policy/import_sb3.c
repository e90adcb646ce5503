// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Agents of Stable-Baselines3: small ones that are made here, what is refused, and, where CORRAL_SB3_AGENTS
// names a folder with summary.json, what real ones answer to the observations of their own library.

#include "../base/temporary.h"

#include "corral/base/safetensors.h"
#include "corral/policy/import.h"

#include <cjson/cJSON.h>

enum { IN = 2, HIDDEN = 3, ACTIONS = 2, TENSORS_MAX = 16 };

static float numbers[HIDDEN * HIDDEN];

typedef struct agent {
    corral_stored_tensor tensors[TENSORS_MAX];
    size_t count;
    const char *metadata[5];
} agent;

static void add(agent *a, const char *name, size_t out, size_t in)
{
    corral_stored_tensor *t = &a->tensors[a->count++];
    *t = (corral_stored_tensor){.name = name, .data = numbers};
    t->dimension_count = in > 0 ? 2 : 1;
    t->shape[0] = out;
    t->shape[1] = in;
    t->size = out * (in > 0 ? in : 1) * sizeof(float);
}

static void add_layer(agent *a, const char *weight, const char *bias, size_t out, size_t in)
{
    add(a, weight, out, in);
    add(a, bias, out, 0);
}

static agent make_ppo(void)
{
    for (size_t i = 0; i < HIDDEN * HIDDEN; i++)
        numbers[i] = 0.25f * (float)i - 0.6f;
    agent a = {.metadata = {"algo", "ppo"}};
    add_layer(&a, "mlp_extractor.policy_net.0.weight", "mlp_extractor.policy_net.0.bias", HIDDEN, IN);
    add_layer(&a, "mlp_extractor.value_net.0.weight", "mlp_extractor.value_net.0.bias", HIDDEN, IN);
    add_layer(&a, "action_net.weight", "action_net.bias", ACTIONS, HIDDEN);
    add_layer(&a, "value_net.weight", "value_net.bias", 1, HIDDEN);
    return a;
}

static agent make_dqn(void)
{
    agent a = {.metadata = {"algo", "dqn"}};
    add_layer(&a, "q_net.q_net.0.weight", "q_net.q_net.0.bias", HIDDEN, IN);
    add_layer(&a, "q_net.q_net.2.weight", "q_net.q_net.2.bias", ACTIONS, HIDDEN);
    add_layer(&a, "q_net_target.q_net.0.weight", "q_net_target.q_net.0.bias", HIDDEN, IN);
    return a;
}

static corral_status import_for(const agent *a, const corral_policy_config *spaces,
                                corral_policy **out_policy)
{
    const char *path = temporary_path("agent.safetensors");
    TEST_OK(corral_safetensors_write(path, a->tensors, a->count, a->metadata));
    return corral_policy_import_sb3(path, spaces, out_policy);
}

static corral_status import(const agent *a, corral_policy **out_policy)
{
    return import_for(a, NULL, out_policy);
}

static void worths(corral_policy *policy, const float *observation, float *out_logits)
{
    int32_t action[8];
    TEST_OK(corral_policy_act(policy, 1, observation, NULL,
                              &(corral_policy_output){.action = action, .logits = out_logits}));
}

/// The network by hand, in f64, from `numbers` alone.
static void by_hand(const double *x, int relu, double *out)
{
    double hidden[HIDDEN];
    for (int h = 0; h < HIDDEN; h++) {
        double sum = (double)numbers[h];
        for (int i = 0; i < IN; i++)
            sum += (double)numbers[h * IN + i] * x[i];
        hidden[h] = relu ? fmax(sum, 0) : tanh(sum);
    }
    for (int a = 0; a < ACTIONS; a++) {
        out[a] = (double)numbers[a];
        for (int h = 0; h < HIDDEN; h++)
            out[a] += (double)numbers[a * HIDDEN + h] * hidden[h];
    }
}

static void networks_act_as_written(void)
{
    const float observation[IN] = {0.7f, -1.3f};
    const double x[IN] = {(double)observation[0], (double)observation[1]};
    for (int relu = 0; relu < 2; relu++) {
        const agent a = relu ? make_dqn() : make_ppo();
        corral_policy *policy = NULL;
        TEST_OK(import(&a, &policy));
        float logits[ACTIONS];
        double expected[ACTIONS];
        worths(policy, observation, logits);
        by_hand(x, relu, expected);
        for (int i = 0; i < ACTIONS; i++)
            CU_ASSERT_DOUBLE_EQUAL(logits[i], expected[i], 1e-6);
        corral_policy_destroy(policy);
    }
}

static void observations_are_normalised_and_clipped(void)
{
    static const float mean[IN] = {1.0f, -2.0f}, variance[IN] = {4.0f, 0.0f};
    agent a = make_ppo();
    a.metadata[2] = "obs_norm";
    a.metadata[3] = "{\"epsilon\": 0.25, \"clip_obs\": 3.0}";
    add(&a, "obs_rms.mean", IN, 0);
    a.tensors[a.count - 1].data = mean;
    add(&a, "obs_rms.var", IN, 0);
    a.tensors[a.count - 1].data = variance;
    corral_policy *policy = NULL;
    TEST_OK(import(&a, &policy));
    const double x[IN] = {(2.0 - 1.0) / sqrt(4.25), 3.0}; // the second is 5 / 0.5, clipped
    float logits[ACTIONS];
    double expected[ACTIONS];
    worths(policy, (const float[]){2.0f, 3.0f}, logits);
    by_hand(x, 0, expected);
    for (int i = 0; i < ACTIONS; i++)
        CU_ASSERT_DOUBLE_EQUAL(logits[i], expected[i], 1e-6);
    corral_policy_destroy(policy);

    a.metadata[3] = "{\"epsilon\": -1}";
    TEST_FAILS(import(&a, &policy), CORRAL_ERROR_CORRUPT, "obs_norm");
    a.metadata[2] = NULL;
    a.count--;
    TEST_FAILS(import(&a, &policy), CORRAL_ERROR_CORRUPT, "no tensor \"obs_rms.var\"");
}

static void what_is_not_understood_is_refused(void)
{
    corral_policy *policy = NULL;
    agent a = make_ppo();
    add(&a, "features_extractor.cnn.0.weight", HIDDEN, IN);
    TEST_FAILS(import(&a, &policy), CORRAL_ERROR_UNSUPPORTED, "features_extractor.cnn.0.weight");
    a = make_ppo();
    a.tensors[0].shape[1] = 1;
    a.tensors[0].size /= IN;
    a.tensors[4].shape[1] = HIDDEN - 1;
    a.tensors[4].size = ACTIONS * (HIDDEN - 1) * sizeof(float);
    TEST_FAILS(import(&a, &policy), CORRAL_ERROR_CORRUPT, "action_net.weight");
    a = make_ppo();
    a.tensors[3].name = "elsewhere";
    TEST_FAILS(import(&a, &policy), CORRAL_ERROR_CORRUPT, "no tensor \"mlp_extractor.value_net.0.bias\"");
    a = make_ppo();
    a.metadata[2] = "activation";
    a.metadata[3] = "elu";
    TEST_FAILS(import(&a, &policy), CORRAL_ERROR_UNSUPPORTED, "elu");
    a = make_dqn();
    a.count = 2;
    TEST_FAILS(import(&a, &policy), CORRAL_ERROR_UNSUPPORTED, "no hidden layer");
    a = make_dqn();
    numbers[1] = NAN;
    TEST_FAILS(import(&a, &policy), CORRAL_ERROR_NOT_FINITE, "q_net.q_net.0.weight");
    TEST_FAILS(corral_policy_import_sb3(temporary_path("nothing"), NULL, &policy), CORRAL_ERROR_NOT_FOUND,
               "nothing");
}

/// Numbers within -2 .. 2 as actions.
static corral_policy_config numbers_config(uint32_t observations, uint32_t count)
{
    corral_policy_config config = {.observation_size = observations, .action_count = 2 * count};
    config.action.row_bytes = count * (uint32_t)sizeof(float);
    config.action.part_count = 1;
    config.action.part[0] = (corral_part){
        .kind = CORRAL_PART_NUMBERS, .dtype = CORRAL_PART_F32, .count = count, .low = -2, .high = 2};
    return config;
}

/// The mean, within the bounds of the environment.
static void numbers_are_means_within_bounds(void)
{
    const corral_policy_config config = numbers_config(IN, ACTIONS);
    agent a = make_ppo();
    add(&a, "log_std", ACTIONS, 0);
    corral_policy *policy = NULL;
    TEST_FAILS(import(&a, &policy), CORRAL_ERROR_INVALID, "spaces of an environment are needed");
    for (int gsde = 0; gsde < 2; gsde++) {
        if (gsde) {
            a.count--;
            add(&a, "log_std", HIDDEN, ACTIONS);
        }
        TEST_OK(import_for(&a, &config, &policy));
        const float observation[IN] = {9, -7};
        float inputs[2 * ACTIONS], moved[ACTIONS];
        int32_t action[ACTIONS];
        double expected[ACTIONS];
        TEST_OK(corral_policy_act(
            policy, 1, observation, NULL,
            &(corral_policy_output){.action = action, .env_action = moved, .logits = inputs}));
        by_hand((const double[]){9, -7}, 0, expected);
        for (int i = 0; i < ACTIONS; i++) {
            CU_ASSERT_DOUBLE_EQUAL(inputs[i], expected[i], 1e-6);
            CU_ASSERT_DOUBLE_EQUAL(moved[i], fmin(fmax(expected[i], -2), 2), 1e-6);
        }
        corral_policy_destroy(policy);
    }
    const corral_policy_config other = numbers_config(IN + 1, ACTIONS);
    TEST_FAILS(import_for(&a, &other, &policy), CORRAL_ERROR_INVALID, "does not fit the environment");
}

// --- real ones --------------------------------------------------------------------------------------------

static void check_answer(corral_policy *policy, const char *name, const cJSON *step)
{
    float observation[64], logits[64] = {0};
    const cJSON *seen = cJSON_GetObjectItem(step, "obs"), *out = cJSON_GetObjectItem(step, "out");
    const int size = cJSON_GetArraySize(seen), count = cJSON_GetArraySize(out);
    CU_ASSERT_TRUE_FATAL(size > 0 && size <= 64 && count > 0 && count <= 64);
    for (int i = 0; i < size; i++)
        observation[i] = (float)cJSON_GetArrayItem(seen, i)->valuedouble;
    worths(policy, observation, logits);
    for (int i = 0; i < count; i++) {
        const double expected = cJSON_GetArrayItem(out, i)->valuedouble;
        const int close = fabs((double)logits[i] - expected) <= 2e-5 * fmax(1, fabs(expected));
        if (!close) fprintf(stderr, "%s: %.9g instead of %.9g\n", name, (double)logits[i], expected);
        CU_ASSERT_TRUE(close);
    }
}

static void agents_answer_as_their_own_library(void)
{
    const char *folder = getenv("CORRAL_SB3_AGENTS");
    if (folder == NULL) {
        printf("skipped: CORRAL_SB3_AGENTS names no folder with agents and summary.json ");
        return;
    }
    char path[512], *text;
    size_t size;
    snprintf(path, sizeof path, "%s/summary.json", folder);
    TEST_OK(corral_file_read(path, 1 << 24, &text, &size));
    cJSON *root = cJSON_ParseWithLength(text, size);
    CU_ASSERT_TRUE_FATAL(cJSON_GetArraySize(root) > 0);
    const cJSON *item, *step;
    cJSON_ArrayForEach(item, root)
    {
        const char *name = cJSON_GetStringValue(cJSON_GetObjectItem(item, "file"));
        snprintf(path, sizeof path, "%s/%s", folder, name);
        corral_policy *policy = NULL;
        const char *env = cJSON_GetStringValue(cJSON_GetObjectItem(item, "env"));
        const corral_policy_config pendulum = numbers_config(3, 1);
        const bool is_pendulum = strcmp(env, "Pendulum-v1") == 0;
        TEST_OK(corral_policy_import_sb3(path, is_pendulum ? &pendulum : NULL, &policy));
        const cJSON *greedy = cJSON_GetObjectItem(item, "greedy_eval_gymnasium_seeds_0_19");
        cJSON_ArrayForEach(step, cJSON_GetObjectItem(greedy, "trace_seed0_first20"))
            check_answer(policy, name, step);
        corral_policy_destroy(policy);
    }
    cJSON_Delete(root);
    free(text);
}

int main(void)
{
    temporary_begin();
    const int result = test_run(
        "import_sb3",
        (test_case[]){{"networks act as written", networks_act_as_written},
                      {"observations are normalised and clipped", observations_are_normalised_and_clipped},
                      {"what is not understood is refused", what_is_not_understood_is_refused},
                      {"numbers are means within bounds", numbers_are_means_within_bounds},
                      {"agents answer as their own library", agents_answer_as_their_own_library},
                      {NULL, NULL}});
    return corral_folder_remove(temporary_folder) == CORRAL_OK ? result : 2;
}
