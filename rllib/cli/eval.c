// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "cli.h"

#include "environment.h"
#include "subject.h"

#include "corral/envs/registry.h"
#include "corral/rllib/evaluate.h"

#include <cjson/cJSON.h>
#include <math.h>

/// What the environments said of themselves; nothing where they say nothing.
static void add_info(cJSON *root, const corral_env_type *type, const corral_evaluation_result *r)
{
    const corral_env_info *info = corral_env_extension(type, CORRAL_ENV_INFO);
    cJSON *object = info != NULL ? cJSON_AddObjectToObject(root, "info") : NULL;
    for (uint32_t i = 0; object != NULL && i < info->count; i++)
        if (!isnan(r->info[i])) cJSON_AddNumberToObject(object, info->name[i], r->info[i]);
}

static void print_json(const subject *s, const corral_env_type *type, const corral_evaluation_result *r)
{
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "env", type->id);
    cJSON_AddStringToObject(root, "checkpoint", s->checkpoint);
    cJSON_AddNumberToObject(root, "policy_version", (double)corral_policy_version(s->policy));
    cJSON_AddNumberToObject(root, "episodes", r->episodes);
    if (r->episodes > 0) {
        cJSON_AddNumberToObject(root, "mean_return", r->mean_return);
        cJSON_AddNumberToObject(root, "std_return", r->std_return);
        cJSON_AddNumberToObject(root, "min_return", r->min_return);
        cJSON_AddNumberToObject(root, "max_return", r->max_return);
        cJSON_AddNumberToObject(root, "mean_length", r->mean_length);
        add_info(root, type, r);
    }
    cJSON_AddNumberToObject(root, "failures", (double)r->failures);
    if (r->failures > 0) cJSON_AddStringToObject(root, "failure", r->failure);
    char *text = cJSON_PrintUnformatted(root);
    if (text != NULL) printf("%s\n", text);
    cJSON_free(text);
    cJSON_Delete(root);
}

static void print_table(const subject *s, const corral_env_type *type, const corral_evaluation_result *r,
                        bool stochastic)
{
    printf("%s, policy version %llu, %s actions\n", type->id,
           (unsigned long long)corral_policy_version(s->policy), stochastic ? "drawn" : "greedy");
    printf("  episodes      %u\n", r->episodes);
    if (r->episodes > 0) {
        printf("  mean return   %.2f +- %.2f\n", r->mean_return, r->std_return);
        printf("  from, to      %.2f, %.2f\n", r->min_return, r->max_return);
        printf("  mean length   %.1f\n", r->mean_length);
        const corral_env_info *info = corral_env_extension(type, CORRAL_ENV_INFO);
        for (uint32_t i = 0; info != NULL && i < info->count; i++)
            if (!isnan(r->info[i])) printf("  %-13s %.6g\n", info->name[i], r->info[i]);
    }
    if (r->failures > 0)
        printf("  failures      %llu, the first: %s\n", (unsigned long long)r->failures, r->failure);
    printf("  checkpoint    %s\n", s->checkpoint);
}

static corral_status import_agent(subject *s, const char *path, const environment_spaces *spaces)
{
    corral_policy_config config = {0};
    environment_spaces_describe(spaces, false, &config);
    return subject_import(s, path, &config);
}

static int run(const cli_command *self, int argc, char **argv)
{
    const char *episodes_text = NULL, *seed_text = NULL, *env = NULL, *sb3 = NULL;
    bool stochastic = false, json = false, help;
    const cli_flag flags[] = {
        {"--episodes", "N", "How many episodes (100)", &episodes_text, NULL},
        {"--seed", "S", "Other seeds, other episodes (0)", &seed_text, NULL},
        {"--stochastic", NULL, "Draw actions instead of taking the most probable one", NULL, &stochastic},
        {"--env", "ID", "Another environment than the one it was trained on", &env, NULL},
        {"--import-sb3", "FILE",
         "Play an agent of Stable-Baselines3 (safetensors) in the environment of --env", &sb3, NULL},
        {"--json", NULL, "One JSON object", NULL, &json},
        {0},
    };
    cli_words words;
    long long episodes = 100, seed = 0;
    subject s = {.max_episode_steps = -1};
    environment_setup setup;
    corral_status status = cli_parse(self, argc, argv, flags, &words, &help);
    if (status == CORRAL_OK && help) return CLI_OK;
    if (status == CORRAL_OK && sb3 != NULL && (words.count != 0 || env == NULL))
        status =
            corral_fail(CORRAL_ERROR_INVALID, "--import-sb3 takes the place of a run and needs --env: corral "
                                              "eval --import-sb3 FILE --env ID");
    if (status == CORRAL_OK && sb3 == NULL && words.count != 1)
        status = corral_fail(CORRAL_ERROR_INVALID, "eval takes one run or checkpoint: corral eval runs/NAME");
    if (status == CORRAL_OK && episodes_text != NULL)
        status = cli_number("--episodes", episodes_text, 1, 1000000, &episodes);
    if (status == CORRAL_OK && seed_text != NULL)
        status = cli_number("--seed", seed_text, 0, 1LL << 53, &seed);
    if (status == CORRAL_OK && sb3 == NULL) status = subject_open(&s, words.word[0]);
    if (env != NULL) s.params.count = 0;
    if (status == CORRAL_OK) status = environment_setup_init(&setup, env != NULL ? env : s.env, &s.params);
    if (status == CORRAL_OK && sb3 != NULL) status = import_agent(&s, sb3, &setup.spaces);
    corral_team *team = NULL;
    if (status == CORRAL_OK) status = corral_team_create(corral_available_cores(), &team);
    int code = status == CORRAL_OK ? CLI_OK : cli_fail(CLI_BAD_INPUT);
    if (code == CLI_OK) {
        const corral_evaluation_request request = {
            .type = setup.type,
            .param_values = setup.values,
            .max_episode_steps = env != NULL ? -1 : s.max_episode_steps,
            .seed = (uint64_t)seed,
            .episodes = (uint32_t)episodes,
            .stochastic = stochastic,
            .team = team,
        };
        corral_evaluation_result result;
        status = corral_evaluate(&request, s.policy, &result);
        if (status != CORRAL_OK)
            code = cli_fail(status == CORRAL_ERROR_INVALID ? CLI_BAD_INPUT : CLI_FAILED);
        else if (json)
            print_json(&s, setup.type, &result);
        else
            print_table(&s, setup.type, &result, stochastic);
    }
    corral_team_destroy(team);
    subject_close(&s);
    return code;
}

const cli_command cli_eval = {
    "eval", "RUN|CHECKPOINT [--episodes 100] [--seed S] [--stochastic] [--import-sb3 FILE] [--json]",
    "Play episodes with a trained policy", run};
