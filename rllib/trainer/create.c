// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The start and the end of a run.
#include "trainer.h"

#include "corral/base/clock.h"
#include "corral/base/file.h"
#include "corral/core/ops.h"
#include "corral/envs/registry.h"
#include "corral/proto/checkpoint.h"

#include <cjson/cJSON.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const trainer_algorithm *const algorithms[] = {
    [CORRAL_ALGORITHM_PPO] = &trainer_with_ppo,
    [CORRAL_ALGORITHM_DQN] = &trainer_with_dqn,
};

/// network.cnn: auto, then corral_cnn.
static corral_cnn cnn_of(const corral_network_config *network, const corral_policy_space *observation)
{
    enum { LEAST_SIDE = 20, SMALL_SIDE = 64 };
    const corral_part *image = NULL;
    for (uint32_t k = 0; k < observation->part_count && image == NULL; k++)
        if (observation->part[k].kind == CORRAL_PART_IMAGE) image = &observation->part[k];
    if (network->cnn > 0) return image != NULL ? (corral_cnn)(network->cnn - 1) : CORRAL_CNN_NONE;
    if (image == NULL || image->height < LEAST_SIDE || image->width < LEAST_SIDE) return CORRAL_CNN_NONE;
    return image->height < SMALL_SIDE || image->width < SMALL_SIDE ? CORRAL_CNN_SMALL : CORRAL_CNN_NATURE;
}

static corral_policy_config policy_config_of(const corral_train_config *config,
                                             const environment_setup *setup)
{
    const corral_network_config *network = &config->network;
    corral_policy_config policy;
    memset(&policy, 0, sizeof policy); // its bytes travel to the workers
    policy.kind = algorithms[config->algorithm]->policy;
    if (policy.kind == CORRAL_POLICY_Q) dqn_shape_policy(&config->dqn, &policy);
    environment_spaces_describe(&setup->spaces, network->action_mask, &policy);
    policy.memory = (corral_memory)network->memory;
    policy.memory_units = policy.memory != CORRAL_MEMORY_NONE ? (uint32_t)network->memory_units : 0;
    policy.cnn = cnn_of(network, &setup->spaces.observation);
    policy.deviation = (corral_deviation_kind)network->deviation;
    policy.squash = network->squash;
    policy.rescale = network->rescale_action;
    policy.log_std_init = network->log_std_init;
    policy.noise_every = (uint32_t)(network->noise_every > 0 ? network->noise_every
                                                             : corral_train_config_rollout_steps(config));
    policy.hidden = network->hidden;
    policy.activation = network->activation == 0 ? CORRAL_TANH : CORRAL_RELU;
    policy.shared = network->shared || network->memory != 0;
    policy.initialisation = (corral_initialisation)network->initialisation;
    policy.normalize_observation = network->normalize_observation;
    policy.observation_clip = network->observation_clip;
    policy.normalize_reward = config->algorithm == CORRAL_ALGORITHM_PPO && config->ppo.normalize_reward;
    return policy;
}

/// Whether a policy has an entry of this name and shape.
static bool has_entry(const corral_params *params, const corral_param *wanted)
{
    for (uint32_t i = 0; i < corral_params_entry_count(params); i++) {
        const corral_param *entry = corral_params_entry(params, i);
        if (strcmp(entry->name, wanted->name) == 0 && entry->dimension_count == wanted->dimension_count &&
            memcmp(entry->shape, wanted->shape, wanted->dimension_count * sizeof wanted->shape[0]) == 0)
            return true;
    }
    return false;
}

/// Says what a run has taken from old weights, and names what it has not.
static void tell_taken(corral_trainer *trainer, corral_policy *saved, const char *checkpoint, uint32_t taken,
                       uint32_t left)
{
    const corral_params *own = corral_policy_params(trainer->policy);
    char names[512] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < corral_params_entry_count(own) && used < sizeof names; i++) {
        const corral_param *entry = corral_params_entry(own, i);
        if (has_entry(corral_policy_params(saved), entry)) continue;
        const int added =
            snprintf(names + used, sizeof names - used, "%s%s", used > 0 ? ", " : ": ", entry->name);
        used += added > 0 ? (size_t)added : 0;
    }
    char *line = corral_format("started from %s: %u entries taken, %u left as initialised%s", checkpoint,
                               taken, left, names);
    if (line != NULL) trainer_tell(trainer, line);
    free(line);
}

static corral_status init_from(corral_trainer *trainer, const char *from)
{
    char *checkpoint = NULL, *path = NULL;
    corral_policy *saved = NULL;
    corral_status status = corral_checkpoint_find(from, 0, &checkpoint);
    if (status == CORRAL_OK) status = corral_checkpoint_verify(checkpoint);
    if (status == CORRAL_OK) path = corral_format("%s/policy.safetensors", checkpoint);
    if (status == CORRAL_OK)
        status = path != NULL ? corral_policy_read(path, &saved) : CORRAL_ERROR_NO_MEMORY;
    if (status == CORRAL_OK) {
        uint32_t taken, left;
        corral_policy_take(trainer->policy, saved, &taken, &left);
        if (taken == 0)
            status = corral_fail(CORRAL_ERROR_INVALID, "%s: no layer of its network fits this one", path);
        else
            tell_taken(trainer, saved, checkpoint, taken, left);
    }
    corral_policy_destroy(saved);
    free(checkpoint);
    free(path);
    return status;
}

/// Seconds that earlier sessions of a run took, from its run.json; 0 where there is none.
static double earlier_seconds(const char *run)
{
    char *path = corral_format("%s/run.json", run), *text = NULL;
    size_t size;
    double seconds = 0;
    if (path != NULL && corral_file_read(path, 1 << 20, &text, &size) == CORRAL_OK) {
        cJSON *root = cJSON_ParseWithLength(text, size);
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, "seconds");
        if (cJSON_IsNumber(item) && item->valuedouble > 0) seconds = item->valuedouble;
        cJSON_Delete(root);
    }
    free(text);
    free(path);
    return seconds;
}

/// A run's folder from a path to it or to one of its checkpoints.
static char *run_of(const char *resume, const char *checkpoint)
{
    const char *inside = strstr(checkpoint, "/checkpoints/");
    if (inside == NULL) return corral_format("%s", resume);
    return corral_format("%.*s", (int)(inside - checkpoint), checkpoint);
}

static corral_status open_folder(corral_trainer *trainer, const corral_train_options *options,
                                 const char *checkpoint)
{
    if (options->no_files) return CORRAL_OK;
    const corral_env_info *info = corral_env_extension(trainer->setup.type, CORRAL_ENV_INFO);
    if (checkpoint == NULL)
        return corral_run_folder_open(options->out, &trainer->config, info, false, 0, &trainer->folder);
    char *run = run_of(options->resume, checkpoint), *state_path = corral_format("%s/state.json", checkpoint);
    train_state state;
    corral_status status =
        run == NULL || state_path == NULL ? CORRAL_ERROR_NO_MEMORY : corral_checkpoint_verify(checkpoint);
    if (status == CORRAL_OK) status = train_state_read(state_path, &state, NULL);
    if (status == CORRAL_OK) {
        const bool same = options->out == NULL || strcmp(options->out, run) == 0;
        trainer->earlier_seconds = earlier_seconds(run);
        status = corral_run_folder_open(same ? run : options->out, &trainer->config, info, same,
                                        state.env_steps, &trainer->folder);
    }
    free(run);
    free(state_path);
    return status;
}

static void on_worker_lost(void *context, uint32_t worker, const char *reason, bool for_good)
{
    corral_trainer *trainer = context;
    const corral_train_callbacks *callbacks = &trainer->callbacks;
    if (callbacks->on_worker_lost != NULL)
        callbacks->on_worker_lost(callbacks->context, trainer, worker, reason, for_good);
}

static void on_worker_restarted(void *context, uint32_t worker)
{
    corral_trainer *trainer = context;
    const corral_train_callbacks *callbacks = &trainer->callbacks;
    if (callbacks->on_worker_restarted != NULL)
        callbacks->on_worker_restarted(callbacks->context, trainer, worker);
}

static void on_message(void *context, const char *line)
{
    trainer_tell(context, line);
}

/// Opens what the configuration asks for, before anything is written.
static corral_status open_device(corral_trainer *trainer)
{
    const corral_train_config *config = &trainer->config;
    if (config->device != CORRAL_LEARN_ON_CPU) {
        const corral_status status = corral_device_open(&trainer->device);
        if (status != CORRAL_OK && config->device == CORRAL_LEARN_ON_CUDA) return status;
    }
    if (trainer->device == NULL && config->precision != CORRAL_PRECISION_F32)
        return corral_fail(
            CORRAL_ERROR_UNSUPPORTED,
            "precision: bf16 is there on a GPU alone, and this run learns on the CPU; set device=cuda");
    return CORRAL_OK;
}

static void tell_device(corral_trainer *trainer)
{
    char line[512];
    if (trainer->folder == NULL || trainer->config.device == CORRAL_LEARN_ON_CPU) return;
    if (trainer->device != NULL)
        snprintf(line, sizeof line, "learning on %s", corral_device_name(trainer->device));
    else
        snprintf(line, sizeof line, "learning on the CPU: there is no GPU that can be used");
    corral_run_folder_log(trainer->folder, line);
}

static corral_status start(corral_trainer *trainer, const corral_train_options *options,
                           const char *checkpoint)
{
    const corral_train_config *config = &trainer->config;
    corral_status status = open_device(trainer);
    if (status == CORRAL_OK && checkpoint == NULL) status = open_folder(trainer, options, NULL);
    const unsigned threads = config->threads > 0 ? (unsigned)config->threads : corral_available_cores();
    if (status == CORRAL_OK) status = corral_team_create(threads, &trainer->team);
    const corral_policy_config policy = policy_config_of(config, &trainer->setup);
    if (status == CORRAL_OK) status = corral_policy_create(&policy, (uint64_t)config->seed, &trainer->policy);
    if (status == CORRAL_OK)
        status = rollout_config_init(&trainer->rollout, config, &trainer->setup, &policy);
    if (status == CORRAL_OK)
        status = batch_init(&trainer->batch, (uint32_t)config->envs, trainer->rollout.steps, &policy);
    if (status == CORRAL_OK && options->init_from != NULL) status = init_from(trainer, options->init_from);
    if (status == CORRAL_OK) status = trainer->algorithm->create(trainer);
    const sampler_config sampling = {
        .train = config,
        .setup = &trainer->setup,
        .rollout = &trainer->rollout,
        .cluster = options->cluster,
        .team = trainer->team,
        .policy_bytes = status == CORRAL_OK ? corral_policy_bytes(trainer->policy) : 0,
        .listener = {trainer, on_worker_lost, on_worker_restarted, on_message},
    };
    if (status == CORRAL_OK) status = sampler_create(&sampling, &trainer->sampler);
    if (status == CORRAL_OK && checkpoint != NULL) status = trainer_restore(trainer, checkpoint);
    // A run that goes on is touched last: should anything refuse to start, it stays as it was.
    if (status == CORRAL_OK && checkpoint != NULL) status = open_folder(trainer, options, checkpoint);
    if (status == CORRAL_OK && checkpoint != NULL && trainer->folder != NULL && trainer->message[0] != '\0')
        corral_run_folder_log(trainer->folder, trainer->message); // what was told before there was a log
    if (status == CORRAL_OK) tell_device(trainer);
    if (status == CORRAL_OK) status = sampler_publish(trainer->sampler, trainer->policy);
    if (trainer->state.env_steps >= (uint64_t)config->stop.steps) trainer->stop_reason = CORRAL_STOP_STEPS;
    if (status == CORRAL_OK && trainer->folder != NULL)
        status = recorder_create(&trainer->config, &trainer->setup, &trainer->rollout,
                                 corral_run_folder_path(trainer->folder), &trainer->recorder);
    if (status == CORRAL_OK && trainer->folder != NULL)
        trainer->live = live_start(&(live_config){.folder = corral_run_folder_path(trainer->folder),
                                                  .train = &trainer->config,
                                                  .setup = &trainer->setup,
                                                  .rollout = &trainer->rollout});
    return status;
}

corral_status corral_trainer_create(const corral_train_config *config, const corral_train_options *options,
                                    corral_trainer **out_trainer)
{
    static const corral_train_options no_options = {0};
    if (options == NULL) options = &no_options;
    corral_trainer *trainer = calloc(1, sizeof *trainer);
    if (trainer == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a run");
    trainer->config = *config;
    trainer->algorithm = algorithms[config->algorithm];
    if (options->callbacks != NULL) trainer->callbacks = *options->callbacks;
    trainer->started_ns = trainer->last_best_ns = corral_now_ns();
    char *checkpoint = NULL;
    corral_status status = corral_train_config_check(config);
    char env[CORRAL_ENV_NAME_SIZE];
    if (status == CORRAL_OK) status = corral_train_config_env(config, env);
    if (status == CORRAL_OK) status = environment_setup_init(&trainer->setup, env, &config->env_params);
    if (status == CORRAL_OK && options->resume != NULL)
        status = corral_checkpoint_find(options->resume, 0, &checkpoint);
    if (status == CORRAL_OK) status = start(trainer, options, checkpoint);
    const corral_train_callbacks *callbacks = &trainer->callbacks;
    if (status == CORRAL_OK && callbacks->on_start != NULL)
        callbacks->on_start(callbacks->context, trainer, checkpoint);
    free(checkpoint);
    if (status != CORRAL_OK) {
        corral_run_folder_discard(trainer->folder);
        trainer->folder = NULL;
        corral_trainer_destroy(trainer);
        return status;
    }
    *out_trainer = trainer;
    return CORRAL_OK;
}

static void summarise(corral_trainer *trainer, corral_train_summary *out)
{
    *out =
        (corral_train_summary){.stop_reason = trainer->stop_reason, .run_folder = "", .final_checkpoint = ""};
    trainer_report(trainer, &out->last);
    const sampler_stats runtime = sampler_get_stats(trainer->sampler);
    out->deterministic = runtime.deterministic;
    out->note = runtime.note;
    if (trainer->folder == NULL) return;
    out->run_folder = corral_run_folder_path(trainer->folder);
    if (trainer->saved) {
        free(trainer->final_checkpoint);
        trainer->final_checkpoint = corral_run_folder_checkpoint_path(trainer->folder, trainer->saved_step);
        if (trainer->final_checkpoint != NULL) out->final_checkpoint = trainer->final_checkpoint;
    }
}

static corral_status tell_stop(corral_trainer *trainer, corral_status status,
                               const corral_train_summary *summary)
{
    const corral_train_callbacks *callbacks = &trainer->callbacks;
    if (callbacks->on_stop == NULL) return status;
    char *sentence = status != CORRAL_OK ? corral_format("%s", corral_last_error()) : NULL;
    callbacks->on_stop(callbacks->context, trainer, summary);
    if (sentence != NULL) status = corral_fail(status, "%s", sentence); // whatever the callback did
    free(sentence);
    return status;
}

corral_status corral_trainer_finish(corral_trainer *trainer, corral_train_summary *out_summary)
{
    if (trainer->stop_reason == CORRAL_STOP_RUNNING) trainer->stop_reason = CORRAL_STOP_INTERRUPTED;
    corral_status status = CORRAL_OK;
    // After a failure the last finished iteration is what can be gone on from; a half-done one is not saved
    // as if it were whole.
    if (trainer->folder != NULL) status = trainer_save(trainer);
    if (status == CORRAL_OK) status = trainer_save_best(trainer);
    summarise(trainer, out_summary);
    if (trainer->folder != NULL) {
        const corral_status written = corral_run_folder_summary(trainer->folder, out_summary);
        if (status == CORRAL_OK) status = written;
    }
    return tell_stop(trainer, status, out_summary);
}

void corral_trainer_destroy(corral_trainer *trainer)
{
    if (trainer == NULL) return;
    const bool hurry = atomic_load(&trainer->interrupted) || trainer->stop_reason == CORRAL_STOP_FAILED;
    recorder_destroy(trainer->recorder, hurry);
    live_stop(trainer->live, corral_stop_reason_name(trainer->stop_reason));
    trainer_evaluation_finish(trainer);
    sampler_destroy(trainer->sampler);
    trainer->algorithm->destroy(trainer);
    batch_finish(&trainer->batch);
    snapshot_finish(&trainer->best);
    corral_policy_destroy(trainer->policy);
    corral_device_close(trainer->device);
    corral_team_destroy(trainer->team);
    corral_run_folder_close(trainer->folder);
    free(trainer->final_checkpoint);
    free(trainer);
}

const corral_train_config *corral_trainer_config(const corral_trainer *trainer)
{
    return &trainer->config;
}

const corral_policy *corral_trainer_policy(const corral_trainer *trainer)
{
    return trainer->policy;
}

const char *corral_trainer_folder(const corral_trainer *trainer)
{
    return trainer->folder != NULL ? corral_run_folder_path(trainer->folder) : "";
}
